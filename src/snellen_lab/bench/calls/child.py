"""One call in this process: `python -m snellen_lab.bench.calls.child`.

The request, on standard input, and the answer are JSON objects. Nothing but the answer goes to
standard output.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from snellen.bench import clock
from snellen.errors import SnellenError
from snellen_lab.bench.calls.case import Call, Figures, Sizes

SHARE = 0.99
"""Share of the times between outputs of a film: p99."""
SHORT, MOST = 0.5, 200
"""Seconds, and calls: a call is repeated until either is reached, so that times of a millisecond
have medians, too."""
FILMS = 3
"""Times that a film is repeated, at most: each is a mean of its frames."""
NOTE = (
    "Milliseconds: median, least and greatest of so many calls in one process, after the first "
    "ones. Those of films are a whole call by its frames, its start included, which start_ms tells."
)


def answer(request: dict[str, Any]) -> Figures:
    """Make the call that a request names; return its check and times, or the error instead.

    Parameters
    ----------
    request : dict
        "name", "device", "sizes" (fields of Sizes), "folder" (with films), "repeats", and "since":
        `time.time()` as the process was started.
    """
    from snellen_lab.bench.calls.table import cases

    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in request["sizes"].items()
    }
    sizes = Sizes(**given)
    found = cases(request["device"].split(","), sizes)
    (case,) = (
        one for one in found if (one.name, one.device) == (request["name"], request["device"])
    )
    try:
        return measure(case, Path(request["folder"]), request["repeats"], request["since"])
    except SnellenError as error:
        return {"error": str(error)}
    except Exception as error:  # of any library
        return {"error": f"{type(error).__name__}: {error}"}


def measure(case: Call, folder: Path, repeats: int, since: float) -> Figures:
    """Return the first call's time and its check, then the times of others.

    Parameters
    ----------
    folder : Path
        It has the films.
    repeats : int
        Timed calls after the first one.
    since : float
        `time.time()` from which the first call is timed: the start of the process.
    """
    drawing, used = time.time(), cpu_seconds()
    case.prepare(folder)
    drawing, used = time.time() - drawing, cpu_seconds() - used
    result = case.run()
    first = {"s": time.time() - since - drawing, "cpu_s": cpu_seconds() - used}
    found: Figures = {"first": first, "check": case.check(result)}
    del result
    times: list[float] = []
    if not case.stamps:
        case.run()  # what a first call does not need, as memory for a second result, is there now
        while len(times) < repeats or (sum(times) < 1e3 * SHORT and len(times) < MOST):
            times.append(clock.host(case.run))
        return found | {"ms": clock.spread(times), "calls": len(times)}
    waits, starts = [], []
    for _ in range(min(repeats, FILMS)):
        began = time.perf_counter()
        times.append(clock.host(case.run) / case.units)
        starts.append(1e3 * (case.stamps[0] - began))
        waits.append(between(case.stamps))
    spreads = {"ms": times, "p99_ms": waits, "start_ms": starts}
    return (
        found
        | {name: clock.spread(taken) for name, taken in spreads.items()}
        | {"calls": len(times)}
    )


def between(stamps: list[float]) -> float:
    """Return the 99th percentile of the milliseconds between outputs."""
    waits = sorted(1e3 * (after - before) for before, after in pairwise(stamps))
    return waits[min(len(waits) - 1, int(SHARE * len(waits)))] if waits else 0.0


def cpu_seconds() -> float:
    """Return user and system seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Read the request, and write the answer."""
    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = answer(request)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
