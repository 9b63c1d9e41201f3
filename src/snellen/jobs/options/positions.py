"""Positions of the region of a deblurring job: a fixed one, or one for each frame."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import items
from snellen.jobs.options.fields import check_types

if TYPE_CHECKING:
    from snellen.video.steps.track import Track
else:
    # For `typing.get_type_hints`; its module takes long to import.
    Track = Any

_WHOLE = re.compile(r"-?\d{1,9}")
_MOST_BYTES = 16 << 20
"""The limit of a file of positions: enough for ten million frames."""
FARTHEST = 10**9
"""Greatest number of a region or a position, pixels."""
MANY = 10**7
"""Positions at most: more frames than any video has."""
_SHOWN = 60
"""Characters of a wrong line that are shown."""


@dataclass(frozen=True, slots=True, repr=False)
class Region(Brief):
    """A rectangle of a picture, or of each frame of a video.

    Raises
    ------
    InputError
        An empty region, or positions that are no pairs of whole numbers.
    """

    width: int
    """Columns, pixels."""
    height: int
    """Rows, pixels."""
    x: int = 0
    """First column; without effect where there are positions."""
    y: int = 0
    """First row; without effect where there are positions."""
    positions: Path | tuple[tuple[int, int], ...] | None = None
    """First column and row in each frame of a video: a text file with a line "X,Y" for each, or
    the numbers. None: (x, y) in all of them."""

    def __post_init__(self) -> None:
        if self.positions is not None and not isinstance(self.positions, Path):
            object.__setattr__(self, "positions", _pairs(self.positions))
        check_types(self)
        for name in ("width", "height", "x", "y"):
            if abs(getattr(self, name)) > FARTHEST:
                raise InputError(
                    f"got `region` with {name} {quoted(getattr(self, name))}; expected at most "
                    f"{FARTHEST:,} pixels",
                    parameter="region",
                )
        if self.width < 1 or self.height < 1:
            raise InputError(
                f"got `region`={self.x},{self.y},{self.width},{self.height}: the region is empty; "
                "W and H are 1 or more",
                parameter="region",
            )

    @classmethod
    def of(cls, region: Any, positions: Any = None) -> Region | None:
        """Return the region that a caller names; None: whole frames.

        Parameters
        ----------
        region : str, sequence of int, Region or None
            "X,Y,W,H" or (x, y, width, height); with positions (width, height) will do.
        positions : str, Path, sequence of pairs or None
            As `Region.positions`.

        Raises
        ------
        InputError
            Not so many whole numbers, an empty region, or positions without a region.
        """
        if isinstance(region, Region):
            return region
        if region is None:
            if positions is not None:
                raise InputError(
                    "`positions` says where the region is, not how large; add `region` W,H",
                    parameter="positions",
                )
            return None
        numbers = _numbers(region) if isinstance(region, str) else _integers(region)
        if len(numbers) not in ((4,) if positions is None else (2, 4)):
            wanted = "X,Y,W,H, as 100,40,128,128" if positions is None else "W,H, as 128,128"
            if positions is None and len(numbers) == 2:
                wanted += "; W,H alone goes with `positions`"
            raise InputError(
                f"got `region`={quoted(region, str)}; expected whole numbers {wanted}",
                parameter="region",
            )
        x, y = numbers[:2] if len(numbers) == 4 else (0, 0)
        if isinstance(positions, str):
            positions = Path(positions)
        return cls(numbers[-2], numbers[-1], x, y, positions)

    def track(self) -> Track:
        """Return the positions of all frames, read from their file where there is one.

        Raises
        ------
        InputError
            A file that cannot be read, or without a position.
        """
        from snellen.video.steps.track import Track

        if self.positions is None:
            return Track(self.width, self.height, ((self.x, self.y),))
        if isinstance(self.positions, Path):
            places, lines = _read(self.positions)
            return Track(self.width, self.height, places, str(self.positions), lines)
        lines = tuple(range(1, len(self.positions) + 1))
        return Track(self.width, self.height, self.positions, "positions", lines)


def _read(file: Path) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return the positions of a file, and the number of the line of each."""
    places, lines = [], []
    rows = _text(file).rstrip().splitlines()
    for line, text in enumerate(rows, 1):
        if text.lstrip().startswith("#"):
            continue
        numbers = _numbers(text)
        if len(numbers) != 2:
            got = f"{text.strip()[:_SHOWN]!r}" if text.strip() else "an empty line"
            raise InputError(
                f"{file} line {line}: got {got}; expected X,Y in whole pixels, as 100,40",
                parameter="positions",
            )
        places.append((numbers[0], numbers[1]))
        lines.append(line)
    if not places:
        raise InputError(
            f"{file} has no position; expected a line X,Y for each frame", parameter="positions"
        )
    return tuple(places), tuple(lines)


def _text(file: Path) -> str:
    try:
        from snellen.files.opening import contents

        return contents(file, _MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is no text; expected a line X,Y for each frame", parameter="positions"
        ) from error
    except InputError as error:
        raise InputError(error.message, parameter="positions", advice=error.advice) from error


def _numbers(text: str) -> list[int]:
    """Return whole numbers between commas or spaces; nothing where one is none."""
    words = re.split(r"\s*,\s*|\s+", text.strip())
    return [int(word) for word in words] if all(map(_WHOLE.fullmatch, words)) else []


def _integers(values: Any) -> list[int]:
    """Return whole numbers of a sequence; nothing where one is none."""
    from operator import index

    try:
        found = [index(value) for value in values] if len(values) <= 4 else []
    except Exception:  # of any library
        return []
    return found if all(abs(value) <= FARTHEST for value in found) else []


def _pairs(positions: Any) -> tuple[tuple[int, int], ...]:
    if isinstance(positions, str) or not isinstance(positions, Iterable):
        raise InputError(
            f"got `positions`={quoted(positions)}; expected a Path, or (x, y) for each frame",
            parameter="positions",
        )
    found = []
    for number, position in enumerate(items("positions", positions, MANY)):
        pair = _integers(position)
        if len(pair) != 2:
            raise InputError(
                f"got `positions`[{number}]={quoted(position)}; expected (x, y) in whole pixels",
                parameter="positions",
            )
        found.append((pair[0], pair[1]))
    if not found:
        raise InputError(
            "got no `positions`; expected (x, y) for each frame", parameter="positions"
        )
    return tuple(found)
