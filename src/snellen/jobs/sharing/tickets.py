"""Tickets: what a worker is asked to do, as values that go to any process or machine.

A plan numbers its tickets: the segments of a film from 1, several files in their order. Whoever
runs a plan, or a part of it, takes tickets by number, which is their `key`.

A ticket holds all that is needed, so that each worker can do any of them: the job, and which part
of it. `Worker.run` is the one function that runs tickets, wherever the worker is. A worker answers
as soon as it has imported what its first ticket needs, so this module imports little by itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from math import ceil, inf
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from snellen.cpu import threads
from snellen.errors import SnellenError
from snellen.frames import limits
from snellen.jobs.events import Events
from snellen.jobs.first_use import announced
from snellen.video.progress import Meter, Progress

if TYPE_CHECKING:
    from pathlib import Path

    from snellen.files.protection import Naming
    from snellen.frames.step import Step
    from snellen.jobs.kinds.files import FilmJob
    from snellen.video.media import MediaInfo

    Making = Callable[[Any, MediaInfo, str], tuple[Step, MediaInfo]]


_TIMES = 3
"""A straggler has taken so many times the median …"""
_MOST = 2
"""… and so many times what nine of ten take, as tickets may be of any size …"""
LEAST = 30.0
"""… and so many seconds: a worker may compile code at its first ticket."""
KNOWN = 5
"""So many tickets are finished before others can be told to be slow."""
_KEPT = 1000
"""Times are kept of the last tickets, so many of them."""


@dataclass(frozen=True, slots=True)
class Done:
    """The outcome of a ticket."""

    key: int
    result: Any = None
    """It is None where the ticket failed, or was deferred."""
    error: SnellenError | None = None
    """Why there is no result, or what is wrong all the same."""
    units: int = 1
    """The result counts as so many units of progress."""
    outputs: tuple[bytes | None, ...] = ()
    """A ticket that is shipped has its files here; None: one that was not written."""
    is_deferred: bool = False
    """True: it is a long film, whose segments are tickets of their own."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A part of a job, or all of it, for any worker; it can be pickled, as can what becomes of it.

    It may be run again: after a try that failed or whose worker died at any moment, and, unless it
    is `once`, by a second worker while the first one is at it. The result of the first that ends
    counts; the other try is ended at any moment, or runs on and is ignored. So a try renames what
    it writes only when that is complete, and two tries leave the same files; or `Worker.naming`
    hears of a name before, and what has it is removed after a failure.
    """

    key: int
    """No other ticket of the same executor has this number."""
    job: Any
    part: Any = None
    """None stands for all of the job."""
    is_shipped: bool = False
    """True: outputs come back as bytes: their folder need not be seen by the nodes. Otherwise
    they go to their paths."""

    is_needed: ClassVar[bool] = False
    """True: all work ends where the ticket fails for good."""

    @property
    def subject(self) -> str:
        """Name of the input, which messages are about."""
        return str(self.job.distorted)

    def __str__(self) -> str:
        return self.subject

    @property
    def once(self) -> bool:
        """Return whether two workers must not run it at the same time."""
        return False

    def run(self, worker: Worker) -> Done:
        """Do the work (SnellenError: it has failed, and another try may not)."""
        raise NotImplementedError

    def failed(self, error: SnellenError) -> Done:
        """Return what becomes of a ticket that has failed for good, or raise the error."""
        if self.is_needed:
            raise error
        return Done(self.key, error=error)


@dataclass(frozen=True, slots=True)
class FilmStep:
    """How the step of a film's job is made, and prepared."""

    make: Making
    """A function of a module, which returns the step of the job for a film and a device."""
    info: MediaInfo
    """It describes the input as it is."""
    bits: int | None
    """Depth of the step's results."""
    growth: int
    """Pixels of the result for each pixel that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTicket(Ticket):
    """A segment of a film: `part` is its SegmentTask."""

    film: FilmStep
    is_needed: ClassVar[bool] = True

    @property
    def subject(self) -> str:
        """Name of the film."""
        return self.film.info.name

    def __str__(self) -> str:
        return f"segment {self.key}"

    def run(self, worker: Worker) -> Done:
        """Encode the segment into its files, or into memory; the result is its Record."""
        from snellen.files import atomic
        from snellen.video.segments.encode import encode_segment, files_of

        def report(progress: Progress) -> None:
            worker.count(progress.frames)

        kept: dict[Path, bytes] = {}
        writing = partial(_remembering, kept) if self.is_shipped else atomic.rewriting
        with limits.at_most(self.job.max_pixels, self.film.growth):
            step = worker.step(self.job, self.film, self.part.plan.alpha)
            record = encode_segment(self.part, step, Meter(None, report), writing)
        outputs = tuple(map(kept.get, files_of(self.part))) if self.is_shipped else ()
        return Done(self.key, record, units=record.frames, outputs=outputs)


@contextmanager
def _remembering(kept: dict[Path, bytes], file: Path) -> Iterator[BinaryIO]:
    """Write a file into memory: a task that is killed leaves nothing on its node."""
    opened = BytesIO()
    yield opened
    kept[file] = opened.getvalue()


class Worker:
    """Runs tickets, one after another, and keeps a film's step prepared between its segments.

    Parameters
    ----------
    device : str
        "cpu" or "cuda:N".
    threads : int
        Of the CPU, but those of encoders, which a segment's task states.
    events : Events
        Receives notices, and warnings; may be replaced.
    count : callable
        Called with the units of the current ticket that are done.
    naming : callable, optional
        Called before an output of a file's ticket gets its name, as `protection.Naming`.
    """

    def __init__(
        self,
        device: str,
        threads: int,
        events: Events,
        count: Callable[[int], object],
        naming: Naming | None = None,
    ) -> None:
        self.device, self.events, self.count, self.naming = device, events, count, naming
        self._threads = threads
        self._film: tuple[FilmJob, FilmStep] | None = None
        self._made: list[Any] = []

    def run(self, ticket: Ticket) -> Done:
        """Run a ticket, and return what became of it.

        Raises
        ------
        SnellenError
            It has failed.
        """
        with threads.limited(self._threads), announced(self.events):
            return ticket.run(self)

    def step(self, job: FilmJob, film: FilmStep, alpha: bool = False) -> Any:
        """Return the step of a film's job, prepared; `alpha`: for frames with an alpha channel."""
        if self._film != (job, film):
            from snellen.video.steps.alpha import with_alpha

            self.close()
            self._made = [film.make(job, film.info, self.device)[0]]
            if alpha and (clear := with_alpha(self._made[0])) is not None:
                self._made.append(clear)
            self._made[-1].prepare(film.info.picture.format, film.bits)
            self._film = job, film
        return self._made[-1]

    def close(self) -> None:
        """Release the step."""
        made, self._made, self._film = self._made, [], None
        for step in reversed(made):
            step.close()


class Times:
    """The seconds that tickets have taken, by which stragglers are known."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_KEPT)

    def add(self, seconds: float) -> None:
        """Note a ticket that is finished."""
        self._seconds.append(seconds)

    @property
    def limit(self) -> float:
        """The seconds from which on a ticket is a straggler; infinite: too few are finished."""
        if len(self._seconds) < KNOWN:
            return inf
        from statistics import median  # here, as workers start without it

        ordered = sorted(self._seconds)
        tenth = ordered[ceil(0.9 * len(ordered)) - 1]
        return max(_TIMES * median(ordered), _MOST * tenth, LEAST)
