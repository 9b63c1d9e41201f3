"""The protocol by which super-resolution is trained and evaluated: reading, shrinking, PSNR.

This is the protocol of Timofte, De Smet, Van Gool 2014 (and of Zeyde et al. 2010 before them).
Images are 8-bit luma. MATLAB's imresize of 2014 makes the low-resolution pictures, which stay in
float. PSNR is computed on 8-bit values, without the `scale` outermost pixels on each side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from math import ceil, log10
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.errors import InputError
from snellen.files.kinds import is_image
from snellen.files.opening import is_address, missing
from snellen.files.still_formats import READ_ONLY, WRITTEN
from snellen.frames.bicubic import TAPS, cubic
from snellen.frames.colour import KB, KG, KR
from snellen.frames.frame import Format, Plane
from snellen.stills import damage
from snellen.stills.image_file import opened_file, pillow_image

Float32 = npt.NDArray[np.float32]

BLACK = 16.0  # code value of black in BT.601 limited range
LUMA = tuple(219 / 255 * share for share in (KR, KG, KB))  # BT.601: (65.481, 128.553, 24.966) / 255
EVALUATED = 3  # least side of an image, low-resolution pixels; the outermost are not evaluated


def pictures(folder: str | Path) -> list[Path]:
    """Return the image files of a folder, sorted by name; hidden ones are left out.

    Raises
    ------
    InputError
        The folder does not exist or holds no image.
    """
    folder = Path(folder)
    if is_address(folder):
        raise missing(folder)
    if not folder.is_dir():
        raise InputError(f"no folder {str(folder)!r}", advice="give a folder of images")
    found = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".")
        if is_image(path) and path.suffix.lower() not in READ_ONLY
    )
    if not found:
        raise InputError(
            f"no image in {str(folder)!r}",
            advice=f"give a folder of files that end in {' '.join(sorted(WRITTEN))}",
        )
    return found


def planes(
    folder: str | Path, damaged: dict[Path, tuple[str, ...]] | None = None
) -> dict[str, Float32]:
    """Read all images of a folder as luma.

    Parameters
    ----------
    folder : str or Path
    damaged : dict, optional
        Receives the images that were read although they are damaged, and what is wrong with each.

    Returns
    -------
    dict
        File name → (H, W) float32 luma in 0 … 1, as `luma` returns it.

    Raises
    ------
    InputError
        See `pictures` and `luma`.
    """
    return {path.name: luma(path, damaged) for path in pictures(folder)}


def luma(path: str | Path, damaged: dict[Path, tuple[str, ...]] | None = None) -> Float32:
    """Read an image as luma: BT.601 limited range, rounded to 8 bits, divided by 255.

    Grey samples are not converted. Transparency is ignored.

    Parameters
    ----------
    path : str or Path
    damaged : dict, optional
        See `planes`.

    Returns
    -------
    (H, W) float32
        In 0 … 1.

    Raises
    ------
    InputError
        The file cannot be read, or has more than 8 bits a sample.
    """
    path = Path(path)
    with opened_file(path) as (file, said), pillow_image(path, file) as image:
        if image.mode not in {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}:
            raise InputError(
                f"{path.name}: got samples of kind {image.mode}; expected 8-bit grey or RGB",
                advice="convert the image",
            )
        grey = image.mode in {"1", "L", "LA"}
        pixels = np.asarray(image.convert("L" if grey else "RGB"), np.float64)
        if damaged is not None and (found := damage.found(file, image, said)):
            damaged[path] = found
    plane = pixels if grey else BLACK + pixels @ np.array(LUMA)
    return (np.floor(plane + 0.5) / 255).astype(np.float32)


def crop(plane: Float32, scale: int) -> Float32:
    """Return the plane without the last rows and columns, so that `scale` divides both sides."""
    height, width = plane.shape
    return plane[: height - height % scale, : width - width % scale]


def resized(length: int, factor: float) -> int:
    """Return how many samples MATLAB's imresize makes of `length` samples."""
    return ceil(length * factor)


