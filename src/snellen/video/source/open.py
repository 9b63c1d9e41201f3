"""Opening an input: which stream is the video, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.stream import Disposition, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.frames.frame import CENTRE, LEFT, Format
from snellen.video import hdr, logs, pixels
from snellen.video.pipes import Incoming
from snellen.video.timestamps import fraction

PICTURE = Disposition.attached_pic | Disposition.timed_thumbnails
"""A cover or thumbnails: a video stream to FFmpeg, not to anybody else."""

FULL, LIMITED, UNSPECIFIED = 2, 1, 2
"""AVCOL_RANGE_JPEG, AVCOL_RANGE_MPEG; 2 is "unspecified" for space, primaries, transfer."""

BYTES_AS_THEY_ARE: dict[str, Any] = (
    {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "surrogateescape"}
)
"""For av.open: tags that are not UTF-8 go through byte by byte, as PyAV 19 always does it."""

_LISTS = {"concat", "dash", "hls", "imf", "lavfi", "rtp", "rtsp", "sap", "sdp", "vobsub",
          "webm_dash_manifest"}  # fmt: skip
"""Formats that are a text with the names of other files or places, which FFmpeg would open."""

_ALONE = {
    "format_whitelist": ",".join(sorted(av.formats_available - _LISTS)),
    "protocol_whitelist": "file",
}
"""For av.open: read this file and no other."""

_CENTRED = ("mjpeg", "mpeg1video")
"""Codecs whose chroma lies in the middle where nothing is said (JFIF; ISO/IEC 11172-2)."""


def open_file(path: Path, hwaccel: HWAccel | None = None) -> InputContainer:
    """Open this file and no other; FFmpeg's own errors."""
    # The absolute path, since FFmpeg would read "a:b.mp4" as a protocol called a.
    opened: InputContainer = av.open(
        str(path.absolute()), "r", hwaccel=hwaccel, container_options=_ALONE, **BYTES_AS_THEY_ARE
    )
    return opened


def open_input(source: Path | Incoming, hwaccel: HWAccel | None = None) -> InputContainer:
    """Open a file, or a stream of y4m; InputError says why not."""
    what = name(source)
    try:
        if isinstance(source, Path):
            if not source.exists():
                raise InputError(f"{what}: no such file")
            if source.is_dir():
                raise InputError(f"{what} is a folder: give a video file")
            return open_file(source, hwaccel)
        return _opened_pipe(source)
    except InputError:
        raise
    except PermissionError:
        raise InputError(f"{what}: no permission to read it") from None
    except (av.FFmpegError, OSError, ValueError) as error:
        wanted = "a video file" if isinstance(source, Path) else "y4m (YUV4MPEG2)"
        raise InputError(
            f"{what} cannot be read as {wanted} ({reason(error)}): it is something else, "
            "or damaged beyond reading (an .mp4 cut before its index is)"
        ) from None


def _opened_pipe(pipe: Incoming) -> InputContainer:
    try:
        container = av.open(pipe, "r", format="yuv4mpegpipe")
    except BaseException:
        pipe.check()
        raise
    if pipe.interrupted:
        container.close()
        pipe.check()
    return container


def name(place: Path | BinaryIO | Incoming) -> str:
    """Return what to call an input or output in a message."""
    return str(place) if isinstance(place, Path) else str(getattr(place, "name", "the stream"))


