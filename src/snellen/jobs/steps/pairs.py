"""Finds pairs of image files to compare, and reads their luma, or their colours, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.files.kinds import is_image, is_known, names_unread
from snellen.frames import white
from snellen.frames.axes import NOT_FINITE, REPLACE
from snellen.frames.frame import Format
from snellen.mad.luma import luma
from snellen.metrics.colours import Picture, of_rgb
from snellen.metrics.registry import check_size
from snellen.stills.still import header, read
from snellen.video.comparing.differences import scaled, unequal
from snellen.video.comparing.luma_reader import WHITE, grey
from snellen.video.comparing.resize import resize

Warn = Callable[[str, str], None]
"""Called with the name of the file or folder that a warning is about, and the warning."""

_LISTED = 10
"""Names in one message."""


@dataclass(frozen=True, slots=True)
class Plane:
    """The luma of an image."""

    samples: npt.NDArray[Any]
    """(H, W): uint8, uint16, or float64 of 16-bit colours, 0 … 65535, and of floats, 0 … WHITE."""
    bits: int
    """Bits of a sample; 0: floats."""
    pixels: npt.NDArray[Any]
    """(H, W) or (H, W, 3): the image without its alpha channel."""
    white: float
    """Value of white of `pixels`."""
    damage: tuple[str, ...] = ()
    """Damages of the file, one sentence each."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two planes that a Scorer takes, with their format."""

    reference: npt.NDArray[Any]
    distorted: npt.NDArray[Any]
    format: Format
    pictures: tuple[Picture, ...] = ()
    """Both with their colours, where these are asked for."""
    damage: tuple[tuple[Path, tuple[str, ...]], ...] = ()
    """Each file that was decoded although it is damaged, and what is wrong with it."""


def partners(reference: Path, distorted: Path, warn: Warn) -> list[tuple[str, Path, Path]]:
    """Return name, reference and distorted image of each pair in two folders, sorted by name.

    Images meet whose names are equal but for the suffix: a.png and a.jpg. Videos and images of
    types that are not read are left out, with a warning. Refuse (InputError) no image, one without
    a partner, and two of one name in a folder.
    """
    ones, others = _images(reference, warn), _images(distorted, warn)
    alone = [
        f"{folder}: {_listed(sorted(mine.keys() - theirs.keys()))}"
        for folder, mine, theirs in ((reference, ones, others), (distorted, others, ones))
        if mine.keys() - theirs.keys()
    ]
    if alone:
        raise InputError(
            f"{reference} holds {len(ones)} images and {distorted} holds {len(others)}, which meet "
            f"by name without the suffix; without a partner are, in {'; in '.join(alone)}"
        )
    return [(name, ones[name], others[name]) for name in sorted(ones)]


def _images(folder: Path, warn: Warn) -> dict[str, Path]:
    """Return the images of a folder by their name without suffix."""
    files = _files(folder)
    found: dict[str, Path] = {}
    for path in filter(is_image, files):
        if path.stem in found:
            raise InputError(
                f"{folder} holds {found[path.stem].name} and {path.name}: images meet by name "
                "without the suffix, so keep one of them"
            )
        found[path.stem] = path
    if not found:
        raise InputError(f"{folder} holds no image; videos are compared one by one")
    unread = "images of types that are not read"
    others = [path for path in files if not is_image(path)]
    left = [path.name for path in others if names_unread(path)]
    videos = [path.name for path in others if is_known(path) and not names_unread(path)]
    for names, what in ((videos, "videos"), (left, unread)):
        if names:
            warn(str(folder), f"{what} are left out: {_listed(names)}")
    return found


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror or error}") from error


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def check(reference: Path, distorted: Path, resized: bool, metrics: tuple[str, ...]) -> None:
    """Refuse (InputError) two images that metrics cannot compare, as far as their headers show."""
    sizes = []
    for path in (reference, distorted):
        found = header(path)
        sizes.append((found.width, found.height))
    if sizes[0] != sizes[1] and not resized:
        # The pixels have the last word: a PNG may say only behind them how it is turned.
        pair(reference, distorted, False, None, lambda name, text: None)
    check_size(metrics, *sizes[0], str(reference))


