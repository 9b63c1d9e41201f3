"""Processes of this machine that run tickets: one for each device, or several for the CPU.

Each decodes, works and encodes by itself, and no frame goes from process to process. A worker
that fails or dies gives its ticket back, and a new process takes its place. A ticket that takes
much longer than others while a worker is idle is begun once more there; the first result counts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, OutputError, SnellenError
from snellen.files import atomic
from snellen.jobs.events import Events, notify
from snellen.jobs.sharing.tickets import LEAST, Times
from snellen.jobs.sharing.worker_process import PATIENCE, WorkerProcess
from snellen.video.messages import counted
from snellen.video.progress import Meter

if TYPE_CHECKING:
    from snellen.jobs.sharing.tickets import Done, Ticket

TRIES = 3
"""How often a ticket is tried."""
_FAILURES = 2
"""So many failures of a worker, one after another, and no new one takes its place: its device may
be lost. If a ticket was at fault, which is given up in the end, the worker comes back."""
_SOON = 1.0
"""Seconds for a process that is not needed any more to remove what it has begun."""

now = time.monotonic


@dataclass(slots=True)
class _Work:
    """A ticket that runs."""

    ticket: Ticket
    tries: dict[WorkerProcess, float] = field(default_factory=dict)
    """The processes that work on it, one or two, and when they began."""
    counted: int = 0
    """Units that the meter has of it."""
    is_doubled: bool = False
    """True: it was begun once more, as it takes long, or must not be."""

    @property
    def began(self) -> float:
        """When the first of the processes began."""
        return min(self.tries.values())


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
        self._running: dict[int, _Work] = {}
        self._times = Times()
        self._tries: dict[int, int] = {}
        self._devices = dict(enumerate(devices))
        self._lost: dict[int, str] = {}  # devices of workers in whose place none is started
        # Of each worker the tickets with which it has failed, one after another.
        self._failures: dict[int, list[int | None]] = {number: [] for number in self._devices}
        self._is_refused = False
        self._processes: dict[int, WorkerProcess] = {}

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            process.hang_up()
        for process in self._processes.values():
            process.end(PATIENCE)
        self._processes.clear()

    @property
    def slots(self) -> int:
        """How many tickets there may be at once."""
        return len(self._devices)

    def submit(self, ticket: Ticket) -> None:
        """Take a ticket."""
        self._todo.append(ticket)
        self._deal()

    def wait(self) -> Done:
        """Return what became of the ticket that ends first.

        Raises
        ------
        SnellenError
            A ticket has failed for good.
        """
        self._deal()
        while True:
            process, kind, value = self._message()
            number = self._number(process)
            if number is None:
                continue  # one that was given up
            if kind == "count":
                process.done = value
                self._count(process.ticket)
            elif kind == "naming":
                process.outputs.append(value)
            elif kind == "notice":
                notify(self._events, *value)
            elif kind == "warning":
                self._events.warning(*value)
            elif kind == "alive":
                continue  # which `_message` has noted
            elif kind == "done":
                self._failures[number].clear()
                self._finish(process, value)
                self._deal()
                done: Done = value
                return done
            elif kind == "failed" and isinstance(value, InputError | OutputError):
                ticket, is_shared = self._released(process)
                assert ticket is not None
                found = None if is_shared else self._given_up(ticket, value)
                self._deal()
                if found is not None:
                    return found
            else:
                error = SnellenError(process.fate()) if kind == "gone" else value
                found = self._replace(number, process, error)
                if found is not None:
                    return found  # and where no worker can be started the next call says so
                self._deal()

    def _message(self) -> tuple[WorkerProcess, str, Any]:
        """Return the next message; until it is there, begin once more what takes long."""
        while True:
            slow = self._slow()
            try:
                process, kind, value = self._messages.get(
                    timeout=None if slow is None else max(0, slow[1])
                )
            except Empty:
                assert slow is not None
                self._begin_again(slow[0])
            else:
                process.heard = now()
                return process, kind, value

    def _slow(self) -> tuple[_Work, float] | None:
        """Return the work that is begun once more next, and in how many seconds; None: none."""
        works = [one for one in self._running.values() if not one.is_doubled]
        idle = {self._devices[number] for number in self._idle()}
        if self._todo or not works or not idle or (limit := self._times.limit) == inf:
            return None

        def due(work: _Work) -> float:
            """Return when; on the device that it has already, not while it says something."""
            (first,) = work.tries
            when = work.began + limit
            return when if idle - {first.device} else max(when, first.heard + LEAST)

        work = min(works, key=due)
        return work, due(work) - now()

    def _begin_again(self, work: _Work) -> None:
        """Begin a ticket on a second worker: on another device, if there is one."""
        (first,) = work.tries
        work.is_doubled = True
        number = min(self._idle(), key=lambda one: self._devices[one] == first.device)
        if not self._is_started(number):
            return
        notify(
            self._events, work.ticket.subject,
            f"{work.ticket} has taken {now() - work.began:.0f} s, much longer than others: it is "
            f"begun once more on {self._devices[number]}",
        )  # fmt: skip
        self._begin(number, work.ticket)

    def _finish(self, process: WorkerProcess, done: Done) -> None:
        """Note that a ticket is done; whatever else works on the ticket is ended."""
        ticket, process.ticket = process.ticket, None
        assert ticket is not None
        work = self._running.pop(ticket.key)
        self._times.add(now() - work.tries.pop(process))
        for other in work.tries:
            number = self._number(other)
            assert number is not None
            del self._processes[number]
            other.end(_SOON)
        self._tries.pop(ticket.key, None)
        if self._meter is not None:
            self._meter.add(done.units - work.counted)

    def _released(self, process: WorkerProcess) -> tuple[Ticket | None, bool]:
        """Take the ticket from a process, and return it, and whether another one works on it."""
        ticket, process.ticket = process.ticket, None
        if ticket is None:
            return None, False
        work = self._running[ticket.key]
        del work.tries[process]
        self._count(ticket)
        if not work.tries:
            del self._running[ticket.key]
        return ticket, bool(work.tries)

    def _number(self, process: WorkerProcess) -> int | None:
        return next((n for n, one in self._processes.items() if one is process), None)

    def _given_up(self, ticket: Ticket, error: SnellenError) -> Done:
        """Return what becomes of a ticket that has failed for good, or raise the error."""
        # The ticket was at fault, so that workers which failed with no other one come back.
        self._tries.pop(ticket.key, None)
        done = ticket.failed(error)
        for number, failures in self._failures.items():
            failures[:] = [key for key in failures if key != ticket.key]
            if not failures and number in self._lost:
                self._devices[number] = self._lost.pop(number)
        return done

    def _replace(self, number: int, process: WorkerProcess, error: SnellenError) -> Done | None:
        """Take a ticket back from a worker, in whose place another one starts when it is needed."""
        # The ticket is tried again, or it is given up: then what becomes of it is returned. An
        # output that the worker has finished, but not reported, is removed: the next try would take
        # it for somebody else's.
        del self._processes[number]
        process.end()
        done, before = None, self.slots
        ticket, is_shared = self._released(process)
        for output, mark in process.outputs if ticket is not None else ():
            atomic.withdraw(output, mark)
        failures = self._failures[number]
        failures.append(None if ticket is None else ticket.key)
        if ticket is not None and not is_shared:
            tries = self._tries[ticket.key] = self._tries.get(ticket.key, 0) + 1
            if tries == TRIES:
                done = self._given_up(ticket, error.about(ticket))
            else:
                self._todo.appendleft(ticket)
        others = len(self._devices) - 1
        if done is not None:
            failures.clear()
            then = "it is given up"
            if self.slots > before:
                then += f", and the work goes on with {counted(self.slots, 'worker')}"
        elif len(failures) < (_FAILURES if others else TRIES):
            then = "another worker is at it" if is_shared else "it is tried again"
        elif others:
            self._lost[number] = self._devices.pop(number)
            then = f"the work goes on with {counted(others, 'worker')}"
        else:
            raise error if ticket is None else error.about(ticket)
        subject, what = "workers", f"a worker on {process.device}"
        if ticket is not None:
            subject, what = ticket.subject, str(ticket)
        what = what.removeprefix(subject).removeprefix(", ")  # "part 2"; "" of a whole file
        self._events.warning(subject, f"{what}{': ' if what else ''}{error.text}; {then}")
        return done

    def _deal(self) -> None:
        """Give tickets that wait to workers that have none."""
        for number in self._idle():
            if not self._todo or not self._is_started(number):
                return
            self._begin(number, self._todo.popleft())

    def _is_started(self, number: int) -> bool:
        """Return whether a worker runs; it is started if need be.

        Where the system lets no process begin, tickets wait for the workers that run.

        Raises
        ------
        SnellenError
            It lets none begin, and there is no ticket that runs.
        """
        if number in self._processes:
            return True
        device = self._devices[number]
        try:
            self._processes[number] = WorkerProcess(device, self._threads, self._messages)
        except SnellenError as error:
            if not self._running:
                raise
            if not self._is_refused:
                self._is_refused = True
                then = "the work goes on with those that run"
                self._events.warning("workers", f"{error.text}; {then}")
            return False
        return True

    def _idle(self) -> list[int]:
        """Return the numbers of workers that have no ticket; those that run go first."""
        running = {number: one.ticket is None for number, one in self._processes.items()}
        idle = [number for number in self._devices if running.get(number, True)]
        return sorted(idle, key=lambda number: number not in running)

    def _begin(self, number: int, ticket: Ticket) -> None:
        """Have a worker begin a ticket; its process runs."""
        process = self._processes[number]
        process.heard = now()
        work = _Work(ticket, is_doubled=ticket.once)
        self._running.setdefault(ticket.key, work).tries[process] = process.heard
        process.begin(ticket)

    def _count(self, ticket: Ticket | None) -> None:
        """Count what is done of a ticket: by the worker that is further."""
        if ticket is None:
            return
        work = self._running[ticket.key]
        done = max((process.done for process in work.tries), default=0)
        if self._meter is not None:
            self._meter.add(done - work.counted)
        work.counted = done
