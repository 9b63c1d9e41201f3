"""Names of outputs that nobody has named: ``film-4k.mkv``, ``photo-x2.png``, ``a-sharp.png``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from snellen.errors import InputError
from snellen.files.containers import container
from snellen.files.kinds import is_image
from snellen.jobs.inputs.inputs import PIPE, image_name
from snellen.upscaling.target import Target, target

Word = Callable[[Path], str]
"""Returns what a name says of the result of a file, or of a folder of files."""

SHARP = "sharp"
"""The suffix of results of deblurring."""
_SIZES = ((7680, 4320, "8k"), (3840, 2160, "4k"), (2560, 1440, "1440p"), (1920, 1080, "1080p"),
          (1280, 720, "720p"))  # fmt: skip
"""Longer and shorter side in pixels, and what such films are called."""
_SEGMENTS = ".segments"
"""Suffix of the folder of an output's segments."""
_LONGEST, _LEFT = 255, 32
"""Bytes that a name may have; characters that are left of one that would be longer."""
_WIDER = 1.1
"""Cinema's 4096 × 2160 is called 4k, too."""


def lengthened(file: Path, suffix: str) -> Path:
    """Return the file or folder beside an output that has another suffix behind its name.

    Of a name that would become too long the beginning and a digest are left.
    """
    name = f"{file.name}{suffix}"
    if len(os.fsencode(name)) > _LONGEST:
        digest = sha256(os.fsencode(file.name)).hexdigest()[:16]
        name = f"{file.name[:_LEFT]}-{digest}{suffix}"
    return file.with_name(name)


def segments_folder(target: Path) -> Path:
    """Return where the segments of an output are kept until it is complete."""
    return lengthened(Path(os.path.realpath(target)), _SEGMENTS)


def is_joined(target: Path) -> bool:
    """Return whether a run has joined all segments of an output, which has not got its name."""
    folder = segments_folder(target)
    if not folder.is_dir():
        return False
    from snellen.video.segments.store import was_joined

    return was_joined(folder)


def beside(source: Path, word: str) -> Path:
    """Return the file or folder beside a source whose name has a word more.

    InputError: the source has no name of its own: standard input, or the root of the file system.
    """
    if source == PIPE:
        raise InputError("standard input needs a `target`", parameter="target")
    if source.name in ("", ".."):  # of "." and "..": what they mean
        source = source.resolve()
    if not source.name:
        raise InputError(f"{source}: no name can be made of this", advice="name a `target`")
    if os.path.isdir(source):  # noqa: PTH112  never raises
        return source.with_name(f"{source.name}-{word}")
    named = Path(written(source))
    return source.with_name(f"{named.stem}-{word}{named.suffix}")


def written(source: Path) -> str:
    """Return the name of a file's result of its own; Matroska holds what few containers do."""
    if is_image(source):
        return image_name(source)
    if container(source.suffix).kept:
        return source.name
    return source.stem + ".mkv"


def goal_of(options: Mapping[str, Any]) -> Target:
    """Return the size that options of upscaling, by name, ask for (InputError: as of `target`)."""
    return target(*(options.get(name) for name in ("scale", "size", "height", "fit")))


def enlarged(source: Path, goal: Target) -> str:
    """Return what the name of a source says when it is enlarged: "4k" of a film, else "x2".

    A size that was asked for is said as it was: "1440p" of so many rows, "1000x1000" of a box.
    """
    if goal.box is not None:
        named = {(long, short): word for long, short, word in _SIZES}
        return named.get(goal.box, "x".join(map(str, goal.box)))
    if goal.height is not None:
        return f"{goal.height}p"
    scale = goal.scale or Fraction(2)
    plain = f"x{float(scale):g}"
    if is_image(source) or not os.path.isfile(source):  # noqa: PTH113  never raises
        return plain
    found = _size(source)
    return plain if found is None else size(found[0] * scale, found[1] * scale) or plain


def size(width: Fraction, height: Fraction) -> str | None:
    """Return what films of this size are called, as "4k" or "1080p"; None: they have no name."""
    longer, shorter = max(width, height), min(width, height)
    for long, short, word in _SIZES:
        if (longer == long and shorter <= short) or (shorter == short and longer <= long * _WIDER):
            return word
    return None


def _size(film: Path) -> tuple[int, int] | None:
    """Return width and height of a film; None: it cannot be read, which its job will say."""
    from snellen.errors import SnellenError
    from snellen.video.source.read import Reader

    try:
        reader = Reader(film, str(film))
    except (SnellenError, OSError, ValueError):
        return None
    try:
        return reader.stream.width, reader.stream.height
    finally:
        reader.close()
