"""Image files ⇄ arrays: bit depth, colour profile, EXIF and other metadata are preserved.

Pillow reads and writes most files (`still_pillow`, `still_write`). What it does not support, others
read: TIFF of other samples than 8 bits (`still_tiff`), deep PNG (FFmpeg), HEIC, DNG (`raw`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

from snellen.files.still_formats import READ_ONLY, SUFFIXES, WRITTEN
from snellen.frames.still_value import SEVERAL, Header, Still
from snellen.stills import heic, raw, still_pillow, still_tiff, tiff_pages
from snellen.stills.image_file import opened_file
from snellen.stills.still_write import check, losses, write, write_pages
from snellen.stills.tiff_pages import Page

__all__ = [
    "READ_ONLY", "SUFFIXES", "WRITTEN", "Header", "Page", "Still", "check", "header",
    "losses", "pages", "read", "read_page", "write", "write_pages",
]  # fmt: skip

_OF_TIFF = (still_tiff, still_pillow)
_READERS = (heic, raw, still_tiff)
"""Those before Pillow: each has `is_taken`, `read` and `header`."""


def read(path: Path) -> Still:
    """Read an image file, of several pictures the first one.

    InputError: it is missing, damaged or no image, or has samples of a kind that cannot be used.
    """
    with opened_file(path) as (file, said):
        reader = _reader(file)
        still: Still = reader.read(path, file, said)
        return _with_others(still, file, SEVERAL) if reader in _OF_TIFF else still


def pages(path: Path) -> tuple[Page, ...]:
    """Return the pages of a TIFF file (InputError: it cannot be opened); of others none."""
    with opened_file(path) as (file, _):
        return () if raw.is_taken(file) else tiff_pages.pages(file)


def read_page(path: Path, page: Page) -> Still:
    """Read a page of a TIFF file; errors are those of `read`."""
    with opened_file(path) as (file, said):
        ours = still_tiff.is_taken(file, page)
        still = (still_tiff if ours else still_pillow).read(path, file, said, page)
        return _with_others(still, file) if tiff_pages.is_first(file, page) else still


def header(path: Path) -> Header:
    """Read size and kind of samples of an image file, but not its pixels; errors as of `read`."""
    with opened_file(path) as (file, _):
        found: Header = _reader(file).header(path, file)
        return found


def _with_others(still: Still, file: BinaryIO, several: str = "") -> Still:
    """Return a picture of a file, which says what a TIFF holds beside its pages, and `several`."""
    pages, masks, previews = tiff_pages.beside(file)
    lost = [several] * (pages > 1 and bool(several))
    lost += ["it holds a mask beside its picture, which is left out"] * bool(masks)
    notes = ["it holds its picture smaller, too, which is left out"] * bool(previews)
    return replace(still, lost=(*lost, *still.lost), notes=(*still.notes, *notes))


def _reader(file: BinaryIO) -> ModuleType:
    """Return the module that reads a file."""
    return next((one for one in _READERS if one.is_taken(file)), still_pillow)
