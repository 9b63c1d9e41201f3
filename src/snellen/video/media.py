"""Descriptions of an input as values: all that passthrough/ and sink/ know of it.

source/ makes them of an open container. They are frozen and can be pickled; FFmpeg's own objects
(packets, and the streams that copies are modelled on) are passed beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from av.packet import Packet
from av.stream import Disposition

from snellen.frames.frame import Format, Frame
from snellen.video.clip import Clip
from snellen.video.ffmpeg import ATTACHED_PICTURE
from snellen.video.messages import clock, counted
from snellen.video.side_data import Light


@dataclass(frozen=True, slots=True)
class PictureInfo:
    """Properties of the decoded pictures, which the output's stream states again."""

    format: Format
    chroma_location: str | None
    """FFmpeg's name of the chroma location; None: the stream does not state it."""
    color_range: int
    colorspace: int
    color_primaries: int
    color_trc: int
    """AVCOL_* numbers; an unspecified one stays unspecified."""
    sample_aspect_ratio: Fraction | None
    """None: the stream does not state it."""
    display_matrix: tuple[int, ...] | None
    """Rotation and flips as FFmpeg's 9 numbers; None: upright."""
    light: Light
    """Mastering display and content light level, where the stream has them."""
    losses: tuple[str, ...]
    """Properties of the pictures that the output's will not have: one phrase each."""
    pixel_format: str
    """FFmpeg's name of the decoder's pixel format."""
    coded_aspect_ratio: Fraction | None
    """Sample aspect ratio that the codec states; the container's may be another one."""
    alpha: bool = False
    """True: the pictures have an alpha channel."""
    opaque: bool = True
    """True: the first picture is opaque all over."""


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """One stream of a container."""

    index: int
    type: str
    """FFmpeg's media type: "video", "audio", "subtitle", "data" or "attachment"."""
    codec: str
    """FFmpeg's canonical name of the codec; "": it has no decoder here."""
    name: str | None
    """PyAV's name of the stream; None: it has none."""
    time_base: Fraction | None
    tags: Mapping[str, str]
    disposition: Disposition
    discarded: bool
    """True: the demuxer marks it as not to be read (AVDISCARD_ALL)."""

    @property
    def is_cover(self) -> bool:
        """Return whether it is an attached picture or thumbnails, not a video."""
        return bool(self.disposition & ATTACHED_PICTURE)

    def __str__(self) -> str:
        codec = self.codec or self.name or "unknown codec"
        kind = "cover picture" if self.is_cover else f"{self.type} stream"
        language = self.tags.get("language")
        inside = codec if language in (None, "", "und") else f"{codec}, {language}"
        return f"{kind} {self.index} ({inside})"