def shrink(plane: Float32, factor: float) -> Float32:
    """Shrink a plane as MATLAB's imresize of 2014 does: bicubic, antialiased, edges clamped.

    The vertical pass comes first. Each pass sums in float64 and rounds to float32. Samples are
    never clipped or quantised.

    Parameters
    ----------
    plane : (H, W) float32
    factor : float
        Greater than 0, at most 1: 1 / scale for a low-resolution picture.

    Returns
    -------
    (⌈H·factor⌉, ⌈W·factor⌉) float32
        The input itself for a factor of 1.
    """
    if factor == 1:
        return plane
    rows = _shrink_rows(plane, factor)
    return np.ascontiguousarray(_shrink_rows(rows.T, factor).T)


def _shrink_rows(plane: Float32, factor: float) -> Float32:
    """Shrink along the first axis."""
    taps, weights = contributions(len(plane), factor)
    total = np.zeros((len(taps), plane.shape[1]))
    for tap, weight in zip(taps.T, weights.T, strict=True):
        total += weight[:, None] * plane[tap]
    return total.astype(np.float32)


def contributions(
    length: int, factor: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the taps and weights of the output samples along one axis.

    The kernel is stretched by 1 / factor. Taps beyond the edge are clamped to it.

    Returns
    -------
    taps : (n, t) int64
        Input samples of each of the n output samples.
    weights : (n, t) float64
        Each row sums to 1.
    """
    centre = (np.arange(resized(length, factor)) + 0.5) / factor - 0.5
    first = np.floor(centre - TAPS / factor / 2).astype(np.int64)
    taps = first[:, None] + np.arange(ceil(TAPS / factor) + 2)
    weights = cubic(factor * (centre[:, None] - taps))
    weights /= weights.sum(axis=1, keepdims=True)
    return taps.clip(0, length - 1), weights


def psnr(truth: Float32, estimate: Float32, border: int) -> float:
    """Return the PSNR in dB of two planes in 0 … 1, rounded to 8 bits.

    The `border` outermost pixels on each side do not count. Equal planes have infinite PSNR.
    """
    a, b = (
        np.floor(np.clip(plane.astype(np.float64), 0, 1) * 255 + 0.5) for plane in (truth, estimate)
    )
    inside = slice(border, -border or None)
    error = float(np.mean((a - b)[inside, inside] ** 2))
    return 20 * log10(255) - 10 * log10(error) if error else float("inf")


def require(images: Mapping[str, Float32], side: int, purpose: str) -> None:
    """Refuse images that have fewer than `side` pixels in any direction.

    Raises
    ------
    InputError
        Its message names `purpose`, which needs larger images.
    """
    for name, plane in images.items():
        if min(plane.shape) < side:
            raise InputError(
                f"{name} is {plane.shape[1]}×{plane.shape[0]} pixels; {purpose} needs at least "
                f"{side} on each side",
                advice="leave it out",
            )


class Luma(Protocol):
    """A method's function for luma of one format."""

    def tasks(self, pool: Pool, plane: Plane, out: Plane) -> list[Future[None]]:
        """Let threads fill `out` (s·H, s·W) from `plane` (H, W)."""
        ...


def psnr_table(
    images: Mapping[str, Float32], scale: int, make: Callable[[Format, Format], Luma]
) -> dict[str, float]:
    """Return the PSNR in dB of each image when it is shrunk and enlarged again.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `planes` reads it from a folder.
    make : callable
        Returns what enlarges planes of a source's format to a target's.

    Raises
    ------
    InputError
        An image is so small that no pixel is left without its borders.
    """
    require(images, EVALUATED * scale, f"evaluation at ×{scale}")
    found = {}
    for name, plane in images.items():
        truth = crop(plane, scale)
        low = shrink(truth, 1 / scale)
        source = Format(low.shape[1], low.shape[0], bits=0)
        out = np.empty(truth.shape, np.float32)
        luma = make(source, source.scaled(scale))
        with Pool(threads.available()) as pool, single_threaded():
            for task in luma.tasks(pool, low, out):
                task.result()
        found[name] = psnr(truth, out, scale)
    return found