def pair(
    reference: Path,
    distorted: Path,
    resized: bool,
    data_range: float | None,
    warn: Warn,
    colours: bool = False,
) -> Pair:
    """Read two images; return what a Scorer takes.

    Of one depth, planes stay as they are; else each becomes float64 0 … 255 by its own depth.
    `data_range` is the value of white of floats; None: 1. With `colours` the images are given, too,
    as Pictures: their samples count as sRGB.

    Raises
    ------
    InputError
        Not images that can be read, floats of another range, or different sizes and not `resized`.
    """
    one, other = (_plane(path, data_range, warn) for path in (reference, distorted))
    if data_range is not None and one.bits and other.bits:
        warn("", "`data_range` is for float images: without effect on images of 8 and 16 bit")
    first, second = _size(one), _size(other)
    if first != second:
        if not resized:
            raise InputError(unequal(str(reference), first, str(distorted), second))
        warn(str(distorted), scaled(second, first))
        codes, bits = _codes(other)
        other = replace(other, samples=resize(codes, bits, *first), bits=bits)
        if colours:
            other = _resized(other, first)
    width, height = first
    pictures = tuple(of_rgb(p.pixels, p.white) for p in (one, other)) if colours else ()
    damage = tuple((p, d.damage) for p, d in ((reference, one), (distorted, other)) if d.damage)
    if one.bits == other.bits and all(p.samples.dtype.kind == "u" for p in (one, other)):
        format = Format(width, height, one.bits)
        return Pair(one.samples, other.samples, format, pictures, damage)
    first_grey, second_grey = (
        grey(p.samples, p.bits) if p.bits else p.samples for p in (one, other)
    )
    format = Format(width, height, 0, white=WHITE)
    return Pair(first_grey, second_grey, format, pictures, damage)


def _plane(path: Path, data_range: float | None, warn: Warn) -> Plane:
    still = read(path)
    for text in (*still.notes, *still.lost):
        warn(str(path), text)
    pixels = still.pixels
    if pixels.dtype.kind == "f":
        grey, peak = _greys(path, pixels, data_range, warn), white.white(pixels.dtype, data_range)
        return Plane(grey, 0, pixels[..., :3] if pixels.ndim == 3 else pixels, peak, still.damage)
    bits = 8 * int(pixels.dtype.itemsize)
    if pixels.ndim == 3 and pixels.shape[2] == 4:
        warn(str(path), "transparency does not count")
        pixels = pixels[..., :3]
    grey = luma(pixels) if pixels.ndim == 3 else pixels
    return Plane(grey, bits, pixels, float((1 << bits) - 1), still.damage)


def _greys(
    path: Path, pixels: npt.NDArray[Any], data_range: float | None, warn: Warn
) -> npt.NDArray[np.float64]:
    """Return the luma of floats as 0 … WHITE; a little beyond is clipped, and more is an error."""
    peak = white.white(pixels.dtype, data_range)
    least, most = float(pixels.min()), float(pixels.max())
    if not (isfinite(least) and isfinite(most)):
        raise InputError(f"{path}: {NOT_FINITE}", advice=REPLACE)
    if least < (1 - white.BEYOND) * peak or most > white.BEYOND * peak:
        raise white.beyond(least, most, peak).about(path)
    if least < 0 or most > peak:
        warn(str(path), f"samples from {least:g} to {most:g} count as 0 to {peak:g}")
    grey = luma(pixels) if pixels.ndim == 3 else pixels.astype(np.float64)
    return (grey * (WHITE / peak)).clip(0, WHITE)


def _codes(plane: Plane) -> tuple[npt.NDArray[Any], int]:
    """Return integer samples and their bits: the luma of 16-bit colours is rounded half up."""
    if plane.samples.dtype.kind == "u":
        return plane.samples, plane.bits
    codes = plane.samples if plane.bits else plane.samples * (65535 / WHITE)
    return np.floor(codes + 0.5).astype(np.uint16), 16


def _resized(plane: Plane, size: tuple[int, int]) -> Plane:
    """Return an image whose colours are scaled, too: floats as codes of 16 bits."""
    pixels, bits = plane.pixels, 8 * int(plane.pixels.dtype.itemsize)
    if pixels.dtype.kind == "f":
        codes = np.clip(pixels * (65535 / plane.white), 0, 65535)
        pixels, bits = np.floor(codes + 0.5).astype(np.uint16), 16
    layers = [pixels] if pixels.ndim == 2 else list(np.moveaxis(pixels, -1, 0))
    scaled = [resize(np.ascontiguousarray(layer), bits, *size) for layer in layers]
    found = scaled[0] if pixels.ndim == 2 else np.stack(scaled, axis=-1)
    return replace(plane, pixels=found, white=float((1 << bits) - 1))


def _size(plane: Plane) -> tuple[int, int]:
    height, width = plane.samples.shape
    return width, height
