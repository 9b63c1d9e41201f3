"""The pages of a TIFF file: which pictures of it are pages, and where they lie."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from io import RawIOBase
from typing import BinaryIO

from snellen.frames import tiff

_KIND = 254
"""NewSubfileType (TIFF 6.0)."""
_NO_PAGE = 1 | 4
"""A smaller version of another picture, or a mask of it."""
_MOST = 10_000
"""Pictures of a file that are counted."""
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
    """Of its directory, bytes."""


class FirstPage(RawIOBase):
    """A TIFF file as if a page were its first picture, for libraries that read that only.

    Parameters
    ----------
    file : BinaryIO
    page : Page
    """

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


def pages(file: BinaryIO) -> tuple[Page, ...]:
    """Return the pages of a TIFF file, as far as its directories can be read; of others none.

    Previews and masks are no pages.
    """
    file.seek(0)
    head = file.read(16)
    if head[:4] not in tiff.MAGIC:
        return ()
    order = "<" if head[:2] == b"II" else ">"
    big = b"+" in head[2:4]
    word, count, entry = ("Q", "Q", _BIG_ENTRY) if big else ("I", "H", _ENTRY)
    found: list[Page] = []
    seen: set[int] = set()
    try:
        (offset,) = struct.unpack_from(f"{order}{word}", head, 8 if big else 4)
        while offset and offset not in seen and len(seen) < _MOST:
            seen.add(offset)
            file.seek(offset)
            (entries,) = struct.unpack(f"{order}{count}", file.read(struct.calcsize(count)))
            body = file.read(entries * entry) if entries < 1 << 16 else b""
            (following,) = struct.unpack(f"{order}{word}", file.read(struct.calcsize(word)))
            if not _kind(body, entry, order) & _NO_PAGE:
                found.append(Page(len(seen) - 1, offset))
            offset = following
    except (struct.error, OSError, OverflowError, ValueError):
        pass  # it ends there, which reading the first picture says
    return tuple(found)


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
