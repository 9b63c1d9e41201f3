"""Says how a film would be cut, and what of it is finished; nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from snellen.frames.brief import Brief
from snellen.frames.step import Step
from snellen.video.media import MediaInfo
from snellen.video.segments.begin import made_by
from snellen.video.segments.cuts import hindrance, is_long, planned
from snellen.video.segments.film import Segments
from snellen.video.segments.folder import check_ours
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.scan import scan
from snellen.video.segments.store import Store, is_store
from snellen.video.sink.encode import Plan
from snellen.video.sink.output import Output


@dataclass(frozen=True, slots=True, repr=False)
class SegmentsPlan(Brief):
    """How a film would be made: in segments, or in one piece."""

    folder: Path | None = None
    """Where segments are kept until the output is complete; None: there are none."""
    starts: tuple[float, ...] = ()
    """Where each begins, in seconds of the output."""
    finished: tuple[int, ...] = ()
    """Numbers of those that an earlier run has finished, from 1."""
    frames: int = 0
    """Frames of the input in those that are not finished."""
    encoder_threads: int | None = None
    """Threads of each segment's encoder, for any number of workers; None: there are no segments."""
    why: str | None = None
    """Why there are none, though the film is long; the end of a sentence."""


def foreseen(
    how: Segments, info: MediaInfo, step: Step, plan: Plan, output: Output
) -> SegmentsPlan:
    """Return how `film.begun` would go about a film; parameters and errors are the same."""
    why = hindrance(info, plan, step, output)
    if why is not None:
        return SegmentsPlan(why=why if is_long(info, plan, step) else None)
    store = Store(how.folder, made_by(how, info, plan, step))
    finished: set[int] = set()
    try:
        if is_store(how.folder) and not how.discard:
            store.open()
            finished = store.whole()
        elif how.folder.exists():
            check_ours(how.folder)
    finally:
        store.leave()
    if store.plan is not None:
        return _said(how, info, store.plan, finished)
    if not is_long(info, plan, step):
        return SegmentsPlan()
    assert info.path is not None
    found = planned(scan(info.path, info.clip.map), info, plan, step)
    if isinstance(found, str):
        return SegmentsPlan(why=found)
    return _said(how, info, found, finished)


def _said(how: Segments, info: MediaInfo, found: Cuts, finished: set[int]) -> SegmentsPlan:
    begins = [info.zero if one.begin is None else one.begin * found.time_base for one in found.cuts]
    starts = [float(max(Fraction(0), begin - info.zero)) for begin in begins]
    left = sum(one.frames for one in found.cuts if one.number not in finished)
    return SegmentsPlan(
        how.folder, tuple(starts), tuple(sorted(finished)), left, encoder_threads=found.threads
    )
