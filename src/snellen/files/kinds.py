"""A file's content says what it is, for all commands; its name only where that says nothing.

Content is looked at in ordinary files, their first bytes only. Of pipes and addresses, which can be
read only once or from afar, and of files that are still to be written, the name counts.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from snellen.errors import InputError
from snellen.files import signatures
from snellen.files.containers import container
from snellen.files.opening import InputFile
from snellen.files.remote import Remote
from snellen.files.signatures import JPEG, PNG, RAW, TIFF, UNKNOWN, Kind, Sort
from snellen.files.still_formats import SUFFIXES, UNREAD

ANY = "a video or an image"
"""Files that messages expect."""
_SOUNDS = (".m4a", ".m4b", ".mka", ".weba", ".mks", ".oga")
"""Names of sound and captions in containers that begin as films do."""
_ANIMATED_PNG = Kind(Sort.MOVING, "an animated PNG image")
_CHUNKS = 100
"""Chunks of a PNG before its pixels that are looked at."""
_KEPT = 4096
"""Files whose kind is kept in memory, until they change."""
_SUBFILE, _SUBFILES = 254, 330
"""Tags of TIFF: NewSubfileType (1: a smaller version), SubIFDs. Raw files begin with a preview."""
_TAGS = 512


def kind_of(path: Path) -> Kind:
    """Return what a file is by its content; UNKNOWN of a pipe, an address or no file at all."""
    if isinstance(path, Remote):
        return UNKNOWN
    try:
        about = os.stat(path)  # noqa: PTH116  never makes a Path of a Path
    except (OSError, ValueError):
        return UNKNOWN
    if not stat.S_ISREG(about.st_mode):
        return UNKNOWN
    return _looked_at(path, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)


def is_image(path: Path, film: bool | None = None) -> bool:
    """Return whether an input is an image; else it is taken for a film.

    `film` says whether the output is a film: an animation is then one, too. False: it is an image,
    as its first picture. None: nobody says; then those are films whose names end in .gif or .apng.
    """
    found, suffix = kind_of(path), path.suffix.lower()
    named = container(suffix).either
    if found.sort is Sort.MOVING:
        return not (named if film is None else film)
    if found.sort is Sort.IMAGE:
        return not (found is JPEG and (container(suffix).jpegs or container(suffix).named))
    if found.sort is Sort.FILM:
        return False
    return suffix in SUFFIXES or (named and film is False)


def are_images(one: Path, other: Path) -> tuple[bool, bool]:
    """Return which of two compared inputs are images: an animation is what the other one is."""
    images = is_image(one), is_image(other)
    if images[0] == images[1]:
        return images
    moving = [_may_move(path) for path in (one, other)]
    if moving[0] == moving[1]:
        return (False, False) if moving[0] else images
    return (images[1], images[1]) if moving[0] else (images[0], images[0])


def is_known(path: Path) -> bool:
    """Return whether a file is an image or a film, by its content or, if that is unknown, by name.

    A file of another kind that is called as an image or a film is one: why it cannot be read is
    said where it is opened.
    """
    found, suffix = kind_of(path), path.suffix.lower()
    if container(suffix).named or is_image(path):
        return True
    return found.sort in (Sort.FILM, Sort.MOVING) and suffix not in _SOUNDS


def is_picture(path: Path) -> bool:
    """Return whether a file is an image, of a type that is read or not, or a film."""
    return is_known(path) or names_picture(path)


def names_image(target: Path) -> bool:
    """Return whether an output is an image; its name says so."""
    return target.suffix.lower() in SUFFIXES


def names_picture(target: Path) -> bool:
    """Return whether a name is that of an image, of a type that is read or not, or of a film."""
    return names_image(target) or names_unread(target) or container(target.suffix).named


def names_unread(path: Path) -> bool:
    """Return whether a name is that of an image of a type that is not read as such.

    FFmpeg takes some for films.
    """
    return path.suffix.lower() in UNREAD or container(path.suffix).either


def unsuitable(path: Path, expected: str = ANY, name: str = "") -> InputError | None:
    """Return the error about a file that is known to be something else; None: it may be sound.

    `expected` is the kind that was wanted ("an image"), `name` what messages call the file (empty:
    its path).
    """
    found = kind_of(path)
    if found.sort is not Sort.OTHER:
        return None
    return InputError(f"{name or path} is {found.name}; expected {expected}", advice=found.advice)


def _may_move(path: Path) -> bool:
    found = kind_of(path)
    return found.sort is Sort.MOVING or (found is UNKNOWN and container(path.suffix).either)


@lru_cache(_KEPT)
def _looked_at(path: Path, *state: int) -> Kind:
    """Return what a file in a certain state is."""
    try:
        with InputFile(path) as file:
            head = file.read(signatures.HEAD) or b""
            found = signatures.kind_of(head)
            if found is PNG and _is_animated(file):
                return _ANIMATED_PNG
            if found is TIFF and _is_preview(head):
                return RAW
    except (InputError, OSError):
        return UNKNOWN  # which is said where it is opened
    return found


def _is_animated(file: InputFile) -> bool:
    """Return whether a PNG has a chunk acTL before its pixels (PNG, third edition, 11.3.6)."""
    at = 8
    for _ in range(_CHUNKS):
        file.seek(at)
        head = file.read(8) or b""
        if len(head) < 8 or head[4:] in (b"IDAT", b"IEND"):
            return False
        if head[4:] == b"acTL":
            return True
        at += 12 + int.from_bytes(head[:4], "big")
    return False


def _is_preview(head: bytes) -> bool:
    """Return whether the first picture of a TIFF is a preview, as in a camera's raw file."""
    # DNG begins in the same way, and says which version it is.
    order = "little" if head[:2] == b"II" else "big"

    def number(at: int, size: int) -> int:
        return int.from_bytes(head[at : at + size], order)  # type: ignore[arg-type]

    if number(2, 2) != 42:
        return False
    begin = number(4, 4)
    tags = {
        number(at, 2): number(at + 8, 4)
        for at in range(begin + 2, begin + 2 + 12 * min(number(begin, 2), _TAGS), 12)
        if at + 12 <= len(head)
    }
    is_dng = 50706 in tags
    return not is_dng and bool(tags.get(_SUBFILE, 0) & 1) and _SUBFILES in tags
