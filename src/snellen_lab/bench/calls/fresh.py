"""Fresh processes, with empty folders for home, caches and temporary files, and what they use."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from snellen.errors import SnellenError
from snellen.files import temporary

CACHES = ("XDG_CACHE_HOME", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH", "NUMBA_CACHE_DIR")
"""Variables that name other folders of compiled code, and are not passed on."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a process."""

    seconds: float
    """From its start to its end."""
    cpu: float
    """User and system seconds of the processor, of all its threads."""
    output: str
    """Standard output."""


@contextmanager
def installation() -> Iterator[dict[str, str]]:
    """Yield the environment of a fresh installation, whose folders are removed afterwards."""
    with temporary.folder() as folder:
        given = {key: value for key, value in os.environ.items() if key not in CACHES}
        given["PYTHONUSERBASE"] = site.getuserbase()  # packages that are installed at home
        for key in ("HOME", "SNELLEN_CACHE", "TMPDIR"):
            given[key] = str(folder / key.lower())
            Path(given[key]).mkdir(mode=0o700)
        yield given


def run(module: str, *arguments: str, given: dict[str, str], request: str = "") -> Ran:
    """Run a module of this Python in a process; return what it used.

    Raises
    ------
    SnellenError
        It failed; the message has the end of its standard error.
    """
    command: Sequence[str] = [sys.executable, "-m", module, *arguments]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        began = time.perf_counter()
        process = subprocess.Popen(
            command, env=given, stdin=subprocess.PIPE, stdout=out, stderr=error
        )
        assert process.stdin is not None
        process.stdin.write(request.encode())
        process.stdin.close()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:  # an interrupt
            process.kill()
            raise
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, error):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if process.returncode:
        raise SnellenError(f"{module} ended with {process.returncode}: {texts[1][-500:]}")
    return Ran(seconds, used.ru_utime + used.ru_stime, texts[0])
