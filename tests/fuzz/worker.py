"""The child process that runs cases: requests as lines of JSON on stdin, answers on stdout.

Run as `python -m fuzz.worker`. The command runs in this process, by `snellen.cli.main`, with its
file descriptors 0, 1 and 2 redirected, so that what C libraries print counts too.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path


def main() -> None:
    """Answer requests until stdin ends."""
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    stacks = open(sys.argv[1], "w")  # noqa: SIM115, PTH123 - open as long as the process
    faulthandler.enable(stacks, all_threads=True)
    faulthandler.register(signal.SIGUSR1, stacks, all_threads=True)
    _hook()
    for line in requests:
        request = json.loads(line)
        if "decode" in request:
            from fuzz.witness import decoded

            _quiet()
            answer = decoded(request["decode"])
        else:
            answer = _run(request)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _hook() -> None:
    """Do what the program does of itself: what libraries say becomes lines of ours."""
    from snellen.cli import faults

    faults.hook()
    for category in (UserWarning, RuntimeWarning):
        warnings.simplefilter("always", category)  # in each case anew


def _run(request: dict) -> dict:
    os.chdir(request["folder"])
    _redirect(request["stdin"])
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    seconds = _seconds()
    code = job(request["words"][1]) if request["words"][0] == "job" else command(request["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    return {"code": code, "memory": _memory("VmHWM") - before, "cpu": _seconds() - seconds}


def command(words: list[str]) -> int | None:
    """Return the exit code of a command line; None: an exception left it."""
    from snellen.cli import main as snellen

    try:
        snellen(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return None
    return 0


def job(file: str) -> int | None:
    """Read a job's JSON and run it; report as a command does."""
    from snellen.errors import SnellenError
    from snellen.jobs import Job, run

    try:
        result = run(Job.from_json(Path(file).read_bytes()))
        if getattr(result, "error", None) is not None:
            raise result.error
    except SnellenError as error:
        print("error:", ascii(str(error)), file=sys.stderr)
        return error.exit_code
    except BaseException:
        traceback.print_exc()
        return None
    return 0


def _redirect(stdin: str | None) -> None:
    """Send the standard streams to files beside the case's folder."""
    for number, name, flags in (
        (0, stdin or os.devnull, os.O_RDONLY),
        (1, "../stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, "../stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        file = os.open(name, flags, 0o644)
        os.dup2(file, number)
        os.close(file)


def _quiet() -> None:
    """Send what PyAV itself prints, to the witness's standard error, to nowhere."""
    file = os.open(os.devnull, os.O_WRONLY)
    os.dup2(file, 2)
    os.close(file)


def _memory(name: str) -> float:
    """Return a line of /proc/self/status in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
