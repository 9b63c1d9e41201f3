"""Tickets: what a worker is asked to do, as values that go to any process or machine.

A ticket holds all that is needed, so that each worker can do any of them: the job, and which part
of it. `Worker.run` is the one function that runs tickets, wherever the worker is. A worker answers
as soon as it has imported what its first ticket needs, so this module imports little by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from snellen.cpu import threads
from snellen.errors import SnellenError
from snellen.frames import limits
from snellen.jobs.events import Events
from snellen.jobs.first_use import announced
from snellen.video.progress import Meter, Progress

if TYPE_CHECKING:
    from snellen.files.protection import Naming
    from snellen.jobs.files import FilmJob
    from snellen.video.media import MediaInfo
    from snellen.video.ready import LateStep
    from snellen.video.segments.encode import Writing
    from snellen.video.segments.values import Record, SegmentTask
    from snellen.video.step import Step

    Making = Callable[[Any, str], Step | LateStep]


class Ticket(Protocol):
    """What a worker can do. Its result can be pickled, too.

    It may be run again: after a try that failed or whose worker died at any moment, and, unless its
    attribute `once` is true, by a second worker while the first one is at it. The result of the
    first that ends counts; the other try is ended at any moment, or runs on and is ignored. So a
    try renames what it writes only when that is complete, and two tries leave the same files; or
    `Worker.naming` hears of a name before, and what has it is removed after a failure.
    """

    @property
    def key(self) -> int:
        """What tells it from other tickets of the same pool."""
        ...

    @property
    def subject(self) -> str:
        """What messages are about."""
        ...

    def run(self, worker: Worker) -> Any:
        """Do the work, and return the result (SnellenError: it has failed)."""
        ...

    def units(self, result: Any) -> int:
        """Return how many units of progress a result is."""
        ...

    def failed(self, error: SnellenError) -> Any:
        """Return the result of a ticket that has failed for good; None: all work ends."""
        ...


@dataclass(frozen=True, slots=True)
class FilmTicket:
    """A film's job, as far as its step depends on it."""

    make: Making
    """A function of a module, which returns the step of the job for a device."""
    job: FilmJob
    info: MediaInfo
    """Of the input as it is."""
    bits: int | None
    """Depth of the step's results."""
    growth: int
    """Pixels of the result for each pixel that is read."""

    def step(self, device: str) -> Any:
        """Return the step for a device, which is not prepared."""
        from snellen.video.ready import LateStep

        made = self.make(self.job, device)
        return made.make(self.info)[0] if isinstance(made, LateStep) else made


@dataclass(frozen=True, slots=True)
class SegmentTicket:
    """A segment of a film."""

    film: FilmTicket
    task: SegmentTask

    @property
    def key(self) -> int:
        """Number of the segment."""
        return self.task.number

    @property
    def subject(self) -> str:
        """Name of the film."""
        return self.film.info.name

    def __str__(self) -> str:
        return f"segment {self.task.number}"

    def run(self, worker: Worker, writing: Writing | None = None) -> Record:
        """Encode the segment; `writing` opens its files, in place of `encode_segment`'s own."""
        from snellen.video.segments.encode import encode_segment

        def report(progress: Progress) -> None:
            worker.count(progress.frames)

        with limits.at_most(self.film.job.max_pixels, self.film.growth):
            step = worker.step(self.film, self.task.plan.alpha)
            own = {} if writing is None else {"writing": writing}
            return encode_segment(self.task, step, Meter(None, report), **own)

    def units(self, result: Record) -> int:
        """Return the frames of the segment."""
        return result.frames

    def failed(self, error: SnellenError) -> None:
        """Return None: a film needs all its segments."""


class Worker:
    """Runs tickets, one after another, and keeps a film's step prepared between its segments.

    Parameters
    ----------
    device : str
        "cpu" or "cuda:N".
    threads : int
        Of the CPU, but those of encoders, which a segment's task states.
    events : Events
        Receives notices, and warnings.
    count : callable
        Called with the units of the current ticket that are done.
    naming : callable, optional
        Called before an output of a file's ticket gets its name, as `protection.Naming`.

    Attributes
    ----------
    device, events, count, naming
        As given.
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
        self._film: FilmTicket | None = None
        self._made: list[Any] = []

    def run(self, ticket: Ticket) -> Any:
        """Run a ticket, and return its result.

        Raises
        ------
        SnellenError
            It has failed.
        """
        with threads.limited(self._threads), announced(self.events):
            return ticket.run(self)

    def step(self, film: FilmTicket, alpha: bool = False) -> Any:
        """Return the step of a film, prepared; `alpha`: for frames with an alpha channel."""
        if self._film != film:
            from snellen.video.alpha import with_alpha

            self.close()
            self._made = [film.step(self.device)]
            if alpha and (clear := with_alpha(self._made[0])) is not None:
                self._made.append(clear)
            self._made[-1].prepare(film.info.picture.format, film.bits)
            self._film = film
        return self._made[-1]

    def close(self) -> None:
        """Release the step."""
        made, self._made, self._film = self._made, [], None
        for step in reversed(made):
            step.close()
