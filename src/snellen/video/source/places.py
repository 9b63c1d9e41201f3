"""Samples a film in several places, without reading all of it, and finds its black bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.files.opening import size_of
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.filtering.crop import Area
from snellen.video.opening import video_of
from snellen.video.source.filters import Cropper
from snellen.video.source.stream_info import rate_of
from snellen.video.timestamps import fraction

PLACES = 8  # of a film, equally far from one another: lab/sources.md
SHORT = 400  # frames: a film of no more is decoded as a whole, since it may have one key frame


@dataclass(frozen=True, slots=True)
class Sample:
    """Some frames of a film, and what it states of itself."""

    planes: tuple[npt.NDArray[np.uint8], ...]
    """Luma of a frame of each place, 8 bits; fewer where a film is short or damaged."""
    codec: str
    """FFmpeg's name of the codec."""
    bits: float | None
    """Bits of the video stream, a pixel of luma; None: not known."""


def sample(path: Path, maps: Sequence[str] = ()) -> Sample:
    """Sample a film in several places; the same file gives the same (InputError: no video).

    `maps` as of `choose_stream`.
    """
    with video_of(path, str(path), maps) as (container, stream):
        planes: list[npt.NDArray[np.uint8]] = []
        sizes: list[int] = []
        crop = Cropper(container, stream, fraction(stream.time_base) or Fraction(1, 1000))
        for frame in _some(container, stream, sizes):
            with suppress(ValueError):  # a pixel format that cannot be read, either
                planes.append(_luma(crop(frame)))
        codec = stream.codec_context.codec.canonical_name or ""
        return Sample(tuple(planes), codec, _bits(container, stream, path, sizes))


