"""RGB ⇄ luma and chroma, for stills.

BT.601 luma, chroma in full range (ITU-T T.871, JFIF), kept in float32: nothing is rounded or
clipped on the way. A+ commutes with the scale and the offset of its plane, so this luma gives the
same as the limited-range one that the authors trained with (16 + 65.481 R + …).

Arrays are NumPy's or CuPy's, and so are the results: the same products and sums in the same order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library

KR, KG, KB = 0.299, 0.587, 0.114  # ITU-R BT.601

_TO_YCC = np.array(
    [
        [KR, KG, KB],
        [-KR / (2 - 2 * KB), -KG / (2 - 2 * KB), 0.5],
        [0.5, -KG / (2 - 2 * KR), -KB / (2 - 2 * KR)],
    ]
)
_TO_RGB = np.linalg.inv(_TO_YCC)

Float32 = npt.NDArray[np.float32]


def ycc(rgb: npt.NDArray[np.generic]) -> tuple[Float32, Float32, Float32]:
    """Return Y, Cb, Cr (chroma around 0), each (H, W) float32, of (H, W, 3) RGB of any range."""
    y, cb, cr = _mix(_TO_YCC, [rgb[..., i] for i in range(3)])
    return y, cb, cr


def rgb(planes: tuple[npt.NDArray[np.generic], ...]) -> Float32:
    """Return (H, W, 3) float32 RGB of Y, Cb, Cr planes: the inverse of `ycc`."""
    xp = library(planes[0])
    mixed: Float32 = xp.stack(_mix(_TO_RGB, list(planes)), axis=-1)
    return mixed


def _mix(matrix: npt.NDArray[np.float64], planes: list[npt.NDArray[np.generic]]) -> list[Float32]:
    a, b, c = (plane.astype(np.float32, copy=False) for plane in planes)
    return [a * x + b * y + c * z for x, y, z in matrix.astype(np.float32)]
