"""Source, passthrough and sink share this of FFmpeg: opening inputs, names, colour numbers."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.format import ContainerFormat
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from snellen import process
from snellen.errors import InputError
from snellen.files.opening import FFmpegFile, for_ffmpeg, raw
from snellen.files.transfer import RemoteFilm
from snellen.frames import limits
from snellen.frames.values import MOST, decimal
from snellen.video import pixels
from snellen.video.logs import logs
from snellen.video.logs.slots import libavutil
from snellen.video.pipes import Incoming
from snellen.video.selection import Described, selected
from snellen.video.timestamps import fraction
from snellen.video.unopened import ATTACHED_PICTURE, check_moves, unopened, without_video

FULL_RANGE, LIMITED_RANGE = 2, 1
"""AVCOL_RANGE_JPEG and AVCOL_RANGE_MPEG."""

UNSPECIFIED = 2
"""AVCOL_SPC_UNSPECIFIED, AVCOL_PRI_UNSPECIFIED and AVCOL_TRC_UNSPECIFIED."""

BT709 = 1
"""AVCOL_SPC_BT709."""

TAGS_AS_BYTES: dict[str, Any] = (
    {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "surrogateescape"}
)
"""Arguments of av.open that keep tags which are not UTF-8 byte by byte; PyAV 19 always does."""

_LISTS = {"concat", "dash", "hls", "imf", "lavfi", "rtp", "rtsp", "sap", "sdp", "vobsub",
          "webm_dash_manifest"}  # fmt: skip
"""Demuxers of text files that name other files or addresses, which FFmpeg would open."""

_DENSEST = {
    "rawvideo": 8, "wrapped_avframe": 8, "gif": 1 << 14, "png": 1 << 14, "apng": 1 << 14,
    "mjpeg": 1 << 14, "bmp": 1 << 14, "tiff": 1 << 14,
}  # fmt: skip
"""Most pixels of a frame in a byte of its file; of LZW, deflate and JPEG with room to spare."""
_EDGES = 1 << 18
"""Pixels that a decoder may add at the edges of a small picture."""
_BUFFER = 1 << 18
"""Bytes that FFmpeg reads of a file at once."""
_LARGEST = 192 << 20
"""Bytes of one allocation while FFmpeg opens an input: enough to index 70 hours of video."""
_UNLIMITED = (1 << 31) - 1
"""FFmpeg's own limit in bytes."""

_lock = process.lock()
_users = 0  # blocks of `_largest` that are running


@cache
def _container_options() -> dict[str, str]:
    """Return options that let FFmpeg read the file that it is given and nothing else."""
    allowed = []
    for one in sorted(av.formats_available - _LISTS):
        with suppress(ValueError):  # a list of names, which stands there under each of them too
            form = ContainerFormat(one, "r")
            if not form.no_file:  # devices, and image2, which opens files by patterns
                allowed.append(one)
    return {"format_whitelist": ",".join(allowed), "protocol_whitelist": "none"}


def _refuse(url: str, flags: int, options: dict[str, str]) -> Any:
    """Open nothing: what FFmpeg asks for while it reads is another file."""
    raise PermissionError(errno.EACCES, "it refers to another file, which is not opened")


def open_path(
    file: Path | FFmpegFile | RemoteFilm, hwaccel: HWAccel | None = None
) -> InputContainer:
    """Open this file and no other; raises FFmpeg's own errors, or InputError without a file."""
    opened = for_ffmpeg(file) if isinstance(file, Path) else file
    try:
        return _open(opened, hwaccel=hwaccel, options=_limits())
    finally:
        opened.check()


def open_own(file: BytesIO) -> InputContainer:
    """Open what our muxer has written into memory, of any size; raises FFmpeg's own errors."""
    return _open(file)


def _open(file: Any, **how: Any) -> InputContainer:
    """Give FFmpeg an open file."""
    with _largest(_LARGEST):
        opened: InputContainer = av.open(
            file, "r", buffer_size=_BUFFER, io_open=_refuse,
            container_options=_container_options(), **TAGS_AS_BYTES, **how,
        )  # fmt: skip
    return opened


