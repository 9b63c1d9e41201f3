"""Finds damage of image files that decoders pass over: checksums, lengths and warnings.

Pillow refuses most files that end early. It says nothing of libjpeg's warnings, does not check the
checksums of PNG's pixel data, and leaves the messages of libtiff to standard error.
"""

from __future__ import annotations

import ctypes
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from PIL import Image, _imaging

from snellen import process
from snellen.frames.tiff_kinds import COMPRESSION, JPEG
from snellen.stills.tiff import COUNTS, OFFSETS, TILE_COUNTS, TILE_OFFSETS

_PIECE = 1 << 20
"""Bytes that are read or inflated at once."""

_LIBJPEG_WARNINGS = (
    "Corrupt JPEG data", "Premature end of JPEG", "Inconsistent progression sequence",
    "Invalid SOS parameters", "Unknown Adobe color transform", "Warning: unknown JFIF revision",
)  # fmt: skip
"""How libjpeg's warnings begin. Its other messages are about what this build does not support."""
_JPEG_BYTES = 16
"""Bytes of entropy-coded data that a pixel takes at most: 4 components, 27 bits for each sample."""
_JPEG_REST = 64 << 20
"""Bytes of metadata in front of a JPEG's pixels that are read at most."""

_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""Samples a pixel by PNG's colour type (PNG specification, 11.2.1)."""
_ADAM7 = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2))  # fmt: skip
"""First column and row, and steps across and down, of the passes of interlaced PNG (8.2)."""

_JPEG_TABLES = 347
"""A tag of TIFF 6.0."""
_DEFLATE = (8, 32946)
"""Values of its tag Compression."""
_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4,
               16: 8, 17: 8, 18: 8}  # fmt: skip
"""Bytes of a value by its type; 16 … 18 are BigTIFF's."""

_KEPT = 3
"""Messages of libtiff that are repeated word by word; the others are counted."""


def found(file: BinaryIO, image: Image.Image, said: list[str]) -> tuple[str, ...]:
    """Return a sentence for each kind of damage of a seekable file; none where nothing shows any.

    `image` is the same as Pillow has decoded it, `said` what `libtiff_errors` gave meanwhile.
    """
    check = _CHECKS.get(image.format or "")
    file.seek(0)
    return (*listed(said), *(check(file, image) if check else ()))


# JPEG


def jpeg_bytes(file: BinaryIO, image: Image.Image) -> bytes:
    """Return the bytes of a JPEG file, but not all that may follow its picture."""
    file.seek(0)
    return file.read(_jpeg_limit(image))


def _jpeg_limit(image: Image.Image) -> int:
    return _JPEG_REST + _JPEG_BYTES * image.width * image.height


def _jpeg(file: BinaryIO, image: Image.Image) -> list[str]:
    data = jpeg_bytes(file, image)
    said = _libjpeg(data, "CMYK" if image.mode == "CMYK" else "GRAY")
    if said is None or (len(data) == _jpeg_limit(image) and said.startswith("Premature")):
        return []
    return [said]


def _libjpeg(data: bytes, colours: str = "GRAY") -> str | None:
    """Return the last warning of libjpeg, which decodes at 1/8 of the size; None: none."""
    import simplejpeg  # which only JPEGs need

    try:
        simplejpeg.decode_jpeg(
            data, colours, fastdct=True, fastupsample=True, min_height=1, min_width=1, min_factor=8
        )
    except ValueError as error:
        text = str(error)
        return f"libjpeg: {text}" if text.startswith(_LIBJPEG_WARNINGS) else None
    return None


# PNG


class _Inflated:
    """A zlib stream (RFC 1950), decompressed to check it; more than `most` bytes are too many."""

    def __init__(self, most: int) -> None:
        self.size = 0
        self.error: str | None = None
        self._most = most
        self._stream = zlib.decompressobj()

    @property
    def ended(self) -> bool:
        """Return whether nothing more is read: it is complete, or wrong."""
        return self.error is not None or self._stream.eof

    @property
    def surplus(self) -> bool:
        """Return whether bytes followed the end of the stream."""
        return bool(self._stream.unused_data)

    def feed(self, data: bytes) -> None:
        """Decompress further bytes."""
        while not self.ended:
            before = self.size
            try:
                self.size += len(self._stream.decompress(data, _PIECE))
            except zlib.error as error:
                self.error = str(error).rpartition(": ")[2]
                return
            if self.size > self._most:
                self.error = "more data than pixels"
            data = self._stream.unconsumed_tail
            if not data and self.size - before < _PIECE:
                return


