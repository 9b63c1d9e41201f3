"""Converts a video: source → step → sink, each in a thread, with bounded queues between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from snellen.errors import InputError
from snellen.frames.step import Step
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.losses import damage, late_losses, late_notes
from snellen.video.pipes import Outgoing
from snellen.video.progress import Meter, Progress
from snellen.video.quality.hunt import hunting
from snellen.video.quality.values import Aim, Reached
from snellen.video.ready import Ready, Stated
from snellen.video.segments.begin import begun
from snellen.video.segments.film import Segments
from snellen.video.sink.encoding import Encoding
from snellen.video.threads import run_pipeline

__all__ = ["Aim", "Clip", "Encoding", "Progress", "Segments", "Step", "Summary", "convert"]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Summary(Stated):
    """A summary of what was done."""

    frames: int
    """Frames written."""
    seconds: float
    """Duration of the work."""
    source: str
    """Format of the input's frames, e.g. '1920×1080 4:2:0 8 bit'."""
    result: str
    """Format of the step's results."""
    lost: tuple[str, ...]
    """Damage and gaps of the input; empty: it was whole."""
    reached: Reached | None = None
    """The target quality, what was chosen for it, and the score of the result; None: no target."""


def convert(
    ready: Ready,
    *,
    segments: Segments | None = None,
    aim: Aim | None = None,
    before: Callable[[], object] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_chain: Callable[[tuple[str, ...]], None] | None = None,
) -> Summary:
    """Run the step on every frame of a film, write the results, and copy all else.

    Parameters
    ----------
    ready : Ready
        The film, which is used up.
    segments : Segments, optional
        How a long film is cut, so that a run that is killed can go on. None: it is not cut.
    aim : Aim, optional
        What the target of the encoding needs, if it has one.
    before : callable, optional
        Called when the output is complete, before it gets its name: writes what goes with it.
    on_progress : callable, optional
        Called after each frame, in the calling thread.
    on_chain : callable, optional
        Called with `Summary.chain`, if there are several steps, before work starts.

    Returns
    -------
    Summary
        `lost` is empty unless the input was damaged; then all that could be decoded is written.

    Raises
    ------
    InputError
        Wrong use or an unusable input.
    OutputError
        The result could not be written. After any error there is no output, and a file that was
        there before is unchanged.
    """
    with ExitStack() as stack:
        hold = stack.enter_context
        info, step, output, plan = ready.info, ready.step, ready.output, ready.plan
        if (names := ready.stated.chain) and on_chain is not None:
            on_chain(names)
        hunt = hold(hunting(aim, ready, on_progress))
        film = None if segments is None else begun(segments, info, step, plan, output, hunt)
        if hunt is not None:
            plan = hunt.settle(None if film is None else film.choice)
            ready = replace(ready.warned(hunt.warnings), plan=plan)
        meter = Meter(ready.frames, on_progress)
        if film is not None:
            hold(film).encode(step, meter, ready.source.info)
        with output.writing() as file:
            out = file if isinstance(file, Path) else hold(closing(Outgoing(file)))
            if film is not None and isinstance(file, Path):
                written = film.join(file, ready.copier)
            else:
                written = run_pipeline(ready, out, meter)
            if not written.frames:
                raise InputError(f"{info.name}: the filters leave no frame", parameter="vf")
            lost = late_losses(written.report, output.muxer)
            if ready.strict and lost:
                raise InputError(f"{info.name}: strict, and this was lost: " + "; ".join(lost))
            reached, missed = None, list[str]()
            if hunt is not None and isinstance(file, Path):
                reached, missed = hunt.check(file)
            if before is not None:
                before()
        noted = [] if film is None else film.notes
        late = [*output.notes, *noted, *lost, *late_notes(written.report), *missed]
        if info.fields_notice is None and written.report.fields_notice is not None:
            late.append(written.report.fields_notice)
        return Summary(
            **asdict(ready.warned(late).stated),
            frames=written.frames,
            seconds=time.monotonic() - ready.began,
            source=pixels.describe(info.picture.format),
            result=pixels.describe(plan.format),
            lost=damage(written),
            reached=reached,
        )
