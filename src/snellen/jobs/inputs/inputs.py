"""Names of inputs and outputs are read: standard streams; images; outputs of one name."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from snellen.errors import InputError, OutputError
from snellen.files.kinds import is_picture
from snellen.files.protection import File, place
from snellen.files.still_formats import WRITTEN

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


def image_name(source: Path) -> str:
    """Return the name of an image in an output folder: what is not written becomes .png."""
    return source.name if source.suffix.lower() in WRITTEN else f"{source.stem}.png"


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
    """Refuse (InputError) an output that is one of those before it: by its name, or by a link.

    `taken` has those before, by where they lead; it gets these too. `parameter` is for the error.
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
