"""Processes of this machine that run tickets: one for each device, or several for the CPU.

Each decodes, works and encodes by itself, and no frame goes from process to process. A worker
that fails or dies gives its ticket back, and a new process takes its place.
"""

from __future__ import annotations

import json
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, OutputError, SnellenError
from snellen.jobs.events import Events, notify
from snellen.jobs.worker import framed
from snellen.video.messages import counted
from snellen.video.progress import Meter

if TYPE_CHECKING:
    from snellen.jobs.tickets import Ticket

TRIES = 3
"""How often a ticket is tried."""
_FAILURES = 2
"""So many failures of a worker, one after another, and no new one takes its place."""
_PATIENCE = 5.0
"""Seconds until a process that is to end is killed."""
_MAIN = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import json, sys; "
    "sys.path[:] = json.loads(sys.stdin.buffer.readline()); "
    "from snellen.jobs.worker import main; main()"
)
"""It imports no main module of the user's, as `multiprocessing` would: a script without a guard, a
notebook, or Python inside another program may start workers, too."""


class _Process:
    """A worker: a process, and what it does."""

    def __init__(self, device: str, threads: int, messages: SimpleQueue[Any]) -> None:
        self.device = device
        self.ticket: Ticket | None = None
        self.done = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # the process has it
        self._popen = subprocess.Popen(
            [get_executable(), "-P", "-c", _MAIN],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip
        self._send(json.dumps(sys.path).encode() + b"\n")
        self._send(framed(pickle.dumps((device, threads))))
        self._reader = Thread(target=self._read, args=(messages,), daemon=True)
        self._reader.start()

    def begin(self, ticket: Ticket) -> None:
        """Send a ticket."""
        self.ticket, self.done = ticket, 0
        self._send(framed(pickle.dumps(ticket)))

    def end(self, patience: float = 0) -> None:
        """End the process; after so many seconds it is killed."""
        self.hang_up()
        try:
            self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._reader.join()
        self._errors.close()

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


class Pool:
    """Runs tickets in processes of their own; a context manager, which ends them.

    Parameters
    ----------
    devices : sequence of str
        "cpu" or "cuda:N", one for each process.
    threads : int
        CPU threads of each process.
    events : Events
        Receives notices and warnings.
    meter : Meter, optional
        Counts what all have done.
    """

    def __init__(
        self, devices: Sequence[str], threads: int, events: Events, meter: Meter | None = None
    ) -> None:
        self._threads, self._events, self._meter = threads, events, meter
        self._messages: SimpleQueue[Any] = SimpleQueue()
        self._todo: deque[Ticket] = deque()
        self._tries: dict[int, int] = {}
        self._failures = dict.fromkeys(range(len(devices)), 0)
        self._processes: dict[int, _Process] = {}
        try:
            for number, device in enumerate(devices):
                self._start(number, device)
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    @property
    def slots(self) -> int:
        """How many tickets there may be at once."""
        return len(self._processes)

    def submit(self, ticket: Ticket) -> None:
        """Take a ticket."""
        self._todo.append(ticket)
        self._deal()

    def wait(self) -> Any:
        """Return the record of the ticket that ends first.

        Raises
        ------
        SnellenError
            A ticket has failed for good.
        """
        while True:
            process, kind, value = self._messages.get()
            number = next((n for n, one in self._processes.items() if one is process), None)
            if number is None:
                continue  # one that was given up
            if kind == "count":
                self._count(process, value)
            elif kind == "notice":
                notify(self._events, *value)
            elif kind == "warning":
                self._events.warning(*value)
            elif kind == "done":
                ticket, process.ticket = process.ticket, None
                assert ticket is not None
                self._failures[number] = 0
                self._tries.pop(ticket.key, None)
                self._count(process, ticket.units(value))
                self._deal()
                return value
            elif kind == "failed" and isinstance(value, InputError | OutputError):
                ticket, process.ticket = process.ticket, None
                assert ticket is not None
                result = self._given_up(ticket, value)
                self._deal()
                return result
            else:
                error = SnellenError(process.fate()) if kind == "gone" else value
                result = self._replace(number, process, error)
                self._deal()
                if result is not None:
                    return result

    def _given_up(self, ticket: Ticket, error: SnellenError) -> Any:
        """Return the result of a ticket that has failed for good, or raise the error."""
        self._tries.pop(ticket.key, None)
        result = ticket.failed(error)
        if result is None:
            raise error
        return result

    def _replace(self, number: int, process: _Process, error: SnellenError) -> Any:
        """Take a ticket back from a worker, and start another one in its place.

        The ticket is tried again, or is given up, which has a result.
        """
        del self._processes[number]
        process.end()
        ticket, result = process.ticket, None
        if ticket is not None:
            self._count(process, 0)
            tries = self._tries[ticket.key] = self._tries.get(ticket.key, 0) + 1
            if tries == TRIES:
                result = self._given_up(ticket, error.about(ticket))
            else:
                self._todo.appendleft(ticket)
        self._failures[number] = 0 if result is not None else self._failures[number] + 1
        if self._failures[number] < (_FAILURES if self._processes else TRIES):
            self._start(number, process.device)
            then = "it is given up" if result is not None else "it is tried again"
        elif self._processes:
            workers = counted(len(self._processes), "worker")
            then = f"the work goes on with {workers}"
        else:
            raise _named(error, ticket)
        what = f"a worker on {process.device}" if ticket is None else str(ticket)
        subject = "workers" if ticket is None else ticket.subject
        self._events.warning(subject, f"{what}: {error.text}; {then}")
        return result

    def _start(self, number: int, device: str) -> None:
        self._processes[number] = _Process(device, self._threads, self._messages)

    def _deal(self) -> None:
        for process in self._processes.values():
            if process.ticket is None and self._todo:
                process.begin(self._todo.popleft())

    def _count(self, process: _Process, units: int) -> None:
        if self._meter is not None:
            self._meter.add(units - process.done)
        process.done = units

    def _end(self) -> None:
        for process in self._processes.values():
            process.hang_up()
        for process in self._processes.values():
            process.end(_PATIENCE)
        self._processes.clear()


def _named(error: SnellenError, ticket: Ticket | None) -> SnellenError:
    return error if ticket is None else error.about(ticket)