@dataclass(frozen=True, slots=True)
class ChapterInfo:
    """One chapter."""

    id: int
    start: Fraction
    end: Fraction
    """Seconds of the container's clock."""
    tags: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of the frames that were looked at."""

    kind: str
    """"interlaced", "telecined", "progressive" or "uncertain"."""
    interlaced: int
    progressive: int
    """Frames that look so; of the others idet cannot say."""
    frames: int
    """All that were looked at."""
    first: str | None
    """The field that comes first, "top" or "bottom"; None: no frame looks interlaced."""

    def __str__(self) -> str:
        told = self.interlaced + self.progressive
        if self.kind == "uncertain":
            looked = counted(self.frames, "frame")
            if told == 0:
                return f"its content does not say, as none of {looked} moves enough"
            return f"its content does not say, as {told} of {looked} that tell are too few"
        return (
            f"of {self.frames} frames from several places FFmpeg's idet finds {self.interlaced} "
            f"interlaced and {self.progressive} progressive"
        )


@dataclass(frozen=True, slots=True)
class MediaInfo:
    """An input whose first frame has been decoded."""

    name: str
    """The input's name in messages."""
    path: Path | None
    """The file, if it can be opened once more; None: a stream or pipe."""
    container: str
    """FFmpeg's name of the container format."""
    tags: Mapping[str, str]
    """Tags of the container."""
    start: Fraction
    """Seconds of the container's clock where its contents begin."""
    streams: tuple[StreamInfo, ...]
    video_index: int
    """Index of the video stream that is worked on."""
    chapters: tuple[ChapterInfo, ...]
    picture: PictureInfo
    time_base: Fraction
    """Seconds of a tick of the frames' times."""
    rate: Fraction
    """Frames a second, on average."""
    clip: Clip
    """Which part of the input is read."""
    zero: Fraction
    """Seconds of the container's clock that become time 0 of the output."""
    end: Fraction | None
    """Seconds of the container's clock where the clip ends; None: nowhere, or not known before
    reading (see `Item.clip_end`)."""
    frames: int | None
    """How many frames to expect, exact or estimated; None: unknown."""
    least_frames: int
    """At least so many frames will come, as far as the container states; 0: unknown."""
    decoder: str
    """"cpu" or "nvdec"."""
    decoder_notice: str | None
    """Why it is not the decoder that was asked for; None: it is."""
    decoded: PictureInfo
    """`picture` as it was decoded, whatever a step or a user makes of it."""
    notices: tuple[str, ...] = ()
    """Further changes of the input that its user may not expect: sentences."""
    fields_notice: str | None = None
    """The decision about interlaced pictures against their marks; None: none so far."""
    content: Content | None = None
    """The result of a close look at them; None: there was none so far."""
    stretch: Fraction = Fraction(1)
    """Seconds of the film for each one of the container's clock, where that states no rate."""
    made_progressive: str | None = None
    """This makes its frames progressive: "deinterlace", "deinterlace field" or "ivtc"; None: they
    are as they were decoded."""
    plays: int | None = None
    """How often an animation is played in all; 0: for ever; None: it is no animation."""

    @property
    def video(self) -> StreamInfo:
        """The video stream that is worked on."""
        return next(s for s in self.streams if s.index == self.video_index)


@dataclass(frozen=True, slots=True)
class Change:
    """A property that a later frame of a film has and the first one has not."""

    text: str
    """A sentence without a beginning: what is so from then on."""
    since: Fraction
    """Seconds of the output at which it begins."""
    lost: bool
    """True: the output lacks it, or shows it wrongly."""
    samples: bool
    """True: samples mean something else than in the first frame, or did so until converted."""

    def __str__(self) -> str:
        return f"from {clock(self.since)} on, {self.text}"


@dataclass(frozen=True, slots=True)
class SourceReport:
    """Facts of an input that are known only after it has been read."""

    damage: tuple[str, ...]
    """Damage and gaps: a sentence for each kind; empty: the input was whole."""
    moved: int
    """How many frame times did not rise and were moved."""
    variable_rate: bool
    """True: the frames' durations differed."""
    fields_notice: str | None = None
    """As `MediaInfo.fields_notice`, decided at the first frame that is marked."""
    losses: tuple[str, ...] = ()
    """Losses of later pictures because the first one is otherwise: a sentence each."""
    transparent: int = 0
    """Pictures that are not opaque, where the first one is and the alpha channel is not read."""
    changes: tuple[Change, ...] = ()
    """Changes that began after the first frame."""


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the pipeline: a frame, and packets that were read before it."""

    frame: Frame | None
    """None: packets only."""
    packets: tuple[Packet[Any], ...] = ()
    """Packets of streams that are not decoded."""
    clip_end: Fraction | None = None
    """Seconds of the container's clock where the clip ends; None: nowhere, or not known yet."""
    report: SourceReport | None = None
    """Set in the last item."""


@dataclass(frozen=True, slots=True)
class Written:
    """Counts of what the pipeline has written, and read."""

    frames: int
    """Frames in the output."""
    refused: int
    """Packets that the output's container did not take."""
    damage: tuple[str, ...]
    """Damage of streams that were encoded anew."""
    report: SourceReport
