"""Hostile arguments for every public function and class: a generator, seeded, and its oracle.

`python -m fuzz.api SECONDS [SEED]` runs it for as long as is wanted.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import itertools
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import api_later
from fuzz.api_disguised import USUAL, disguised
from fuzz.api_targets import Target, picture, targets
from fuzz.api_values import array, hostile
from snellen.errors import SnellenError
from snellen.frames.values import integer

LONGEST = 10.0
"""Seconds of a call, after which it counts as hanging: the first ones compile."""
MOST = 1 << 30
"""Bytes by which the process may grow during a call."""
SLOW = {"iterations": range(60, 2**31), "workers": range(2, 1025)}
"""What is allowed, and would only take long, or many processes."""


class Hang(BaseException):
    """A call did not end in time."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise Hang in the block if it does not end."""

    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    faulthandler.dump_traceback_later(3 * LONGEST, exit=True, file=sys.__stderr__)  # inside C code
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _quiet() -> contextlib.AbstractContextManager[object]:
    """Return a block in which nothing is printed: `print` is one of the functions that is tried."""
    return contextlib.redirect_stdout(io.StringIO())


class Fuzzer:
    """Calls of a seed.

    Parameters
    ----------
    seed : int
    folder : Path
        An empty folder for pictures.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        from PIL import Image

        self.seed = seed
        rng = random.Random(seed)
        for name in ("a.png", "b.png"):
            Image.fromarray(picture(rng, (40, 44))).save(folder / name)
        (folder / "out").mkdir()
        (folder / "here").mkdir()
        self.here = folder.resolve() / "here"
        self.targets = [*targets(folder), *api_later.targets(folder)]

    def arguments(self, number: int) -> tuple[Target, dict[str, Any]]:
        """Return the call of a number."""
        rng = random.Random(f"{self.seed}:{number}")
        target = self.targets[rng.randrange(len(self.targets))]
        given = target.valid(rng)
        if rng.random() < 0.05:
            given = {name: disguised(rng, value) for name, value in given.items()}
        names = sorted({*given, *target.more})
        for name in rng.sample(names, min(len(names), rng.choice([1, 1, 1, 2, 3]))):
            if name == "text" and given:
                continue
            is_array = name in target.arrays and rng.random() < 0.7
            given[name] = array(rng) if is_array else hostile(rng)
            if name in USUAL and rng.random() < 0.12:
                given[name] = disguised(rng, rng.choice(USUAL[name]))
        return target, given

    def fault(self, number: int) -> str | None:
        """Make a call; return what is wrong with how it ended, None: nothing."""
        target, given = self.arguments(number)
        if any((integer(given.get(name)) or 0) in slow for name, slow in SLOW.items()):
            return None
        said = self.judged(target, given)
        return None if said is None else f"{self.seed}:{number} {said}"

    def judged(self, target: Target, given: dict[str, Any]) -> str | None:
        """Call a target; return what is wrong with how it ended, None: nothing."""
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        errors = io.StringIO()
        said = None
        start = time.monotonic()
        with warnings.catch_warnings(), contextlib.redirect_stderr(errors), _quiet():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*not plausible", UserWarning)  # of prior="auto"
            try:
                # Some names that are tried can be written: here, not into the checkout.
                with limited(), contextlib.chdir(self.here):
                    target.check(target.call(**given))
            except SnellenError as error:
                if error.exit_code == 4:
                    said = f"a fault: {error}"
                elif len(str(error)) > 3000:
                    said = f"a message of {len(str(error))} characters"
            except Hang:
                said = f"no end within {LONGEST} s"
            except BaseException as error:
                said = f"{type(error).__name__}: {str(error)[:300]}"
                if isinstance(error, KeyboardInterrupt):
                    raise
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        if said is None and grown > MOST:
            said = f"{grown / 2**30:.1f} GiB more memory"
        if said is None and errors.getvalue():
            said = f"on stderr: {errors.getvalue()[:300]}"
        if said is None:
            return None
        words = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
        seconds = time.monotonic() - start
        return f"{target.name}({words}): {said} [{seconds:.1f} s]"


def _shown(value: Any) -> str:
    from snellen.errors import quoted

    if isinstance(value, np.ndarray):
        return f"<{type(value).__name__} {value.shape} {value.dtype}>"
    return quoted(value)


def main(seconds: float, seed: int) -> int:
    """Fuzz for so long; print each fault; return how many there were."""
    faults = 0
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(seed, Path(folder))
        end = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end:
                print(f"{number} calls, {faults} faults")
                return faults
            if (said := fuzzer.fault(number)) is not None:
                faults += 1
                print(said, flush=True)


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = int(words[1]) if len(words) > 1 else random.SystemRandom().randrange(10**9)
    sys.exit(bool(main(float(words[0]) if words else 60.0, chosen)))
