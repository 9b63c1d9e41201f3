"""A segment before and after it is encoded, as values that go to any process."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from snellen.video.clip import Clip
from snellen.video.media import Change, Content, PictureInfo
from snellen.video.sink.encode import Plan

NOTES = ".notes"

Mark = tuple[int, str]
"""A decoded frame: its time from the output's beginning, and a checksum of its samples."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a segment begins and ends, in ticks of the input."""

    number: int
    """From 1."""
    first: int | None
    """Time of the first frame that is decoded for it; None: where the clip begins."""
    begin: int | None
    """Time of its first frame; None: where the clip begins."""
    end: int | None
    """Time of the first frame of the next segment; None: where the clip ends."""
    stop: int | None
    """Time up to which is decoded: one frame more than the segment has, or as many as its results
    depend on; None: to the clip's end."""
    frames: int
    """Frames of the input that it has, if all can be decoded."""
    cycle: int | None = None
    """Time of the frame from which on cycles of telecine are undone, two of them before `first`;
    None: there are none."""


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """All that is needed to encode a segment, but the step."""

    number: int
    source: Path
    clip: Clip
    """It has all frames that the results depend on, and one more than the segment has."""
    looked: Content | None
    """Looking at the pictures has found this; None: they were not looked at, or not closely."""
    cycle: Fraction | None
    """Seconds of the container's clock from which on cycles of telecine are undone."""
    decoder: str
    lead: Fraction
    """Seconds before the segment at which decoding begins."""
    further: Fraction | None
    """Decoding begins so early where the first frame is not the expected one, or there is none.
    None: it begins at `lead` only."""
    zero: Fraction
    """Seconds of the container's clock that become time 0 of the output."""
    time_base: Fraction
    """Seconds of a tick of the decoded frames' times."""
    begin: int | None
    """Time of the output at which the segment begins; None: with the clip."""
    end: int | None
    """Time of the output at which it ends; None: with the clip."""
    until: int | None
    """Time, in ticks of decoded frames, from which on no result depends on them; None: nowhere."""
    watched: int | None
    """Time, in ticks of decoded frames, of the first frame that is decoded for the next segment."""
    stop: Fraction | None
    """Seconds of the container's clock where the clip ends; None: with the input."""
    expected: Mark | None
    """First decoded frame, as the segment before saw it; None: unknown."""
    given: PictureInfo
    """It describes the film's first frame, as it was decoded."""
    plan: Plan
    """It is that of the video stream."""
    muxer: str
    suffix: str
    """It is that of the output's container, by which the encoder is set up."""
    threads: int
    """The encoder has so many."""
    file: Path
    """Where its packets go; what the step notes goes beside it, with the suffix `NOTES`."""
    output: str
    """Messages call the film's output so."""


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of a segment."""

    number: int
    frames: int
    first: Mark | None
    """The first frame that was decoded for it; None: there is none."""
    after: Mark | None
    """The first frame that is decoded for the next one; None: none was seen, or it is the last."""
    delay: int
    """By how many packets decoding is ahead of showing."""
    size: int
    """Bytes of its file."""
    checksum: str
    """SHA-256 of its file."""
    headers: str
    """SHA-256 of the encoder's headers, which all segments share."""
    device: str
    """Name of the device that ran the step."""
    notes: str = ""
    """SHA-256 of the file of what the step notes of the frames; "": there is none."""
    lost: tuple[str, ...] = ()
    """This was damaged or missing in this part of the input."""
    clipped: int = 0
    pixels: int = 0
    """Pixels that a step had to clip, of so many that it made, with those of frames around."""
    moved: int = 0
    variable_rate: bool = False
    losses: tuple[str, ...] = ()
    transparent: int = 0
    fields_notice: str | None = None
    changes: tuple[Change, ...] = ()
    """They are as of `SourceReport`; times are those of the film's output."""
    ended: Fraction | None = None
    """Seconds of the container's clock where the film ends for good, since its pictures change;
    None: they do not."""
    sought: bool = False
    """True: decoding began further back, too, for its first frame."""


class DifferentFrameError(Exception):
    """The first frame is not the one that the segment before saw: decoding began too late."""
