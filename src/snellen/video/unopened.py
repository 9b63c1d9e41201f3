"""Why an input is no film that can be read: what it is instead, by its content."""

from __future__ import annotations

from pathlib import Path

from av.container import InputContainer
from av.stream import Disposition, Stream

from snellen.errors import InputError
from snellen.files import kinds, signatures
from snellen.files.signatures import MP4, Sort
from snellen.video.pipes import Incoming

ATTACHED_PICTURE = Disposition.attached_pic | Disposition.timed_thumbnails
"""Dispositions of covers and thumbnails, which FFmpeg presents as video streams."""

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
