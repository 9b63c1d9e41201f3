"""Reads in headers what FFmpeg does not: rates of untimed films, depth of SER, a time code."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from io import BufferedReader
from pathlib import Path

import numpy as np
from av.container import InputContainer
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.files.opening import raw
from snellen.video.media import PictureInfo, StreamInfo
from snellen.video.source.ends.mp4 import description
from snellen.video.source.ends.parts import read_at
from snellen.video.source.stream_info import rate_of, stream_info
from snellen.video.timestamps import fraction

_SEQUENCES = ("h264", "hevc", "vvc")
"""Raw streams that may state a rate in their headers, which FFmpeg does not go by."""
UNTIMED = (*_SEQUENCES, "mjpeg", "obu", "ser")
"""Raw streams, and a container, that have neither times nor a rate for FFmpeg."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How the times of a film follow from those of its container."""

    stretch: Fraction = Fraction(1)
    """Seconds of the film for each one of the container's clock."""
    loss: str | None = None
    """The warning about a rate that nobody states; None: one is."""


def pace_of(
    container: InputContainer, stream: VideoStream, header: bytes, fps: Fraction | None, what: str
) -> Pace:
    """Return the pace of a film, `what` in messages; `header` is the first line of y4m.

    InputError: the user states `fps` of a film that has a rate of its own.
    """
    taken, name = rate_of(stream), container.format.name
    untimed = name in UNTIMED or (name == Y4M and not _states_rate(header))
    own = fraction(stream.codec_context.framerate) if name in _SEQUENCES else None
    if fps is not None and (own or not untimed):
        raise InputError(
            f"{what} has {float(own or taken):.6g} frames a second; `fps` is for pictures, and for "
            "films that state no rate",
            parameter="fps",
            advice="leave it out; a filter changes the rate: `vf`=fps=25",
        )
    if not untimed:
        return Pace()
    if (rate := fps or own) is not None:
        return Pace(taken / rate)
    return Pace(
        loss=f"no frame rate is stated: {float(taken):g} frames a second are taken (`fps` states "
        "another one)"
    )


def _states_rate(header: bytes) -> bool:
    """Return whether the first line of a y4m states a rate: F30000:1001, and not F0:0."""
    for word in header.split()[1:]:
        if word[:1] == b"F":
            above, _, below = word[1:].partition(b":")
            return all(one.isdigit() and int(one) for one in (above, below))
    return False


SER = "ser"
"""FFmpeg's name."""
_DEPTH = 34
"""Where the header has the depth, as 4 bytes (SER format description, version 3)."""
_GREY, _LAYOUTS = "gray16le", {bits: f"gray{bits}le" for bits in (9, 10, 12, 14)}
"""How FFmpeg hands on grey, and what it calls grey of other depths."""


@dataclass(frozen=True, slots=True)
class Depth:
    """Bits of samples that FFmpeg calls 16."""

    bits: int

    def described(self, picture: PictureInfo) -> PictureInfo:
        """Return the description of pictures: grey keeps its depth, where FFmpeg has it, too."""
        if not self._stays(picture.pixel_format):
            return picture
        form = replace(picture.format, bits=self.bits)
        return replace(picture, format=form, pixel_format=_LAYOUTS[self.bits])

    def frame(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame whose samples have the depth of the description, at most white."""
        stays, fits = self._stays(frame.format.name), self.fits(frame)
        if stays and fits:
            return frame
        samples = np.minimum(frame.to_ndarray(), (1 << self.bits) - 1)
        if not stays:
            samples <<= 16 - self.bits
        deep = VideoFrame.from_ndarray(samples, format=frame.format.name)
        deep.pts, deep.time_base = frame.pts, frame.time_base
        deep.color_range, deep.colorspace = frame.color_range, frame.colorspace
        return deep

    def fits(self, frame: VideoFrame) -> bool:
        """Return whether a frame has only samples of so many bits; a header may be wrong."""
        return int(np.asarray(frame.to_ndarray()).max()) >> self.bits == 0

    def _stays(self, layout: str) -> bool:
        return layout == _GREY and self.bits in _LAYOUTS


def depth_of(file: Path) -> Depth | None:
    """Return the depth of a SER file whose samples have 9 to 15 bits; None: they have 8 or 16."""
    with BufferedReader(raw(file)) as opened:
        bits = int.from_bytes(opened.read(_DEPTH + 4)[_DEPTH:], "little")
    return Depth(bits) if 8 < bits < 16 else None


_KIND, _FLAGS, _RATE = slice(12, 16), slice(28, 32), 40
"""Where a description of samples states its kind, flags and frames a second (QuickTime File Format,
timecode sample description)."""
_DROP, _COUNTER = 1, 8
_DROPPED_OF = 30
"""Only rates that are multiples of this one leave out numbers of frames."""


def with_time_code(
    container: InputContainer, video: VideoStream, path: Path | None
) -> tuple[StreamInfo, ...]:
    """Describe all streams; a time code that FFmpeg refuses becomes a tag, as any other one is.

    `path` is None where the file cannot be read once more.
    """
    found = [stream_info(stream) for stream in container.streams]
    is_mov = container.format.name.startswith("mov")
    if path is None or not is_mov or "timecode" in video.metadata:
        return tuple(found)
    for stream in container.streams.data:
        code = None if "timecode" in stream.metadata else _time_code(stream, path)
        if code is not None:
            return tuple(
                replace(one, tags={**one.tags, "timecode": code})
                if one.index in (video.index, stream.index)
                else one
                for one in found
            )
    return tuple(found)


def _time_code(stream: Stream, path: Path) -> str | None:
    """Return the first time code of a track, without the flag; None: it has none."""
    places = stream.index_entries
    if stream.codec_context is not None or not len(places) or places[0].size != 4:
        return None
    with raw(path) as file:
        file.seek(0, 2)
        stated = description(file, file.tell(), stream.id)
        first = read_at(file, places[0].pos, 4)
    if len(stated) <= _RATE or stated[_KIND] != b"tmcd" or len(first) < 4:
        return None
    flags, rate = int.from_bytes(stated[_FLAGS], "big"), stated[_RATE]
    if not flags & _DROP or flags & _COUNTER or rate == 0 or rate % _DROPPED_OF == 0:
        return None
    seconds, frame = divmod(int.from_bytes(first, "big"), rate)
    minutes, second = divmod(seconds, 60)
    return f"{minutes // 60 % 24:02}:{minutes % 60:02}:{second:02}:{frame:02}"
