"""How large a result is to be, and which magnifications in a row reach it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

from snellen.errors import InputError, quoted
from snellen.frames import values
from snellen.upscaling.shipped import FITS, SCALES

SIZES = {
    "720p": (1280, 720), "1080p": (1920, 1080), "1440p": (2560, 1440), "2160p": (3840, 2160),
    "4k": (3840, 2160), "8k": (7680, 4320),
}  # fmt: skip
"""Width and height by name."""
LARGEST = 65535
"""Pixels of a side at most."""
MOST = 16
"""Magnification at most: two of 4 in a row."""

_WHOLE = (Fraction(1), Fraction(1))
_SIZE = re.compile(r"(\d{1,5})[x×](\d{1,5})")
_NEARLY = Fraction(99, 100)
"""A magnification reaches what it misses by so little, since sizes are rounded to even numbers."""

_ROWS = sorted(
    [(s,) for s in SCALES] + [(s, t) for s in SCALES for t in SCALES if s <= t],
    key=lambda scales: (prod(scales), len(scales)),
)
"""One magnification or two in a row, by their product."""


@dataclass(frozen=True, slots=True)
class Target:
    """A user's request: one of the first three."""

    scale: Fraction | None = None
    """Magnification, above 1 and at most MOST."""
    height: int | None = None
    """Rows of the picture as it is shown."""
    box: tuple[int, int] | None = None
    """Width and height that the picture is to fit, as it is shown."""
    fit: str | None = None
    """How it fits the box: "pad" with black, "crop" what is beyond it, "stretch"; None: the largest
    picture inside it."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Sizes of one picture on its way; all as stored, before a rotation."""

    scales: tuple[int, ...]
    """Magnifications in a row."""
    width: int
    height: int
    """Rows of the result."""
    inner: tuple[int, int]
    """Width and height of the picture in it; the rest is black."""
    part: tuple[Fraction, Fraction]
    """Share of the width and height of the source that is shown, around its centre."""
    square: bool
    """The result has square pixels, whatever those of the source are."""
    plain: bool
    """The magnifications alone give the result."""


def target(scale: object, size: object = None, height: object = None, fit: object = None) -> Target:
    """Return what options ask for; InputError: they do not exist, or do not go together.

    Parameters
    ----------
    scale : number or None
        None: 2, where neither `size` nor `height` is given.
    size : str, pair of int or None
        "WxH", (W, H), or one of SIZES.
    height : int or None
    fit : str or None
    """
    if size is not None and height is not None:
        raise InputError("got `size` and `height`; give one of them", parameter="height")
    if fit is not None:
        values.choice("fit", fit, FITS, ", or None")
        if size is None:
            raise InputError("`fit` needs a `size` to fit", parameter="fit")
    if scale is not None and not (size is None and height is None):
        raise InputError(
            f"got `scale`={quoted(scale)} and a size; give one of them", parameter="scale"
        )
    factor = 2 if scale is None else values.number(scale)
    if factor is None or not 1 < factor <= MOST:
        raise InputError(
            f"got `scale`={quoted(scale)}; expected 2, 3, 4, or any number above 1 up to {MOST}",
            parameter="scale",
        )
    if size is None and height is None:
        return Target(scale=Fraction(str(scale)) if isinstance(scale, float) else Fraction(factor))
    if height is not None:
        return Target(height=values.whole("height", height, 1, LARGEST))
    return Target(box=_box(size), fit=None if fit is None else str(fit))


def text_of(size: Any) -> Any:
    """Return a pair of whole numbers as "WxH", and anything else as it is."""
    if isinstance(size, tuple | list) and len(size) == 2:
        pair = [values.number(side) for side in size]
        if all(side is not None and side == int(side) for side in pair):
            return "x".join(str(int(side)) for side in pair if side is not None)
    return size


def _box(size: object) -> tuple[int, int]:
    """Return width and height of a size."""
    text = text_of(size)
    word = text.lower() if isinstance(text, str) else ""
    match = _SIZE.fullmatch(word)
    box = (int(match[1]), int(match[2])) if match else SIZES.get(word, (0, 0))
    if not all(0 < side <= LARGEST for side in box):
        raise InputError(
            f"got `size`={quoted(size)}; expected WIDTHxHEIGHT up to {LARGEST}, or one of "
            f"{', '.join(SIZES)}",
            parameter="size",
        )
    return box