def _png(file: BinaryIO, image: Image.Image) -> list[str]:
    """Walk the chunks: length, name, data, CRC (PNG specification, 5.3)."""
    file.seek(8)
    wrong: Counter[str] = Counter()
    pixels, expected, ending, surplus = _Inflated(0), 0, None, False
    while ending is None:
        head = file.read(8)
        length, name = int.from_bytes(head[:4], "big"), head[4:]
        if not (len(name) == 4 and name.isascii() and name.isalpha()):
            ending = "" if len(head) == 8 else "it ends before its last chunk, IEND"
            ending = ending or "bytes that are no chunk stand before its last chunk, IEND"
            break
        crc, first = zlib.crc32(name), b""
        for data in _pieces(file, length):
            crc = zlib.crc32(data, crc)
            first = first or data
            length -= len(data)
            if name == b"IDAT":
                surplus |= pixels.ended
                pixels.feed(data)
        check = file.read(4)
        if length or len(check) < 4:
            ending = f"it ends within a chunk {name.decode()}"
        elif int.from_bytes(check, "big") != crc:
            wrong[name.decode()] += 1
        elif name == b"IEND":
            break
        if name == b"IHDR" and len(first) == 13:
            expected = _png_size(first)
            pixels = _Inflated(expected)
    texts = [f"the checksum of its chunk {name} is wrong" for name in wrong]
    if pixels.error:
        texts.append(f"its compressed pixel data are wrong ({pixels.error})")
    elif not pixels.ended or pixels.size < expected:
        texts.append(f"its compressed pixel data end early (at {pixels.size} of {expected} bytes)")
    elif surplus or pixels.surplus:
        texts.append("bytes follow the end of its compressed pixel data")
    return [*texts, ending] if ending else texts


