"""Pictures that everybody can draw again."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from snellen.frames.frame import Plane

Float32 = npt.NDArray[np.float32]


def picture(width: int, height: int) -> Float32:
    """Return a picture with edges, texture and flat parts, (height, width) float32 in 0 … 1."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = np.sin(x * x / 3000) * np.cos(y * y / 5000)
    discs = ((x % 97 - 48) ** 2 + (y % 89 - 44) ** 2 < 900) * np.float32(0.5)
    noise = np.random.default_rng(0).normal(0, 0.02, (height, width)).astype(np.float32)
    noise[: height // 3] = 0
    mixed: Float32 = (0.4 + 0.2 * waves + discs + noise).clip(0, 1).astype(np.float32)
    return mixed


def codes(plane: Float32, bits: int) -> Plane:
    """Return a picture in 0 … 1 as code values; bits 0: as it is."""
    if not bits:
        return plane
    white = (1 << bits) - 1
    rounded: Float32 = np.rint(plane * np.float32(white))
    return rounded.astype(np.uint8) if bits == 8 else rounded.astype(np.uint16)


@cache
def plane(width: int, height: int) -> Plane:
    """Return the picture as 8-bit codes (height, width)."""
    return codes(picture(width, height), 8)
