"""Blur and shrink planes as the makers of films do, and round them to 8 bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

Bytes = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]

KERNELS = {
    "area": Image.Resampling.BOX,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
"""Kernels that shrink: mean of an area, Keys' cubic (a = −0.5), Lanczos with 3 lobes; the two
latter are stretched by the factor, so that nothing aliases."""
REACH = 4.0  # of the Gaussian, in units of σ: beyond, its weight is under 0.01 %


def resized(plane: Bytes | Float32, width: int, height: int, kernel: str) -> Float32:
    """Return a plane at another size; pixel centres are at (i + 0.5) / n of a side."""
    image = Image.fromarray(np.ascontiguousarray(plane, np.float32))
    return np.asarray(image.resize((width, height), KERNELS[kernel]))


def blurred(plane: Bytes | Float32, sigma: float) -> Float32:
    """Return a plane behind a Gaussian of σ in pixels; samples beyond the edge are the edge's."""
    floats = np.asarray(plane, np.float32)
    if not sigma:
        return floats
    reach = int(REACH * sigma + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights /= weights.sum()
    for _ in range(2):  # rows, then columns, which a transposition makes rows
        padded = np.pad(floats, ((reach, reach), (0, 0)), "edge")
        total = np.zeros(floats.shape)
        for tap, weight in enumerate(weights):
            total += weight * padded[tap : tap + len(floats)]
        floats = total.astype(np.float32).T
    return np.ascontiguousarray(floats)


def shrunk(plane: Bytes | Float32, scale: int, kernel: str, sigma: float = 0.0) -> Bytes:
    """Return a plane of code values blurred, shrunk by an integer and rounded to 8 bits.

    Parameters
    ----------
    plane : (H, W) uint8 or float32
        Code values, 0 … 255. `scale` divides both sides.
    kernel : str
        One of KERNELS.
    sigma : float
        Of the Gaussian before, in pixels of `plane`.
    """
    height, width = plane.shape
    return whole(resized(blurred(plane, sigma), width // scale, height // scale, kernel))


def whole(plane: Float32) -> Bytes:
    """Return code values rounded to 8 bits."""
    rounded: Bytes = np.floor(np.clip(plane, 0, 255) + 0.5).astype(np.uint8)
    return rounded
