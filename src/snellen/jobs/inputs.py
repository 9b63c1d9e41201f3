"""Finds the files that a run reads, and the output of each of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from snellen.errors import InputError, OutputError
from snellen.frames.protection import File, place
from snellen.jobs.patterns import matching

VIDEO_SUFFIXES = (".mp4", ".mkv", ".mov", ".webm", ".m2ts", ".ts", ".m4v", ".avi", ".y4m")
UNREAD_SUFFIXES = (
    ".gif", ".apng", ".jxl", ".ico", ".psd", ".svg", ".tga", ".exr", ".hdr", ".dpx",
)  # fmt: skip
"""Images too, but of types that are not read as such; FFmpeg takes some for films."""
PIPE = Path("-")
"""Standard input, or standard output."""


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


def expanded(inputs: Sequence[Path]) -> list[Path]:
    """Return the inputs, folders replaced by the videos and images in them, sorted by name.

    A typed pattern is replaced by what matches it.

    Raises
    ------
    InputError
        A folder without video and image, a pattern that nothing matches, an address, or no input at
        all.
    """
    found: list[Path] = []
    for typed in inputs:
        for path in matching(typed):
            found += _contents(path) if path.is_dir() else [path]
    if not found:
        raise InputError("got no `source`; expected a file or a folder", parameter="source")
    return found


def planned(inputs: Sequence[Path], output: Path) -> list[tuple[Path, Path]]:
    """Return each input with its output.

    Parameters
    ----------
    inputs : sequence of Path
        Videos, images, folders of both, or "-" for standard input.
    output : Path
        A file for one input; "-" for standard output; an existing folder for one input or several.

    Raises
    ------
    InputError
        Several inputs without a folder for their outputs, or two that would become one file.
    """
    sources = expanded(inputs)
    many = len(inputs) > 1 or len(sources) > 1 or matching(inputs[0])[0].is_dir()
    if output == PIPE or not (many or output.is_dir()):
        if len(sources) > 1:
            raise InputError(
                "standard output takes one input; name a folder as `target`", parameter="target"
            )
        return [(sources[0], output)]
    if PIPE in sources:
        raise InputError(
            "standard input needs a file name (or -) as its output, not a folder",
            parameter="target",
        )
    if not output.is_dir():
        raise InputError(
            f"{output}: several inputs need an existing folder as output",
            parameter="target",
            advice="make it first",
        )
    targets = [output / _renamed(source) for source in sources]
    claim(targets, {}, "target")
    return list(zip(sources, targets, strict=True))


def file_target(source: Path, target: Path) -> Path:
    """Return the file that one source becomes: the target, or in it where that is a folder.

    Raises
    ------
    InputError
        The source is a folder, or the target is one for standard input.
    """
    if source.is_dir():
        raise InputError(
            f"{source} is a folder; expected one file",
            parameter="source",
            advice="upscale_files and deblur_files take folders",
        )
    return planned([source], target)[0][1]


def _contents(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_known(path)]
    if not found:
        raise InputError(f"{folder} holds no video and no image", parameter="source")
    return found


def _is_known(path: Path) -> bool:
    hidden = path.name.startswith(".")
    return not hidden and (path.suffix.lower() in VIDEO_SUFFIXES or is_image(path))


def _renamed(source: Path) -> str:
    """Return the name in the output folder; Matroska holds what cannot be written as it was."""
    from snellen.video.sink.output import MUXERS

    if is_image(source):
        return image_name(source)
    if source.suffix.lower() in MUXERS:
        return source.name
    return source.stem + ".mkv"
