"""Events that a run reports: a Protocol, and a class that ignores all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from snellen.errors import InputError, plain, shortened

if TYPE_CHECKING:
    from snellen.jobs.steps.deblur_step import FrameFit
    from snellen.jobs.steps.score_table import ScoreRow
else:
    # For `typing.get_type_hints`; the modules of these types take long to import.
    FrameFit = ScoreRow = Any


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    subject: str
    """The input's name."""
    done: int
    """Units that are done, in this stage."""
    total: int | None
    """Units in all, an estimate for some containers; None: unknown."""
    rate: float
    """Units a second."""
    eta: float | None
    """Seconds until this stage ends; None: unknown."""
    unit: str = "frame"
    """Things that are counted: "frame", "file", "pair" (of files), "row" (of a picture),
    "iteration", "step" (of training), or "turn" (of the search for a blur)."""
    stage: str | None = None
    """Name of the stage, where work is done in several; each counts by itself."""


class Events(Protocol):
    """A run calls this, always in the thread that called the run, but for `notice`.

    An exception in one of these ends the run like Ctrl-C does: nothing is left under the output's
    name.
    """

    def progress(self, progress: Progress) -> None:
        """Report how far the run is; called after each frame, or each few iterations."""
        ...

    def warning(self, subject: str, message: str) -> None:
        """Report what is lost or odd, but does not stop the work.

        Parameters
        ----------
        subject : str
            The file or parameter that the message is about.
        message : str
            A sentence. Names of parameters stand in backticks in both: `errors.worded` and
            `errors.plain` replace them.
        """
        ...

    def frame(self, subject: str, frame: FrameFit | ScoreRow) -> None:
        """Report the result of one frame: `FrameFit` of deblurring, `ScoreRow` of scoring."""
        ...

    def notice(self, subject: str, message: str) -> None:
        """Report what is good to know: that code is compiled, at first use.

        Any thread may call it. Objects without this method are taken, too.
        """
        ...


class Silent:
    """Events that nobody listens to: a base class for those who want some of them."""

    def progress(self, progress: Progress) -> None:
        """Ignore it."""

    def warning(self, subject: str, message: str) -> None:
        """Ignore it."""

    def frame(self, subject: str, frame: FrameFit | ScoreRow) -> None:
        """Ignore it."""

    def notice(self, subject: str, message: str) -> None:
        """Ignore it."""


def listening(events: Events | None) -> Events:
    """Return events, or Silent for None; refuse (InputError) what has not all their methods."""
    if events is None:
        return Silent()
    for name in ("progress", "warning", "frame"):
        if not callable(getattr(events, name, None)):
            raise InputError(
                f"got `events` without a method {name}; expected an object with progress, warning "
                "and frame",
                parameter="events",
                advice="derive its class from snellen.jobs.Silent, which has them",
            )
    return events


def notify(events: Events, subject: str, message: str) -> None:
    """Report a notice, if the object takes any."""
    notice = getattr(events, "notice", None)
    if notice is not None:
        notice(subject, message)


class Collected:
    """Events that go on to others, each warning once; the warnings are kept.

    Parameters
    ----------
    events : Events
        Receives everything.

    Attributes
    ----------
    warnings : list of (str, str)
        Subject and message of every warning, without backticks, in their order.
    """

    def __init__(self, events: Events) -> None:
        self._events = events
        self._known: set[tuple[str, str]] = set()
        self.warnings: list[tuple[str, str]] = []
        self.progress = events.progress
        self.frame = events.frame

    def notice(self, subject: str, message: str) -> None:
        """Pass a notice on, unless an equal one was passed on before, or nobody takes it."""
        message = shortened(message)
        if (subject, message) not in self._known:
            self._known.add((subject, message))
            notify(self._events, subject, message)

    def warning(self, subject: str, message: str) -> None:
        """Pass a warning on, unless an equal one was passed on before."""
        message = shortened(message)
        if (subject, message) in self._known:
            return
        self._known.add((subject, message))
        self.warnings.append((plain(subject), plain(message)))
        self._events.warning(subject, message)
