"""Point spread functions (PSFs): K × K with the middle at K // 2, or on the period around (0, 0).

K is odd. The functions take NumPy or CuPy arrays and return arrays of the same library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, quoted
from snellen.frames.arrays import library
from snellen.frames.values import check_bytes, number, whole

Float64 = npt.NDArray[np.float64]

LARGEST = 4095
"""Greatest side of a PSF, pixels: far more than any blur, and little enough to hold."""


def side(size: object) -> int:
    """Return the side of the support for `psf_size`, made odd: 31 for 30 and 31 (or InputError)."""
    return 2 * (whole("psf_size", size, 1, LARGEST) // 2) + 1


def fits(side: int, shape: tuple[int, ...]) -> None:
    """Refuse (InputError) a PSF that is larger than a picture of a shape."""
    if side > min(shape):
        raise InputError(
            f"got a PSF of {side}×{side} for a picture of {shape[1]}×{shape[0]} (width × height); "
            "expected a PSF no larger than the picture",
            parameter="psf_size",
            advice="take a smaller `psf_size` or `psf`, or a larger picture",
        )


def gaussian(sigma: object, side: int) -> Float64:
    """Return a Gaussian PSF (side, side), sum 1, of σ pixels (InputError: no positive number)."""
    width = number(sigma)
    if width is None or width <= 0:
        raise InputError(
            f"`start`={quoted(sigma)}; expected σ in pixels, a number above 0, or a PSF's array",
            parameter="start",
        )
    with np.errstate(all="ignore"):  # far from the middle of a very narrow one, and in a wide one
        distance = (np.arange(side) - side // 2) / width
        bell = np.exp(-(distance.clip(-100, 100) ** 2) / 2)  # e^−5000 is 0
        plane: Float64 = np.outer(bell, bell)
        plane /= plane.sum()
    return plane


def given(psf: Any, name: str = "psf") -> Float64:
    """Return a user's PSFs (…, rows, columns) as (…, K, K) float64, each of sum 1.

    K is the longer side, made odd. The middle of a side n is at n // 2 for odd and even n, and
    stays in the middle. `name` is that of the parameter or the file, for errors. InputError: the
    array has fewer than two axes or is empty, or a PSF has negative, infinite or NaN values or is 0
    everywhere.
    """
    plane = np.asarray(psf)
    shown, parameter = (f"`{name}`", name) if name.isidentifier() else (name, None)

    def wrong(what: str) -> InputError:
        return InputError(f"{shown} {what}", parameter=parameter)

    if plane.ndim < 2 or not plane.size or plane.dtype.kind not in "buif":
        raise wrong(
            f"has shape {plane.shape} and dtype {plane.dtype}; expected real numbers in rows and "
            "columns, as (31, 31)"
        )
    longest = max(plane.shape[-2:])
    if longest > LARGEST:
        raise wrong(f"has shape {plane.shape}; expected at most {LARGEST} rows and columns")
    check_bytes(8 * plane.size // min(plane.shape[-2:]) * (longest + 1), f"{shown} {plane.shape}")
    with np.errstate(all="ignore"):  # of float128; refused below
        plane = plane.astype(np.float64)
    if not np.isfinite(plane).all() or plane.min() < 0:
        raise wrong("has values that are negative, NaN or infinite; expected 0 or more")
    with np.errstate(all="ignore"):
        total = plane.sum((-2, -1), keepdims=True)
    if not (total > 0).all():
        raise wrong("is 0 everywhere; expected a value above 0")
    if not np.isfinite(total).all():
        raise InputError(
            f"the sum of {shown} is beyond float64",
            parameter=parameter,
            advice="divide it by its maximum",
        )
    height, width = plane.shape[-2:]
    out = np.zeros((*plane.shape[:-2], *2 * (side(max(height, width)),)))
    middle = out.shape[-1] // 2
    top, left = middle - height // 2, middle - width // 2
    with np.errstate(all="ignore"):
        out[..., top : top + height, left : left + width] = plane / total
    return out


def to_period(psf: Any, period: tuple[int, int]) -> Any:
    """Return PSFs (…, K, K) on the period (…, H, W), their middle at (0, 0)."""
    xp = library(psf)
    size = psf.shape[-1]
    out = xp.zeros((*psf.shape[:-2], *period), psf.dtype)
    out[..., :size, :size] = psf
    return xp.roll(out, (-(size // 2), -(size // 2)), (-2, -1))


def from_period(h: Any, side: int) -> Any:
    """Return PSFs (…, side, side) from those on the period (…, H, W); the rest is cut off."""
    xp = library(h)
    around = xp.roll(h, (side // 2, side // 2), (-2, -1))
    return xp.ascontiguousarray(around[..., :side, :side])
