"""Image files ⇄ arrays: bit depth, colour profile, EXIF and other metadata are preserved.

Pillow reads and writes most files (`still_pillow`, `still_write`). What it does not support, others
read: 16-bit and float colour (`still_tiff`, and FFmpeg for PNG), HEIC (`heic`) and DNG (`raw`).
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from snellen.frames import heic, raw, still_pillow, still_tiff, tiff_pages
from snellen.frames.image_file import opened_file
from snellen.frames.still_formats import EITHER, READ_ONLY, SUFFIXES, WRITTEN
from snellen.frames.still_value import Header, Still
from snellen.frames.still_write import check, losses, write, write_pages
from snellen.frames.tiff_pages import Page

__all__ = [
    "EITHER", "READ_ONLY", "SUFFIXES", "WRITTEN", "Header", "Page", "Still", "check", "header",
    "losses", "pages", "read", "read_page", "write", "write_pages",
]  # fmt: skip

_READERS = (heic, raw, still_tiff)
"""Those before Pillow: each has `is_taken`, `read` and `header`."""


def read(path: Path) -> Still:
    """Read an image file, of several pictures the first one.

    Raises
    ------
    InputError
        The file is missing, damaged or no image, or has colours other than grey, RGB and CMYK.
    """
    with opened_file(path) as (file, said):
        still: Still = _reader(file).read(path, file, said)
        return still


def pages(path: Path) -> tuple[Page, ...]:
    """Return the pages of a TIFF file (InputError: it cannot be opened); of others none."""
    with opened_file(path) as (file, _):
        return () if raw.is_taken(file) else tiff_pages.pages(file)


def read_page(path: Path, page: Page) -> Still:
    """Read a page of a TIFF file.

    Raises
    ------
    InputError
        As `read`.
    """
    with opened_file(path) as (file, said):
        ours = still_tiff.is_taken(file, page)
        return (
            still_tiff.read(path, file, said, page)
            if ours
            else (still_pillow.read(path, file, said, page))
        )


def header(path: Path) -> Header:
    """Read the size and the kind of samples of an image file, but not its pixels.

    Raises
    ------
    InputError
        As `read`, for those faults that the header shows.
    """
    with opened_file(path) as (file, _):
        found: Header = _reader(file).header(path, file)
        return found


def _reader(file: BinaryIO) -> ModuleType:
    """Return the module that reads a file."""
    return next((one for one in _READERS if one.is_taken(file)), still_pillow)