def geometry(
    wanted: Target,
    width: int,
    height: int,
    *,
    pixel: Fraction = Fraction(1),
    turned: bool = False,
    unit: tuple[int, int] = (1, 1),
    scales: tuple[int, ...] = SCALES,
) -> Geometry:
    """Return the sizes for a picture; InputError: it is that large already, or would be too large.

    Parameters
    ----------
    width, height : int
        Of the source, as stored.
    pixel : Fraction
        Width of a stored pixel by its height.
    turned : bool
        Whether the picture is shown turned by 90°.
    unit : (int, int)
        Width and height of the inner picture, and of the result, are multiples of this: of 4:2:0
        (2, 2). A box that a user gives stays as it is.
    scales : sequence of int
        Magnifications that there are models for.
    """

    def checked(
        inner: tuple[int, int], result: tuple[int, int], part: tuple[Fraction, Fraction] = _WHOLE
    ) -> Geometry:
        return _checked(wanted, (width, height), inner, result, part, scales, unit, turned)

    if wanted.scale is not None:
        inner = _rounded(width * wanted.scale, height * wanted.scale, unit)
        if wanted.scale in SCALES:
            inner = (width * int(wanted.scale), height * int(wanted.scale))
        return checked(inner, inner)
    shown = (width * pixel, Fraction(height))
    if wanted.box is None:
        rows = wanted.height or 1
        factor = Fraction(rows) / shown[0 if turned else 1]
        inner = _rounded(shown[0] * factor, shown[1] * factor, unit)
        # The side that was asked for is not rounded.
        inner = (rows, inner[1]) if turned else (inner[0], rows)
        return checked(inner, inner)
    box = (wanted.box[1], wanted.box[0]) if turned else wanted.box
    ratios = (box[0] / shown[0], box[1] / shown[1])
    if wanted.fit == "stretch":
        return checked(box, box)
    if wanted.fit == "crop":
        factor = max(ratios)
        part = (box[0] / (shown[0] * factor), box[1] / (shown[1] * factor))
        return checked(box, box, part)
    factor = min(ratios)
    exact = _rounded(shown[0] * factor, shown[1] * factor, unit)
    inner = (min(exact[0], box[0]), min(exact[1], box[1]))
    return checked(inner, box if wanted.fit else inner)


def _rounded(across: Fraction, down: Fraction, unit: tuple[int, int]) -> tuple[int, int]:
    """Return the nearest multiples of the unit, at least one."""
    both = (max(u, round(x / u) * u) for x, u in zip((across, down), unit, strict=True))
    return tuple(both)  # type: ignore[return-value]


def _checked(
    wanted: Target,
    source: tuple[int, int],
    inner: tuple[int, int],
    result: tuple[int, int],
    part: tuple[Fraction, Fraction],
    scales: tuple[int, ...],
    unit: tuple[int, int],
    turned: bool,
) -> Geometry:
    def shown(size: Sequence[int]) -> str:
        return f"{size[turned]}×{size[not turned]}"

    ratio = max(inner[n] / (source[n] * part[n]) for n in range(2))
    name, value = (
        ("size", f"{wanted.box[0]}x{wanted.box[1]}") if wanted.box
        else ("height", f"{wanted.height}") if wanted.height
        else ("scale", f"{float(wanted.scale or 0):.9g}")
    )  # fmt: skip
    got = f"`{name}`={value} makes {shown(result)} of a picture of {shown(source)}"
    if ratio <= 1:
        raise InputError(f"{got}; expected a larger one", parameter=name)
    rows = [row for row in _ROWS if set(row) <= set(scales)]
    most = prod(rows[-1])
    if ratio * _NEARLY > most or max(result) > LARGEST:
        factor = min(most / ratio, Fraction(LARGEST, max(result)))
        largest = [int(side * factor) // u * u for side, u in zip(result, unit, strict=True)]
        raise InputError(
            f"{got}; expected at most {shown(largest)}: {most} times as large, and up to {LARGEST} "
            "pixels a side",
            parameter=name,
        )
    row = next(row for row in rows if prod(row) >= ratio * _NEARLY)
    plain = inner == result == tuple(side * prod(row) for side in source) and prod(part) == 1
    return Geometry(row, *result, inner, part, wanted.scale is None, plain)
