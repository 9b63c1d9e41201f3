"""The parent's side of a worker: it starts one, watches it, and starts another after a crash."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"
PATHS = os.pathsep.join([str(SOURCE), str(TESTS)])
"""PYTHONPATH of children. The caller's own is left out: its relative folders would be looked for
in each case's folder, which the trace would show as files that nobody named."""

HUNG = 60.0
"""Seconds after which a case hangs."""
DROWNED = 3000.0
"""Megabytes at which a worker is ended, before it harms the machine."""


@dataclass
class Answer:
    """What became of a request."""

    facts: dict
    """What the worker answered; empty: it did not."""
    ended: str = ""
    """How the worker ended instead: a signal's name, "hung" or "drowned"."""
    stacks: str = ""
    """Its threads' stacks then."""
    seconds: float = 0.0


class Worker:
    """A process of `fuzz.worker`, or of other words, which a test gives."""

    def __init__(
        self, folder: Path, words: tuple[str, ...] = ("-m", "fuzz.worker"), hung: float = HUNG,
        drowned: float = DROWNED,
    ) -> None:  # fmt: skip
        self._stacks = folder / f"stacks-{id(self)}"
        self._words, self._hung, self._drowned = words, hung, drowned
        self._process: subprocess.Popen[str] | None = None

    def ask(self, **request: object) -> Answer:
        """Send a request and wait for its answer."""
        process = self._process or self._start()
        started = time.monotonic()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        ended = ""
        while not select.select([process.stdout], [], [], 0.1)[0]:
            ended = "hung" if time.monotonic() - started > self._hung else ended
            ended = "drowned" if _resident(process.pid) > self._drowned else ended
            if ended:
                process.send_signal(signal.SIGUSR1)
                time.sleep(0.3)
                process.kill()
                break
        line = process.stdout.readline()
        seconds = time.monotonic() - started
        if line and not ended:
            return Answer(json.loads(line), seconds=seconds)
        code = process.wait()
        self._forget(process)
        stacks = self._stacks.read_text(errors="replace")[:6000] if self._stacks.exists() else ""
        name = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Answer({}, ended or name, stacks, seconds)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._forget(self._process)

    def _forget(self, process: subprocess.Popen[str]) -> None:
        """Close the pipes, which ends the process, and wait for it."""
        self._process = None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        process.wait(30)

    def _start(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-X", "utf8", *self._words, str(self._stacks)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )
        return self._process


def environment() -> dict[str, str]:
    """Return the environment of children: they find our code, and their threads are few."""
    return {
        **os.environ, "PYTHONPATH": PATHS, "OPENBLAS_NUM_THREADS": "1",
        "NO_COLOR": "1", "SVT_LOG": "1",
    }  # fmt: skip


def command() -> list[str]:
    """Return the words that start the real command."""
    return [sys.executable, "-m", "snellen"]


def traced() -> str | None:
    """Return the path of strace; None: it is not here."""
    return shutil.which("strace")


def _resident(pid: int) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