def reason(error: BaseException) -> str:
    """Return FFmpeg's or the system's words for what went wrong, without its numbers."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def choose_stream(container: InputContainer, what: str) -> VideoStream:
    """Return the video stream to work on, never a cover: the one marked default, or the largest."""
    found = [s for s in container.streams.video if not s.disposition & PICTURE]
    if not found:
        kinds = ", ".join(sorted({s.type for s in container.streams}))
        raise InputError(f"{what} has no video stream" + (f", only {kinds}" if kinds else ""))
    known = [s for s in found if s.codec_context is not None]
    if not known:
        raise InputError(f"{what}: there is no decoder here for its video")
    default = Disposition.default
    return max(known, key=lambda s: (bool(s.disposition & default), s.width * s.height, -s.index))


def start_of(container: InputContainer) -> Fraction:
    """Return the container's start in seconds, exact where a stream's own start says it."""
    if container.start_time is None:
        return Fraction(0)
    rough = Fraction(container.start_time, av.time_base)
    exact = [
        s.start_time * base
        for s in container.streams
        if s.start_time is not None and (base := fraction(s.time_base))
    ]
    close = [t for t in exact if abs(t - rough) < Fraction(2, av.time_base)]
    return close[0] if close else rough


def rate_of(stream: VideoStream) -> Fraction:
    """Return frames a second: the average, the guess, or 25 where nothing is known."""
    for value in (stream.average_rate, stream.guessed_rate, stream.base_rate):
        rate = fraction(value)
        if rate is not None and rate > 0:
            return rate
    return Fraction(25)


@dataclass(frozen=True, slots=True)
class Look:
    """What a stream says of its pictures, to be said again of ours."""

    format: Format
    siting: str | None
    """FFmpeg's name of the chroma location; None: the stream does not say."""
    range: int
    space: int
    primaries: int
    transfer: int
    """AVCOL_* numbers; unspecified stays unspecified."""
    aspect: Fraction | None
    """Of a sample; None: not said."""
    matrix: tuple[int, ...] | None
    """Display matrix (rotation, flips), 9 numbers as FFmpeg keeps them."""
    light: hdr.Light
    """Mastering display and content light level, where there are any."""
    losses: tuple[str, ...]
    """What the pictures carry and we cannot."""
    pixel_format: str
    """FFmpeg's name, of the decoder's pictures."""


def look(container: InputContainer, stream: VideoStream, frame: VideoFrame) -> Look:
    """Return what `stream`, whose first picture is `frame`, looks like."""
    made = pixels.describe(frame.format.name)
    context = stream.codec_context
    range_ = int(frame.color_range) or int(context.color_range)
    if made.full_range:
        range_ = FULL
    space = _first(frame.colorspace, context.colorspace)
    losses = list(hdr.losses(frame))
    if made.alpha or stream.metadata.get("alpha_mode") == "1":
        losses.append("the alpha channel is dropped")
    if made.rgb:
        range_, space = LIMITED, 1
        losses.append(f"{made.name} pictures become {made.planar}, BT.709, limited range")
    siting = chroma_location(container, stream) if made.subsampling not in (None, (0, 0)) else None
    if siting is None and context.codec.canonical_name in _CENTRED:
        siting = "center"
    format = Format(
        frame.width,
        frame.height,
        pixels.describe(made.planar).bits,
        pixels.describe(made.planar).subsampling,
        _phase(siting, context.codec.canonical_name, made.subsampling),
        range_ == FULL,
    )
    return Look(
        format,
        siting,
        range_,
        space,
        _first(frame.color_primaries, context.color_primaries),
        _first(frame.color_trc, context.color_trc),
        fraction(stream.sample_aspect_ratio),
        hdr.display_matrix(frame),
        hdr.light(frame, context),
        tuple(losses),
        frame.format.name,
    )


def _first(*values: int) -> int:
    """Return the first colour number that says something."""
    return next((int(v) for v in values if int(v) != UNSPECIFIED), UNSPECIFIED)


def _phase(
    siting: str | None, codec: str, subsampling: tuple[int, int] | None
) -> tuple[float, float]:
    if siting is not None:
        return pixels.siting(siting, subsampling)
    return CENTRE if codec in _CENTRED else pixels.siting("left", subsampling) or LEFT


def chroma_location(container: InputContainer, stream: Stream) -> str | None:
    """Return FFmpeg's name of the stream's chroma location; None: not said.

    PyAV 18 has no attribute for it, but FFmpeg's own description of the streams names it.
    """
    for line in logs.description(container).splitlines():
        before, _, video = line.partition(": Video: ")
        if not before.strip().startswith(f"Stream #0:{stream.index}") or not video:
            continue
        if not before.strip()[len(f"Stream #0:{stream.index}") :][:1].isdigit():
            words = {
                word.strip() for part in video.split("(") for word in part.split(")")[0].split(",")
            }
            return next((word for word in pixels.SITINGS if word in words), None)
    return None


def is_interlaced(stream: VideoStream, frame: VideoFrame) -> bool:
    """Return whether the picture, or its stream as a whole, says that it is two fields."""
    return frame.interlaced_frame or int(stream.codec_context.field_order) in (2, 3, 4, 5)
