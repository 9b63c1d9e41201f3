"""What names of inputs and outputs mean: standard streams, images, videos; outputs of one name."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from snellen.errors import InputError, OutputError
from snellen.frames.protection import File, place

VIDEO_SUFFIXES = (".mp4", ".mkv", ".mov", ".webm", ".m2ts", ".ts", ".m4v", ".avi", ".y4m")
UNREAD_SUFFIXES = (
    ".gif", ".apng", ".ico", ".psd", ".svg", ".tga", ".exr", ".hdr", ".dpx",
)  # fmt: skip
"""Images too, but of types that are not read as such; FFmpeg takes some for films."""
ANIMATED = (".webp", ".avif")
"""Suffixes of images that may also be films."""
PIPE = Path("-")
"""Standard input, or standard output."""
STANDARD_INPUT = Path("/dev/stdin")
"""Standard input as a file, where the system has one."""


def is_own(path: Path) -> bool:
    """Return whether a name means a file that this process alone has open, as /dev/stdin does."""
    return path == PIPE or str(path).startswith(("/dev/std", "/dev/fd/", "/proc/self/"))


def standard_input() -> BinaryIO:
    """Return standard input as bytes (InputError: this process has none)."""
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is None or stream.closed:
        raise InputError("standard input is closed; name a file", parameter="source")
    binary: BinaryIO = stream
    return binary


def standard_output() -> BinaryIO:
    """Return standard output as bytes (OutputError: this process has none)."""
    stream: Any = getattr(sys.stdout, "buffer", None)
    if stream is None or stream.closed:
        raise OutputError("standard output is closed; name a file", parameter="target")
    binary: BinaryIO = stream
    return binary


def is_image(path: Path, other: Path | None = None) -> bool:
    """Return whether a file's name is an image's.

    Animations (.gif, .apng) are images, of their first picture, only where the `other` file of a
    run is one: the output, or what it is compared with. Else they are videos.
    """
    from snellen.frames.still_formats import EITHER, SUFFIXES

    suffix = path.suffix.lower()
    return suffix in SUFFIXES or (suffix in EITHER and other is not None and is_image(other))


def image_name(source: Path) -> str:
    """Return the name of an image in an output folder: what is only read becomes .png."""
    from snellen.frames.still_formats import READ_ONLY

    return f"{source.stem}.png" if source.suffix.lower() in READ_ONLY else source.name


def is_picture(path: Path) -> bool:
    """Return whether a file's name is that of an image, read or not, or of a video."""
    return is_image(path) or path.suffix.lower() in (*UNREAD_SUFFIXES, *VIDEO_SUFFIXES)


def stream(path: Path) -> list[File]:
    """Return what a path means: standard input for "-", or nothing where that is closed."""
    if path != PIPE:
        return [path]
    return [] if sys.stdin is None else [sys.stdin]


def contents(path: Path) -> list[File]:
    """Return what is read where a file or a folder of pictures is named."""
    with suppress(OSError):
        if path.is_dir():
            return [one for one in path.iterdir() if is_picture(one)]
    return stream(path)


def claim(outputs: Iterable[Path], taken: dict[str, Path], parameter: str) -> None:
    """Refuse an output that is one of those before it, by its name or by a link that lies there.

    Parameters
    ----------
    outputs : iterable of Path
        Files that a run writes.
    taken : dict
        Those before, by where they lead; gets these too.
    parameter : str
        Name for the error.

    Raises
    ------
    InputError
    """
    for output in outputs:
        other = taken.setdefault(place(output), output)
        if other is not output:
            which = f"{output}" if other == output else f"{output}, since {other} is the same file"
            raise InputError(
                f"several inputs would become {which}",
                parameter=parameter,
                advice="convert them apart",
            )
