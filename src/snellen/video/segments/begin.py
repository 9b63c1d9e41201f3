"""Begins a film in segments: writes its plan, or reads that of an earlier run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import av

from snellen._version import __version__
from snellen.frames.step import Step
from snellen.video import pixels
from snellen.video.media import MediaInfo
from snellen.video.quality.hunt import Hunt
from snellen.video.segments.cuts import hindrance, is_long, planned, too_short
from snellen.video.segments.deferral import check_deferred
from snellen.video.segments.film import Film, Segments
from snellen.video.segments.manifest import Cuts
from snellen.video.segments.scan import scan
from snellen.video.segments.store import Store, discard
from snellen.video.segments.words import ALONE
from snellen.video.sink.encode import Plan
from snellen.video.sink.goals import aimed
from snellen.video.sink.output import Output


def begun(
    how: Segments,
    info: MediaInfo,
    step: Step,
    plan: Plan,
    output: Output,
    hunt: Hunt | None = None,
) -> Film | None:
    """Return a film whose plan is written, new or that of an earlier run; None: in one piece.

    Parameters
    ----------
    how : Segments
    info : MediaInfo
        Of the input, as its output is to state it.
    step : Step
        Prepared.
    plan : Plan
        Of the video stream.
    output : Output
    hunt : Hunt, optional
        Chooses the encoder's quality of a new plan.

    Raises
    ------
    InputError
        There are segments of other settings or another input, or another run is at work.
    OutputError
        The folder cannot be made.
    DeferredError
        The film is left to another process: see `deferral.deferring`.
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
    part = bool(how.numbers)
    planned_before = part or how.only_join
    store = Store(how.folder, made_by(how, info, plan, step), planned=planned_before, shared=part)
    store.open()
    try:
        if store.plan is None:
            if not long:
                store.close()
                _say_alone(how, too_short())
                return None
            found: Cuts | str
            if why is None:
                assert info.path is not None
                found = planned(scan(info.path, info.clip.map), info, plan, step)
            else:
                found = why
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
