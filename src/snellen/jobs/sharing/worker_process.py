"""A process that runs tickets, as the process that has started it sees it."""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from snellen.errors import SnellenError
from snellen.jobs.sharing.worker import framed

if TYPE_CHECKING:
    from pathlib import Path

    from snellen.files.protection import Mark
    from snellen.jobs.sharing.tickets import Ticket

PATIENCE = 5.0
"""Seconds until a process that is to end is killed, and until one that was killed is left alone."""
MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import json, os, sys; "
    "os.environ.setdefault('OPENBLAS_NUM_THREADS', '1'); "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from snellen.jobs.sharing.worker import main; main()"
)
"""It imports no main module of the user's, as `multiprocessing` would: a script without a guard, a
notebook, or Python inside another program may start workers, too. OpenBLAS would start a thread for
each core, of which each spins for a while; our code uses it from threads of its own only."""


class WorkerProcess:
    """A worker: a process, and what it does.

    Parameters
    ----------
    device : str
        "cpu" or "cuda:N".
    threads : int
        Of the CPU.
    messages : SimpleQueue
        Gets what the process says, as (this object, kind, value).

    Attributes
    ----------
    device
        As given.
    ticket : Ticket or None
        What it works on.
    done : int
        Units of the ticket.
    outputs : list of (Path, Mark)
        Outputs of the ticket that were about to get their names, if these must not be replaced.
    heard : float
        When it last said something, by the clock of the pool.

    Raises
    ------
    SnellenError
        The system lets no process begin, or no thread that reads what it says.
    """

    def __init__(self, device: str, threads: int, messages: SimpleQueue[Any]) -> None:
        self.device = device
        self.ticket: Ticket | None = None
        self.done, self.heard = 0, 0.0
        self.outputs: list[tuple[Path, Mark]] = []
        try:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # the process has it
            self._popen = self._started()
        except OSError as error:
            reason = error.strerror or error
            raise SnellenError(f"no worker can be started: {reason}") from error
        self._reader = Thread(target=self._read, args=(messages,), daemon=True)
        try:
            self._reader.start()
        except RuntimeError as error:  # the system lets no thread begin either
            with self._popen, self._errors:
                self._popen.kill()
            raise SnellenError(f"no worker can be started: {error}") from error
        self._send(json.dumps(sys.path).encode() + b"\n")
        self._send(framed(pickle.dumps((device, threads))))

    def _started(self) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                [get_executable(), "-P", "-c", MAIN],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            )  # fmt: skip
        except OSError:
            self._errors.close()
            raise

    def begin(self, ticket: Ticket) -> None:
        """Send a ticket."""
        self.ticket, self.done, self.outputs = ticket, 0, []
        self._send(framed(pickle.dumps(ticket)))

    def end(self, patience: float = 0) -> None:
        """End the process; after so many seconds it is killed."""
        self.hang_up()
        for seconds in (patience, PATIENCE):
            try:
                self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                self._popen.kill()
            else:
                self._reader.join()
                self._errors.close()
                return
        # It hangs in the system, as with a disk that does not answer, and ends when it can.

    def hang_up(self) -> None:
        """Let the process end by itself."""
        assert self._popen.stdin is not None
        with suppress(OSError):
            self._popen.stdin.close()

    def fate(self) -> str:
        """Return how the process has ended, in words."""
        self.hang_up()  # where its message could not be read, it waits for the next ticket
        code = self._popen.wait()
        if code < 0:
            with suppress(ValueError):
                name = signal.Signals(-code).name
                why = ", as the system does where memory runs out" if name == "SIGKILL" else ""
                return f"its process was killed ({name}{why})"
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"its process has ended ({said[-1] if said else f'exit code {code}'})"

    def _send(self, data: bytes) -> None:
        assert self._popen.stdin is not None
        with suppress(OSError):  # it is gone, as the reader will notice
            self._popen.stdin.write(data)
            self._popen.stdin.flush()

    def _read(self, messages: SimpleQueue[Any]) -> None:
        assert self._popen.stdout is not None
        # At the end, or where the process has ended within a message, this raises.
        with suppress(Exception), self._popen.stdout as stream:
            while True:
                messages.put((self, *pickle.load(stream)))
        messages.put((self, "gone", None))