def _png_size(header: bytes) -> int:
    """Return how many bytes the filtered rows of an image have, by its chunk IHDR."""
    width, height = (int.from_bytes(header[at : at + 4], "big") for at in (0, 4))
    bits = header[8] * _CHANNELS.get(header[9], 4)
    passes = _ADAM7 if header[12] else ((0, 0, 1, 1),)
    total = 0
    for x, y, across, down in passes:
        columns, rows = -(-(width - x) // across), -(-(height - y) // down)
        if columns > 0 and rows > 0:
            total += rows * (1 + (columns * bits + 7) // 8)
    return total


def _pieces(file: BinaryIO, length: int) -> Iterator[bytes]:
    """Yield the next `length` bytes of a file, or those that are there."""
    while length and (data := file.read(min(length, _PIECE))):
        length -= len(data)
        yield data


# TIFF


def _tiff(file: BinaryIO, image: Image.Image) -> list[str]:
    return tiff(file, getattr(image, "tag_v2", {}), image.width, image.height)


def tiff(file: BinaryIO, tags: Any, width: int, height: int) -> list[str]:
    """Return a sentence for each kind of damage of a TIFF file, with its first directory's tags."""
    size = file.seek(0, 2)
    if not _whole_directory(file, size):
        return ["it ends within its directory of tags, or within their values"]
    kind = tags.get(COMPRESSION)
    if kind not in (*_DEFLATE, JPEG):
        return []
    places = (OFFSETS, COUNTS), (TILE_OFFSETS, TILE_COUNTS)
    parts = next(((tags[a], tags[b]) for a, b in places if a in tags and b in tags), ())
    tables = bytes(tags.get(_JPEG_TABLES, b""))
    most = 64 * width * height + _PIECE  # of all samples that libtiff reads
    texts: Counter[str] = Counter()
    for offset, length in zip(*parts, strict=False):
        file.seek(offset)
        if not length:
            continue  # a tile that was never written
        if kind == JPEG:
            data = file.read(min(length, size))
            whole = tables[:-2] + data[2:] if tables else data  # TIFF Technical Note 2
            if said := _libjpeg(whole):
                texts[said] += 1
            continue
        stream = _Inflated(most)
        for data in _pieces(file, length):
            stream.feed(data)
        if not stream.ended or stream.error:
            texts[f"its compressed data are wrong ({stream.error or 'they end early'})"] += 1
    return [f"{text}, in {count} of its parts" for text, count in texts.items()]


def _whole_directory(file: BinaryIO, size: int) -> bool:
    """Return whether the first directory, and all values that it names, lie within the file."""
    file.seek(0)
    head = file.read(16)
    order: Any = "little" if head[:2] == b"II" else "big"
    big = int.from_bytes(head[2:4], order) == 43
    word, counter, entry = (8, 8, 20) if big else (4, 2, 12)
    start = int.from_bytes(head[8:16] if big else head[4:8], order)
    file.seek(start)
    entries = int.from_bytes(file.read(counter), order)
    if start + counter + entry * entries + word > size:
        return False
    for data in (file.read(entry) for _ in range(entries)):
        each = _TYPE_BYTES.get(int.from_bytes(data[2:4], order), 0)
        length = each * int.from_bytes(data[4 : 4 + word], order)
        if length > word and int.from_bytes(data[4 + word :], order) + length > size:
            return False
    return True


_CHECKS: dict[str, Callable[[BinaryIO, Image.Image], list[str]]] = {
    "JPEG": _jpeg, "MPO": _jpeg, "PNG": _png, "TIFF": _tiff,
}  # fmt: skip


# What libtiff says while it decodes. Its error handler is a global of the process, so the first of
# several concurrent blocks sets ours and the last one restores the one before. Each thread
# collects its own messages; what libtiff says in other threads goes to the handler before.

_lock = process.lock()
_listeners = 0
_before: int | None = None
_thread = threading.local()
_Handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
_LONGEST = 300  # bytes of a message


def _collect(module: bytes | None, form: bytes | None, values: int | None) -> None:
    said: list[str] | None = getattr(_thread, "said", None)
    if said is None:
        if _before:
            _Handler(_before)(module, form, values)
        return
    text = ctypes.create_string_buffer(_LONGEST)
    ctypes.pythonapi.PyOS_vsnprintf(
        text, ctypes.c_size_t(_LONGEST), ctypes.c_char_p(form or b""), ctypes.c_void_p(values)
    )
    where = (module or b"libtiff").decode(errors="replace")
    said.append(f"{where}: {text.value.decode(errors='replace')}")


_handle = _Handler(_collect)


def _set_handler(handler: int | None) -> int | None:
    """Set libtiff's error handler; return the one before, None if this libtiff has none."""
    # Symbols are looked up in Pillow's own module and the libraries that it has loaded.
    with suppress(OSError, AttributeError):
        libtiff: Any = ctypes.CDLL(_imaging.__file__)
        libtiff.TIFFSetErrorHandler.restype = ctypes.c_void_p
        libtiff.TIFFSetErrorHandler.argtypes = [ctypes.c_void_p]
        before: int | None = libtiff.TIFFSetErrorHandler(handler)
        return before
    return None


@contextmanager
def libtiff_errors() -> Iterator[list[str]]:
    """Yield a list to which libtiff's errors of this thread are added while the block runs."""
    global _listeners, _before
    outer: list[str] | None = getattr(_thread, "said", None)
    said: list[str] = []
    with _lock:
        if not _listeners:
            _before = _set_handler(ctypes.cast(_handle, ctypes.c_void_p).value)
        _listeners += 1
    _thread.said = said
    try:
        yield said
    finally:
        _thread.said = outer
        with _lock:
            _listeners -= 1
            if not _listeners:
                _set_handler(_before)


def listed(said: list[str]) -> list[str]:
    """Return the first messages, and how many there are besides them."""
    more = len(said) - _KEPT
    return [*said[:_KEPT], f"and {more} more errors of libtiff"] if more > 0 else said
