"""Opens inputs by FFmpeg and chooses the video stream, or says why an input is no film."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.format import ContainerFormat
from av.stream import Disposition, Stream
from av.video.stream import VideoStream

from snellen import process
from snellen.errors import InputError
from snellen.files import kinds, signatures
from snellen.files.opening import FFmpegFile, for_ffmpeg, raw
from snellen.files.signatures import MP4, Sort
from snellen.files.transfer import RemoteFilm
from snellen.frames import limits
from snellen.frames.values import MOST, decimal
from snellen.video.ffmpeg import ATTACHED_PICTURE, TAGS_AS_BYTES, name, reason
from snellen.video.logs.slots import libavutil
from snellen.video.pipes import Incoming
from snellen.video.selection import Described, selected

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
_NAMES = {"audio": "audio", "subtitle": "subtitles", "attachment": "attached files", "data": "data"}
"""Names of streams in messages, by FFmpeg's type."""
_FIRST = "name an image as the output, which becomes its first picture"
_STILL = {
    "webp_pipe": (
        "an animated WebP image, which the FFmpeg of this PyAV does not read as a film",
        f"install a newer PyAV (19 reads it), or {_FIRST}",
    ),
    "mov,mp4,m4a,3gp,3g2,mj2": (
        "an animated AVIF image, which is not read as a film",
        f"convert it to an animated .png or .webp first, or {_FIRST}",
    ),
}
"""FFmpeg's demuxers of animations that give no film, or one without transparency, with its first
picture as a second stream; what such a file is, and what to do."""

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


def unopened(source: Path | Incoming, what: str, reason: str) -> InputError:
    """Return the error about an input, `what`, that FFmpeg cannot open for a `reason` it gives."""
    if isinstance(source, Incoming):
        return _unopened_pipe(source, what, reason)
    found = kinds.kind_of(source)
    if neither := kinds.unsuitable(source, name=what):
        return neither
    if found.sort is Sort.UNKNOWN:
        return InputError(
            f"{what} cannot be read as a video file ({reason}): it is of no kind that is known "
            "here, or its beginning is damaged"
        )
    how = " (as one that was cut off before its index)" if found is MP4 else ""
    return InputError(
        f"{what} cannot be read as a video file ({reason}): it begins as {found.name} does, and is "
        f"damaged beyond reading{how}"
    )


def _unopened_pipe(source: Incoming, what: str, reason: str) -> InputError:
    found = signatures.kind_of(source.head)
    wanted = "a video" if source.format is None else "y4m (YUV4MPEG2), as a film in a pipe is"
    if not found.name:
        return InputError(f"{what} cannot be read ({reason}); expected {wanted}")
    if found is signatures.EMPTY:
        return InputError(
            f"{what} is empty; expected {wanted}", advice="look whether its writer failed"
        )
    if found.sort in (Sort.IMAGE, Sort.MOVING):
        advice = "name the file itself, or an image as the output"
    else:
        advice = found.advice or "name the file itself"
    if source.format is None and found.sort is Sort.FILM:
        # Damaged, or of a container that has its index at its end.
        return InputError(
            f"{what} begins as {found.name} does, and cannot be read from a pipe ({reason})",
            advice=advice,
        )
    return InputError(f"{what} is {found.name}; expected {wanted}", advice=advice)


def check_moves(source: Path | Incoming, what: str, container: InputContainer) -> None:
    """Refuse (InputError) an animation of which this FFmpeg reads no pictures, as film."""
    still = _STILL.get(container.format.name)
    if still and isinstance(source, Path) and kinds.kind_of(source).sort is Sort.MOVING:
        is_what, advice = still
        raise InputError(f"{what} is {is_what}", advice=advice)


def without_video(container: InputContainer, what: str) -> InputError:
    """Return the error about a container that has no film among its streams."""
    names = list(dict.fromkeys(_called(stream) for stream in container.streams))
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return InputError(f"{what} has no video stream" + (f", only {listed}" if listed else ""))


def _called(stream: Stream) -> str:
    """Return what a stream is, in words of a user; covers and time codes by their own names."""
    if stream.type == "video":
        cover = stream.disposition & Disposition.attached_pic
        return "a cover (an attached picture)" if cover else "thumbnails"
    if stream.type == "data" and "timecode" in stream.metadata:
        return "a time code"
    return _NAMES.get(stream.type, stream.type or "unknown data")
