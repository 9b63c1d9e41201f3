"""Sizes and places in EXIF: they follow the pixels when a picture is enlarged, turned or cut."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from fractions import Fraction
from typing import Any

from PIL import ExifTags, Image
from PIL.TiffImagePlugin import IFDRational

from snellen.frames.still_value import Mapping

_WIDTH, _HEIGHT = 40962, 40963
_RELATED_WIDTH, _RELATED_HEIGHT = 4097, 4098
"""Tags of the Interoperability IFD."""
_AREA, _LOCATION = 37396, 41492
_DENSITIES = (41486, 41487)
"""Pixels of a unit of the sensor, across and down."""
_UNIT = 1 << 15
_LARGEST = 65535
"""The greatest place, which has 16 bits (EXIF 3.0, 4.6.6)."""

# GeoTIFF (OGC 19-008): size of a pixel on the ground, points of the raster with theirs on the
# ground, the matrix from one to the other, and the directory of keys.
_PIXEL, _POINTS, _MATRIX, _KEYS = 33550, 33922, 34264, 34735
_RASTER_TYPE, _IS_POINT = 1025, 2

_Tags = MutableMapping[int, Any]


def mended(block: bytes, mapping: Mapping) -> bytes:
    """Return an EXIF block that speaks of the result; what cannot be mended is removed."""
    exif = Image.Exif()
    exif.load(block)
    details = exif.get_ifd(ExifTags.IFD.Exif)
    related = details.get(ExifTags.IFD.Interop)
    if not isinstance(related, dict):
        related = exif.get_ifd(ExifTags.IFD.Interop) if related else {}
    changes = [
        _replace(details, _WIDTH, lambda _: mapping.width),
        _replace(details, _HEIGHT, lambda _: mapping.height),
        _replace(related, _RELATED_WIDTH, lambda _: mapping.width),
        _replace(related, _RELATED_HEIGHT, lambda _: mapping.height),
        _replace(details, _AREA, lambda old: _area(old, mapping)),
        _replace(details, _LOCATION, lambda old: _area(old, mapping)),
        *_denser(details, mapping),
        *_on_ground(exif, mapping),
    ]
    return exif.tobytes() if any(changes) else block


def _replace(tags: _Tags, tag: int, new: Callable[[Any], Any]) -> bool:
    """Replace a value, if there is one, or remove it (None); return whether it changes."""
    if tag not in tags:
        return False
    old = tags[tag]
    try:
        value = new(old)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        value = None  # it is not what it should be
    if value is None:
        del tags[tag]
    elif value != old:
        tags[tag] = value
    return bool(value != old)


def _area(old: Any, mapping: Mapping) -> tuple[int, ...] | None:
    """Return a point, a circle or a rectangle around it; None: it lies outside."""
    x, y, *size = (float(one) for one in old)
    place = mapping.point(x, y)
    if not (0 <= place[0] <= mapping.width and 0 <= place[1] <= mapping.height):
        return None
    found = tuple(round(one) for one in (*place, *mapping.extent(size)))
    return found if max(found) <= _LARGEST else None


def _denser(details: _Tags, mapping: Mapping) -> list[bool]:
    """Let as many pixels more lie on the sensor as there are more."""
    swapped = False
    if mapping.transposes:
        old = [details.pop(tag, None) for tag in _DENSITIES]
        swapped = old[0] != old[1]
        for tag, value in zip(_DENSITIES, reversed(old), strict=True):
            if value is not None:
                details[tag] = value

    def times(factor: float) -> Callable[[Any], Any]:
        def new(old: Any) -> IFDRational | None:
            value = float(old) * factor
            most = _UNIT if value < _UNIT else 1  # of 32 bits each
            return IFDRational(Fraction(value).limit_denominator(most)) if value > 0 else None

        return new if factor != 1 else lambda old: old

    pairs = zip(_DENSITIES, mapping.factors, strict=True)
    return [swapped, *(_replace(details, tag, times(factor)) for tag, factor in pairs)]


def _on_ground(exif: _Tags, mapping: Mapping) -> list[bool]:
    """Let the pixels of a GeoTIFF stay where they are on the ground."""
    if not {_PIXEL, _POINTS, _MATRIX} & set(exif):
        return []
    if mapping.origin.orientation != 1:
        return [_replace(exif, tag, lambda _: None) for tag in (_PIXEL, _POINTS, _MATRIX)]
    across, down = mapping.factors
    keys = exif.get(_KEYS)
    keys = keys if isinstance(keys, tuple) else ()
    entries = [tuple(keys[n : n + 4]) for n in range(4, len(keys), 4)]
    half = 0.5 if (_RASTER_TYPE, 0, 1, _IS_POINT) in entries else 0.0  # to a pixel's corner

    def points(old: Any) -> tuple[float, ...]:
        found: list[float] = []
        for n in range(0, len(old), 6):
            i, j, *rest = (float(one) for one in old[n : n + 6])
            x, y = mapping.point(i + half, j + half)
            found += (x - half, y - half, *rest)
        return tuple(found)

    def matrix(old: Any) -> tuple[float, ...]:
        rows = [[float(one) for one in old[n : n + 4]] for n in range(0, 16, 4)]
        left, top = mapping.origin.part[:2]
        for row in rows[:3]:
            row[3] += row[0] * (left + half / across - half) + row[1] * (top + half / down - half)
            row[0], row[1] = row[0] / across, row[1] / down
        return tuple(one for row in rows for one in row)

    return [
        _replace(exif, _PIXEL, lambda old: (old[0] / across, old[1] / down, *old[2:])),
        _replace(exif, _POINTS, points),
        _replace(exif, _MATRIX, matrix),
    ]
