"""Processes of this machine that run tickets: one for each device, or several for the CPU.

Each decodes, works and encodes by itself, and no frame goes from process to process. A worker
that fails or dies gives its ticket back, and a new process takes its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, OutputError, SnellenError
from snellen.jobs.events import Events, notify
from snellen.jobs.worker_process import PATIENCE, WorkerProcess
from snellen.video.messages import counted
from snellen.video.progress import Meter

if TYPE_CHECKING:
    from snellen.jobs.tickets import Ticket

TRIES = 3
"""How often a ticket is tried."""
_FAILURES = 2
"""So many failures of a worker, one after another, and no new one takes its place."""


class Pool:
    """Runs tickets in processes of their own; a context manager, which ends them.

    A process is started when there is a ticket for it, and keeps until the end.

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
        self._devices = dict(enumerate(devices))
        self._processes: dict[int, WorkerProcess] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    @property
    def slots(self) -> int:
        """How many tickets there may be at once."""
        return len(self._devices)

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

    def _replace(self, number: int, process: WorkerProcess, error: SnellenError) -> Any:
        """Take a ticket back from a worker, in whose place another one starts when it is needed.

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
        others = len(self._devices) - 1
        if self._failures[number] < (_FAILURES if others else TRIES):
            then = "it is given up" if result is not None else "it is tried again"
        elif others:
            del self._devices[number]
            then = f"the work goes on with {counted(others, 'worker')}"
        else:
            raise _named(error, ticket)
        what = f"a worker on {process.device}" if ticket is None else str(ticket)
        subject = "workers" if ticket is None else ticket.subject
        self._events.warning(subject, f"{what}: {error.text}; {then}")
        return result

    def _deal(self) -> None:
        """Give each ticket that waits to a worker that has none; those that run go first."""
        for number in sorted(self._devices, key=lambda one: one not in self._processes):
            if not self._todo:
                return
            if number not in self._processes:
                self._processes[number] = WorkerProcess(
                    self._devices[number], self._threads, self._messages
                )
            if self._processes[number].ticket is None:
                self._processes[number].begin(self._todo.popleft())

    def _count(self, process: WorkerProcess, units: int) -> None:
        if self._meter is not None:
            self._meter.add(units - process.done)
        process.done = units

    def _end(self) -> None:
        for process in self._processes.values():
            process.hang_up()
        for process in self._processes.values():
            process.end(PATIENCE)
        self._processes.clear()


def _named(error: SnellenError, ticket: Ticket | None) -> SnellenError:
    return error if ticket is None else error.about(ticket)
