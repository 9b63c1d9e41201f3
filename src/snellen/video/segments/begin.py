"""Begins a film in segments, or says how it would be cut, or makes a part of its segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from snellen._version import __version__
from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.frames.step import Step
from snellen.video import pixels
from snellen.video.media import MediaInfo
from snellen.video.progress import Meter, Progress
from snellen.video.quality.hunt import Hunt, hunting
from snellen.video.quality.values import Aim
from snellen.video.ready import Ready
from snellen.video.segments.cuts import ALONE, hindrance, is_long, planned, scan, too_short
from snellen.video.segments.executor import check_deferred
from snellen.video.segments.film import Film, Segments
from snellen.video.segments.folder import check_ours
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.store import Store, discard, is_store
from snellen.video.sink.encode import Plan
from snellen.video.sink.goals import aimed
from snellen.video.sink.output import Output


def begun(
    how: Segments, info: MediaInfo, step: Step, plan: Plan, output: Output, hunt: Hunt | None = None
) -> Film | None:
    """Return a film whose plan is written, new or that of an earlier run; None: in one piece.

    `info` is of the input, as its output is to state it; the step is prepared; `hunt` chooses the
    encoder's quality of a new plan. InputError: there are segments of other settings or another
    input, or another run is at work. DeferredError: see `executor.deferring`.
    """
    why = hindrance(info, plan, step, output)
    long = is_long(info, plan, step)
    check_deferred(why is None and (long or how.folder.is_dir()), long)
    if how.discard and discard(how.folder):
        how.say(f"removed the segments in {how.folder}")
    endless = info.path is None and info.frames is None  # as far as known: nothing is said
    if why is not None and (endless or not long):
        _say_alone(how, why if long else too_short())
        return None
    part, job = bool(how.numbers), made_by(how, info, plan, step)
    store = Store(how.folder, job, planned=part or how.only_join, shared=part)
    store.open()
    try:
        if store.plan is None:
            if not long:
                store.close()
                _say_alone(how, too_short())
                return None
            found = _planned(info, plan, step) if why is None else why
            if isinstance(found, str):
                store.close()
                piece = "it is made in one piece" if how.workers is None else ALONE
                how.say(f"{piece}, and begins anew if it is interrupted: {found}")
                return None
            if hunt is not None:
                found = replace(found, choice=hunt.choose())
            store.begin(found)
            if how.numbers is None:
                how.say(
                    f"it is made in {len(found.cuts)} segments, in {how.folder} until it is "
                    "complete: if it is interrupted, the same command goes on"
                )
    except BaseException:
        store.close()
        raise
    choice = None if store.plan is None else store.plan.choice
    if choice is not None:
        plan = replace(plan, encoder=aimed(plan.encoder, choice.quality))
    return Film(how, store, info, plan, output)


def _planned(info: MediaInfo, plan: Plan, step: Step) -> Cuts | str:
    assert info.path is not None
    return planned(scan(info.path, info.clip.map), info, plan, step)


def _say_alone(how: Segments, why: str) -> None:
    """Say that a film has no segments which several processes would share, if there are such."""
    if how.workers is not None:
        how.say(f"{ALONE}: {why}")


def made_by(how: Segments, info: MediaInfo, plan: Plan, step: Step) -> dict[str, Any]:
    """Return what the segments of a film have in common, as JSON has it."""
    encoder = plan.encoder
    return {
        **how.job,
        "encoder": {
            "codec": encoder.codec, "pixels": encoder.pixels.name, **encoder.options,
        },
        "pictures": f"{pixels.describe(info.picture.format)} → {pixels.describe(plan.format)}",
        "decoder": info.decoder,
        "versions": {
            "snellen": __version__, "PyAV": av.__version__,
            "libavcodec": ".".join(map(str, av.library_versions["libavcodec"])),
        },
    }  # fmt: skip


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
    """Return how `begun` would go about a film; parameters and errors are the same."""
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
    found = _planned(info, plan, step)
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


@dataclass(frozen=True, slots=True, repr=False)
class Part(Brief):
    """A run's part of a film's segments."""

    folder: Path
    """Where they are."""
    segments: int
    """Number of the film's segments."""
    frames: int
    """Number of the input's frames."""
    made: tuple[int, ...]
    """Numbers of the segments that this run was to make, from 1; all of them are finished. Empty
    where the film has none of these."""


def make_part(
    ready: Ready,
    *,
    segments: Segments | None,
    aim: Aim | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Part:
    """Make the segments that `Segments.numbers` names; without any, write the plan.

    Numbers beyond the last segment are left out, as in slices of Python; a notice says where there
    are no others. Parameters and errors are those of `convert`, which joins the segments with
    `Segments.only_join` when all runs have ended. InputError: the film is not made in segments.
    """
    how, film = segments, None
    if how is not None:
        with hunting(aim, ready, on_progress) as hunt:
            film = begun(how, ready.info, ready.step, ready.plan, ready.output, hunt)
    if how is None or how.numbers is None or film is None:
        raise InputError(f"{ready.info.name} is made in one piece: there is nothing to plan")
    with film:
        cuts = film.cuts
        made = tuple(one.number for one in cuts if one.number in how.numbers)
        if made:
            frames = sum(one.frames for one in cuts if one.number in made)
            film.encode(ready.step, Meter(frames, on_progress), ready.source.info)
        elif how.numbers:
            which = f"{how.numbers.start}:{how.numbers.stop - 1}"
            how.say(f"got segments {which}; there are 1:{len(cuts)}: nothing is to be made")
        return Part(how.folder, len(cuts), sum(one.frames for one in cuts), made)
