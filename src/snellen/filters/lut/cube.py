"""Reads .cube files: colour look-up tables, by Adobe's Cube LUT Specification 1.0 (2013).

Also the input ranges that DaVinci Resolve writes: LUT_1D_INPUT_RANGE and LUT_3D_INPUT_RANGE. The
rows of a 1D table are shades; those of a 3D table are colours, red changing fastest.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, quoted
from snellen.files import opening

LARGEST = {1: 65536, 3: 256}
"""Greatest size of a table, by its dimensions (of the specification)."""
_LEAST_ROW = 6
"""Bytes of the shortest row: three digits, two spaces and the end of the line."""
_LONGEST = 4096
"""Most bytes of a line; the specification has 250."""
_MOST_BYTES = 1 << 30
"""A table of 256³ colours, six decimals each, has half as many."""
_PIECE = 1 << 20
"""Bytes that are read at once."""
_GREATEST = 1e6
"""Greatest magnitude of a number; black is 0 and white 1."""

_LETTERS = re.compile(rb"[A-Za-z_]")
_NUMBERS = ("inf", "nan", "infinity")

Float32 = npt.NDArray[np.float32]
Three = tuple[float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """A colour look-up table."""

    table: Float32
    """(N, 3): a curve for each of red, green, blue; or (N, N, N, 3): the colours by blue, green and
    red. Black is 0 and white 1."""
    low: Three = (0.0, 0.0, 0.0)
    """Red, green and blue of the first entries."""
    high: Three = (1.0, 1.0, 1.0)
    """Red, green and blue of the last ones."""

    @property
    def size(self) -> int:
        """Entries along each axis."""
        return len(self.table)

    @property
    def dimensions(self) -> int:
        """1 or 3."""
        return self.table.ndim - 1


def load(path: Path) -> Cube:
    """Read a .cube file.

    Raises
    ------
    InputError
        It cannot be read, or is no such file; the message names the line.
    """
    with opening.opened(path, _MOST_BYTES) as file:
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            return _Reader(str(path), size).read(file)
        except OSError as error:
            raise opening.unreadable(path, error) from error


@dataclass(slots=True)
class _Reader:
    """A reader knows a file up to the line that is read."""

    name: str
    length: int
    line: int = 0
    sizes: dict[int, int] = field(default_factory=dict)
    low: Three = (0.0, 0.0, 0.0)
    high: Three = (1.0, 1.0, 1.0)

    def read(self, file: BinaryIO) -> Cube:
        if self.length > _MOST_BYTES:
            raise self._error(
                f"the file has more than {_MOST_BYTES:,} bytes, which no such file needs"
            )
        lines = self._lines(file)
        first = self._header(lines)
        if not self.sizes:
            raise self._error("no LUT_1D_SIZE or LUT_3D_SIZE comes before the numbers")
        if len(self.sizes) > 1:
            raise self._error(
                "the file has a 1D and a 3D table; expected one of them",
                advice="export the 3D table alone",
            )
        ((dimensions, size),) = self.sizes.items()
        rows = size**dimensions
        if self.length < rows * _LEAST_ROW - 1:
            raise self._error(
                f"the file is too short for the {rows:,} rows of a table of size {size}"
            )
        for one, other in zip(self.low, self.high, strict=True):
            if not one < other:
                raise self._error("the domain's end is not above its beginning")
        table = self._rows(rows, first, lines)
        return Cube(table.reshape(*(size,) * dimensions, 3), self.low, self.high)

    def _lines(self, file: BinaryIO) -> Iterator[list[bytes]]:
        """Yield the lines, many at a time, whatever ends them."""
        rest = b""
        while piece := file.read(_PIECE):
            if piece.endswith(b"\r"):  # perhaps half of an end
                piece += file.read(1)
            lines = (rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            rest = lines.pop()
            if len(rest) > _LONGEST:
                self.line += len(lines) + 1
                raise self._error(f"the line has more than {_LONGEST} bytes")
            if lines:
                yield lines
        yield [rest]

    def _header(self, pieces: Iterator[list[bytes]]) -> list[bytes]:
        """Read up to the first row of numbers; return the lines from there on that are at hand."""
        for lines in pieces:
            if self.line == 0:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            for number, line in enumerate(lines):
                words = line.partition(b"#")[0].split()
                if words and not _LETTERS.match(words[0]):
                    return lines[number:]
                self.line += 1
                if words:
                    self._keyword(words[0].upper(), words[1:])
        return []

    def _keyword(self, word: bytes, values: list[bytes]) -> None:
        if word == b"TITLE":
            return
        if word in (b"LUT_1D_SIZE", b"LUT_3D_SIZE"):
            dimensions = int(word[4:5])
            if dimensions in self.sizes:
                raise self._error(f"a second {word.decode()}")
            text = values[0].decode("ascii", "replace") if len(values) == 1 else ""
            most = LARGEST[dimensions]
            if not (text.isascii() and text.isdigit() and len(text) < 9 and 2 <= int(text) <= most):
                raise self._error(f"got {_shown(word, values)}; expected a size of 2 to {most}")
            self.sizes[dimensions] = int(text)
        elif word in (b"DOMAIN_MIN", b"DOMAIN_MAX"):
            red, green, blue = self._numbers(values, 3, _shown(word, values))
            if word == b"DOMAIN_MIN":
                self.low = red, green, blue
            else:
                self.high = red, green, blue
        elif word in (b"LUT_1D_INPUT_RANGE", b"LUT_3D_INPUT_RANGE"):
            low, high = self._numbers(values, 2, _shown(word, values))
            self.low, self.high = (low, low, low), (high, high, high)
        else:
            raise self._error(
                f"got {_shown(word, values)}; expected TITLE, LUT_1D_SIZE, LUT_3D_SIZE, "
                "DOMAIN_MIN, DOMAIN_MAX, or three numbers"
            )

    def _rows(self, count: int, lines: list[bytes], more: Iterator[list[bytes]]) -> Float32:
        """Return the rows of the table."""
        table = np.empty((count, 3), np.float32)
        done = 0
        while True:
            fast = self._fast(lines)
            found = np.array([*self._slow(lines)]).reshape(-1, 3) if fast is None else fast
            if done + len(found) > count:
                raise self._error(f"there are more than {count:,} rows of numbers")
            table[done : done + len(found)] = found
            done += len(found)
            self.line += len(lines)
            lines = next(more, [])
            if not lines:
                break
        if done < count:
            raise self._error(f"the file ends after {done:,} of {count:,} rows of numbers")
        return table

    def _fast(self, lines: list[bytes]) -> npt.NDArray[np.float64] | None:
        """Return the rows of lines without any fault; None: they are to be read one by one."""
        text = b"\n".join(lines)
        if not text.strip() or b"#" in text or not text.isascii():
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = np.loadtxt(io.BytesIO(text), np.float64, ndmin=2, encoding="ascii")
        except (ValueError, Warning):
            return None
        fine = found.shape[1] == 3 and bool((np.abs(found) <= _GREATEST).all())
        return found if fine else None

    def _slow(self, lines: list[bytes]) -> Iterator[list[float]]:
        before = self.line
        for number, line in enumerate(lines, 1):
            words = line.partition(b"#")[0].split()
            if words:
                self.line = before + number
                yield self._numbers(words, 3, _shown(words[0], words[1:]))
        self.line = before

    def _numbers(self, words: list[bytes], count: int, shown: str) -> list[float]:
        values = [_number(word) for word in words[: count + 1]]
        found = [value for value in values if value is not None]
        if len(values) != count or len(found) != count:
            raise self._error(f"got {shown}; expected {'two' if count == 2 else 'three'} numbers")
        for value in found:
            if not abs(value) <= _GREATEST:
                raise self._error(f"got {shown}; expected numbers, white being 1")
        return found

    def _error(self, what: str, *, advice: str | None = None) -> InputError:
        where = f", line {self.line}" if self.line else ""
        return InputError(f"{self.name}{where}: {what}", parameter="lut", advice=advice)


def _number(word: bytes) -> float | None:
    """Return a number as the file has it; None: it is none."""
    text = word.decode("ascii", "replace")
    if "_" in text or text.lower().lstrip("+-") in _NUMBERS:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _shown(word: bytes, values: list[bytes]) -> str:
    """Return the words of a line for a message."""
    return quoted(b" ".join([word, *values])[:60].decode("utf-8", "replace"))
