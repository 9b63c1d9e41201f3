"""The pages of a TIFF file: which pictures of it are pages, and where they lie."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import RawIOBase
from typing import BinaryIO, NamedTuple

from snellen.frames.tiff_kinds import several
from snellen.stills import tiff

_KIND = 254
"""NewSubfileType (TIFF 6.0)."""
_PREVIEW, _MASK = 1, 4
"""A smaller version of another picture, or a mask of it."""
_NO_PAGE = _PREVIEW | _MASK
_MOST = 10_000
"""Pictures of a file that are counted."""
_HANGING = 100
"""Directories that hang at a page and are looked at."""
_ENTRY, _BIG_ENTRY = 12, 20
"""Bytes of a tag in a directory."""
_SHORT = 3
"""Type of a value of two bytes."""


@dataclass(frozen=True, slots=True)
class Page:
    """One picture of a TIFF file."""

    number: int
    """Its place among all pictures of the file, from 0."""
    offset: int
    """The place of its directory, in bytes."""


class FirstPage(RawIOBase):
    """A TIFF file as if a page were its first picture, for libraries that read that only."""

    def __init__(self, file: BinaryIO, page: Page) -> None:
        self._file = file
        file.seek(0)
        head = file.read(16)
        order = "<" if head[:2] == b"II" else ">"
        if b"+" in head[2:4]:
            self._head = head[:8] + struct.pack(f"{order}Q", page.offset)
        else:
            self._head = head[:4] + struct.pack(f"{order}I", page.offset)
        file.seek(0)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes of the file, but of its beginning those that point to the page."""
        at = self._file.tell()
        data = self._file.read(-1 if size is None else size)
        head = self._head[at : at + len(data)]
        return head + data[len(head) :]

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move in the file."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()

    def fileno(self) -> int:
        """Return the file's own: libtiff gets the place of the page from Pillow."""
        return self._file.fileno()


class Beside(NamedTuple):
    """How many pictures a TIFF file holds."""

    pages: int
    masks: int
    previews: int
    """Smaller versions."""


def beside(file: BinaryIO) -> Beside:
    """Return how many pages a TIFF file holds, and what else beside them; of others nothing.

    Among the directories that hang at the first page (SubIFDs), those without a kind are previews.
    """
    kinds, first = [], None
    for _, offset, kind in _directories(file):
        kinds.append(kind)
        first = offset if first is None and not kind & _NO_PAGE else first
    if first is not None:
        kinds += _hanging(file, first)
    masks = sum(bool(kind & _MASK) for kind in kinds)
    pages = sum(not kind & _NO_PAGE for kind in kinds)
    return Beside(pages, masks, len(kinds) - masks - pages)


def pages(file: BinaryIO) -> tuple[Page, ...]:
    """Return the pages of a TIFF file, as far as its directories can be read; of others none.

    Previews and masks are no pages.
    """
    return tuple(_pages(file))


def is_first(file: BinaryIO, page: Page) -> bool:
    """Return whether a page is the first one of a TIFF file, without looking at all of them."""
    return next(_pages(file), None) == page


def _pages(file: BinaryIO) -> Iterator[Page]:
    for number, offset, kind in _directories(file):
        if not kind & _NO_PAGE:
            yield Page(number, offset)


def _hanging(file: BinaryIO, at: int) -> list[int]:
    """Return the kinds of the pictures whose directories hang at one; what is no page, of none."""
    kinds: list[int] = []
    with suppress(Exception):  # of tags that are wrong, of which the pictures' own are said
        tags = tiff.directory(file, at)
        places = several(tags, tiff.SUB_IFDS) if tags and tiff.SUB_IFDS in tags else ()
        for place in places[:_HANGING]:
            found = tiff.directory(file, place)
            if found:
                kinds.append(int(found.get(_KIND, 0)) & _NO_PAGE or _PREVIEW)
    return kinds


def _directories(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Yield number, offset and kind of the directories of a TIFF file that follow each other."""
    file.seek(0)
    head = file.read(16)
    if head[:4] not in tiff.MAGIC:
        return
    order = "<" if head[:2] == b"II" else ">"
    big = b"+" in head[2:4]
    word, count, entry = ("Q", "Q", _BIG_ENTRY) if big else ("I", "H", _ENTRY)
    seen: set[int] = set()
    with suppress(struct.error, OSError, OverflowError, ValueError):
        # It ends where these come, which reading the first picture says.
        (offset,) = struct.unpack_from(f"{order}{word}", head, 8 if big else 4)
        while offset and offset not in seen and len(seen) < _MOST:
            seen.add(offset)
            file.seek(offset)
            (entries,) = struct.unpack(f"{order}{count}", file.read(struct.calcsize(count)))
            body = file.read(entries * entry) if entries < 1 << 16 else b""
            (following,) = struct.unpack(f"{order}{word}", file.read(struct.calcsize(word)))
            yield len(seen) - 1, offset, _kind(body, entry, order)
            offset = following


def _kind(body: bytes, entry: int, order: str) -> int:
    """Return the kind of a picture from the entries of its directory."""
    for at in range(0, len(body) - entry + 1, entry):
        tag, kind = struct.unpack_from(f"{order}HH", body, at)
        if tag == _KIND:
            place = at + entry - (8 if entry == _BIG_ENTRY else 4)
            value: int = struct.unpack_from(
                f"{order}{'H' if kind == _SHORT else 'I'}", body, place
            )[0]
            return value
    return 0