def _some(container: InputContainer, stream: VideoStream, sizes: list[int]) -> Iterator[VideoFrame]:
    """Yield a frame of each place, and note the sizes of packets there, of a second and more."""
    seconds = Fraction(container.duration or 0, av.time_base)
    count = int(seconds * rate_of(stream)) or SHORT
    if count <= SHORT:
        first = islice(frames_of(container, stream, sizes), count)
        step = max(1, count // PLACES)
        yield from islice(first, step // 2, step // 2 + step * PLACES, step)
        return
    seen: set[int | None] = set()
    for place in range(PLACES):
        at = seconds * (2 * place + 1) / (2 * PLACES)
        if not sought(container, at * av.time_base):
            return
        there: list[int] = []
        frame = next(frames_of(container, stream, there), None)
        if frame is not None and frame.pts not in seen:
            seen.add(frame.pts)
            yield frame
            more = max(0, ceil(rate_of(stream)) - len(there))
            sizes += [*there, *islice(_sizes(container, stream), more)]


def sought(container: InputContainer, ticks: Fraction) -> bool:
    """Seek to a key frame before this time, in FFmpeg's ticks; return whether that worked."""
    try:
        container.seek((container.start_time or 0) + int(ticks))
    except (av.FFmpegError, OSError):
        return False
    return True


def frames_of(
    container: InputContainer, stream: VideoStream, sizes: list[int] | None = None
) -> Iterator[VideoFrame]:
    """Yield frames up to damage, of which the reader will tell; note the sizes of packets."""
    try:
        for packet in container.demux(stream):
            if sizes is not None and packet.size:
                sizes.append(packet.size)
            yield from stream.decode(packet)
    except InputError:
        raise  # of the network
    except (av.FFmpegError, OSError, IndexError, ValueError):
        return


def _sizes(container: InputContainer, stream: VideoStream) -> Iterator[int]:
    """Yield the sizes of the packets that follow, up to damage."""
    with suppress(av.FFmpegError, OSError, IndexError, ValueError):
        for packet in container.demux(stream):
            if packet.size:
                yield packet.size


def _luma(frame: VideoFrame) -> npt.NDArray[np.uint8]:
    """Return a copy of luma in 8 bits."""
    plane: npt.NDArray[Any] = pixels.planes(frame)[0]
    depth = pixels.parse(pixels.parse(frame.format.name).planar).bits
    return np.array(plane >> (depth - 8) if depth > 8 else plane, np.uint8)


def _bits(
    container: InputContainer, stream: VideoStream, path: Path, sizes: Sequence[int]
) -> float | None:
    """Return the bits a pixel: as the stream states, else of its packets that were read."""
    # They begin at key frames, which are larger than others: no more than those of the whole file.
    # That alone would not do, since other streams may be far larger than the video: lossless audio
    # beside a small picture.
    samples = stream.width * stream.height
    rate: float | None = stream.codec_context.bit_rate
    per_second = samples * float(rate_of(stream))
    if rate and per_second:
        return rate / per_second
    found = [8 * sum(sizes) / len(sizes) / samples] if sizes and samples else []
    if container.duration and per_second:
        found.append(size_of(path) * 8 * av.time_base / container.duration / per_second)
    return min(found, default=None)


_DARK = 24
"""Brightest code value of a bar, of 8 bits: black is 16 or 0, and coding and tape add a little."""
_STRAY = 0.01
"""Share of samples of a row of a bar that may be brighter in some frame: ringing, dropouts."""
_LIT = 0.5
"""Share of samples of the picture's first row that are brighter in some frame: its edge is straight
and as long as the picture. The edge of something dark in the picture is not."""
_EDGE, _RINGING = 0.02, 8
"""Share of the picture's side that the edge may take, which is soft in analogue films; samples that
it may take in small pictures, where a block's coding reaches over it."""
_LEAST, _MOST = 0.015, 0.45
"""Share of the picture's side that a bar takes."""
_FLAT = 10
"""Code values between the 1st and 99th percentile of a bar in a frame: dark scenes have more."""


def picture_area(planes: Sequence[npt.NDArray[np.uint8]]) -> Area | None:
    """Return the part of pictures inside black bars, as seen in all of them; None: all of it.

    `planes` are luma of one size, of 8 bits.
    """
    alike = [plane for plane in planes if plane.shape == planes[0].shape]
    if not alike:
        return None
    lit = np.max(alike, axis=0) > _DARK
    height, width = lit.shape
    top, bottom = _sides([plane.T for plane in alike], lit.T)
    inner = slice(top, height - bottom)
    left, right = _sides([plane[inner] for plane in alike], lit[inner])
    if not (top or bottom or left or right):
        return None
    return Area(width - left - right, height - top - bottom, left, top)


def is_balanced(area: Area, format: Format) -> bool:
    """Return whether bars on opposite sides are alike, as they are where a picture was fitted."""
    right, bottom = format.width - area.left - area.width, format.height - area.top - area.height
    return (
        abs(area.left - right) <= _LEAST * format.width
        and abs(area.top - bottom) <= _LEAST * format.height
    )


def _sides(planes: Sequence[npt.NDArray[np.uint8]], lit: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Return the columns of the bars at the left and the right; 0: there is none."""
    share = lit.mean(axis=0)
    mirrored = [plane[:, ::-1] for plane in planes]
    return _bar(planes, share), _bar(mirrored, share[::-1])


def _bar(planes: Sequence[npt.NDArray[np.uint8]], share: npt.NDArray[np.float64]) -> int:
    """Return the columns of a bar at the left; `share`: of lit samples in each column."""
    size = len(share)
    dark = int(np.argmax(share > _STRAY))
    begin = int(np.argmax(share >= _LIT))
    if share[begin] < _LIT or begin - dark > max(_RINGING, _EDGE * size):
        return 0
    if not _LEAST * size <= begin <= _MOST * size or not dark:
        return 0
    for plane in planes:
        least, most = np.percentile(plane[:, :dark], (1, 99))
        if most - least > _FLAT:
            return 0
    return begin
