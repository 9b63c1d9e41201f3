"""Does all of a conversion but the work, and says what it would be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

from snellen.video import pixels
from snellen.video.estimate import Estimate, estimated
from snellen.video.ready import Ready, Stated
from snellen.video.segments.begin import SegmentsPlan, foreseen
from snellen.video.segments.film import Segments
from snellen.video.sink.goals import tried

WORKED, KEPT, LOST, LEFT = "worked on", "kept", "lost", "left out"
"""A stream's fate: it is lost where the output cannot hold it, and left out where
nobody asked for it."""


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """A stream of the input."""

    index: int
    type: str
    """"video", "audio", "subtitle", "data" or "attachment"."""
    codec: str
    language: str | None
    outcome: str
    """"worked on", "kept", "lost" (the output cannot hold it) or "left out"."""
    text: str
    """The same in words: "audio stream 1 (aac, eng)"."""


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class FilmPlan(Stated):
    """A description of what a conversion would do."""

    streams: tuple[StreamPlan, ...]
    frames: int | None
    """Frames of the output, exact or estimated; None: unknown."""
    encoder_options: Mapping[str, str] = field(hash=False)
    """FFmpeg's names."""
    segments: SegmentsPlan
    estimate: Estimate | None
    """None: the input can be read once only."""
    target: str | None = None
    """A sentence about a target quality; None: there is none."""


def dry_run(ready: Ready, *, segments: Segments | None = None, tries: bool = True) -> FilmPlan:
    """Return what `convert.convert` would do; parameters and errors are the same.

    Some frames are really made and encoded, in memory. Nothing is written; but pictures go into a
    temporary folder of the system's, which is removed. Without `tries` none is, for steps that must
    get all frames in their order, and there is no estimate.
    """
    info, plan = ready.info, ready.plan
    found = SegmentsPlan()
    if segments is not None:
        found = foreseen(segments, info, ready.step, plan, ready.output)
    left = found.frames if found.starts else None
    encoder, aim = tried(plan.encoder, ready.encoding)
    ready = replace(ready, plan=replace(plan, encoder=encoder))
    given = pixels.describe(info.picture.format), pixels.describe(plan.format)
    stated = ready.stated
    chain = stated.chain or tuple(dict.fromkeys(given))
    return FilmPlan(
        **asdict(replace(stated, chain=chain)),
        streams=_streams(ready),
        frames=ready.frames,
        encoder_options=dict(encoder.options),
        segments=found,
        estimate=estimated(ready, len(found.starts), left) if tries else None,
        target=aim,
    )


def _streams(ready: Ready) -> tuple[StreamPlan, ...]:
    info = ready.info
    found = []
    for one in info.streams:
        outcome = LEFT
        if one.index == info.video_index:
            outcome = WORKED
        elif one.index in ready.copier.kept:
            outcome = KEPT
        elif one.index in ready.copier.asked:
            outcome = LOST
        language = one.tags.get("language")
        codec = one.codec or one.name or "unknown"
        found.append(StreamPlan(one.index, one.type, codec, language, outcome, str(one)))
    return tuple(found)