def _limits() -> dict[str, str]:
    """Return the options of decoders that refuse too large pictures."""
    # They count pixels that they add at the edges, and compare some sizes only later: with room.
    limit = limits.greatest(film=True)
    return {"max_pixels": str(limit + limit // 4 + _EDGES)}


def open_input(
    source: Path | Incoming,
    hwaccel: HWAccel | None = None,
    file: FFmpegFile | RemoteFilm | None = None,
) -> InputContainer:
    """Open a file, or a stream; InputError says why it cannot be opened.

    `file`: the file, if it is open already.
    """
    what = name(source)
    try:
        if isinstance(source, Incoming):
            return _open_pipe(source)
        container = open_path(file or source, hwaccel)
    except InputError:
        raise
    except PermissionError as error:
        raise InputError(f"{what}: {reason(error)}") from None
    except (av.FFmpegError, OSError, ValueError) as error:
        _check_y4m(source)
        raise unopened(source, what, reason(error)) from None
    check_moves(source, what, container)
    return container


def _check_y4m(source: Path | Incoming) -> None:
    """Refuse (InputError) y4m of a size that FFmpeg refuses without a word about it."""
    header = source.header if isinstance(source, Incoming) else b""
    if isinstance(source, Path):
        with suppress(InputError, OSError), raw(source) as file:
            header = file.read(256) or b""
    words = header.partition(b"\n")[0].split()
    if words[:1] == [b"YUV4MPEG2"]:
        told = {word[:1]: word[1:].decode("latin-1") for word in words[1:] if word[1:].isdigit()}
        sizes = {key: decimal(digits) or MOST for key, digits in told.items() if digits.strip("0")}
        limits.check_size(name(source), sizes.get(b"W", 0), sizes.get(b"H", 0), film=True)


def _open_pipe(pipe: Incoming) -> InputContainer:
    try:
        container = _open(pipe, format=pipe.format, options=_limits())
    except BaseException:
        pipe.check()
        raise
    if pipe.interrupted:
        container.close()
        pipe.check()
    return container


def limit_size(stream: VideoStream, what: str) -> None:
    """Refuse (InputError) a stream of too large pictures; let its decoder refuse later ones."""
    context = stream.codec_context
    limits.check_size(what, context.width, context.height, film=True)
    most = _DENSEST.get(context.codec.canonical_name)
    container: Any = stream.container
    size = int(container.size or 0)  # of a pipe below 0, or None, by the version of PyAV
    if most and size > 0:
        limits.check_plausible(what, context.width, context.height, size, most, _EDGES)
    context.options = {**context.options, **_limits()}


def name(file: Path | BinaryIO | Incoming) -> str:
    """Return what messages call an input or output."""
    if isinstance(file, Path):
        return str(file)
    return file.title if isinstance(file, Incoming) else str(getattr(file, "name", "the stream"))


def reason(error: BaseException) -> str:
    """Return the message of FFmpeg or the system, without error numbers."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


def choose_stream(container: InputContainer, what: str, maps: Sequence[str] = ()) -> VideoStream:
    """Return the video stream to work on, which is never a cover.

    It is the first one that `maps` name, as `selection.selected`, else the one marked default, or
    the largest. InputError: there is none, or a map is of no stream.
    """
    found = [s for s in container.streams.video if not s.disposition & ATTACHED_PICTURE]
    if not found:
        raise without_video(container, what)
    known = [s for s in found if s.codec_context is not None]
    if not known:
        raise InputError(f"{what}: there is no decoder here for its video")
    if maps:
        kept = selected(maps, [described(s) for s in container.streams], what) or []
        named = [s for s in known if s.index in kept]
        if named and not maps[0].startswith("-"):
            return min(named, key=lambda s: kept.index(s.index))
        known = named or known
    default = Disposition.default
    return max(known, key=lambda s: (bool(s.disposition & default), s.width * s.height, -s.index))


@contextmanager
def video_of(
    path: Path, what: str, maps: Sequence[str] = (), threads: Literal["AUTO", "NONE"] = "AUTO"
) -> Iterator[tuple[InputContainer, VideoStream]]:
    """Open a file once more; yield its container and the video stream to work on."""
    with open_input(path) as container:
        stream = choose_stream(container, what, maps)
        limit_size(stream, what)
        stream.codec_context.thread_type = threads
        yield container, stream


def described(stream: Stream) -> Described:
    """Return what a map can ask of a stream."""
    cover = bool(stream.disposition & ATTACHED_PICTURE)
    return Described(stream.index, stream.type, cover, stream.metadata)


def start_of(container: InputContainer) -> Fraction:
    """Return the container's start in seconds, exact where a stream states its own start."""
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


def chroma_location(container: InputContainer, stream: Stream) -> str | None:
    """Return FFmpeg's name of the stream's chroma location; None: the stream does not state it.

    PyAV 18 has no attribute for it, but FFmpeg's own description of the streams contains it.
    """
    for line in logs.description(container).splitlines():
        before, _, video = line.partition(": Video: ")
        if not before.strip().startswith(f"Stream #0:{stream.index}") or not video:
            continue
        if not before.strip()[len(f"Stream #0:{stream.index}") :][:1].isdigit():
            fields = {
                field.strip()
                for part in video.split("(")
                for field in part.split(")")[0].split(",")
            }
            return next((field for field in pixels.SITINGS if field in fields), None)
    return None


@contextmanager
def _largest(size: int) -> Iterator[None]:
    """Let FFmpeg allocate at most `size` bytes at once: a table in a file may claim any number."""
    # The limit is FFmpeg's global: the first of several concurrent blocks sets it, and the last one
    # gives it its default again.
    global _users
    library = libavutil()
    if library is None:  # it is not found
        yield
        return
    with _lock:
        _users += 1
        library.av_max_alloc(size)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                library.av_max_alloc(_UNLIMITED)
