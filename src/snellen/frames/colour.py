"""RGB ⇄ luma and chroma of still images.

BT.601 coefficients, full range (ITU-T T.871, JFIF). Samples are float32 throughout: no step rounds
to code values or clips. The A+ authors trained on limited-range luma (16 + 65.481 R + …). A+
commutes with a scale and an offset of its plane, so full-range luma gives the same result.

The functions take NumPy or CuPy arrays and return arrays of the same library. Both libraries
compute the same products and sums in the same order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library

KR, KG, KB = 0.299, 0.587, 0.114  # ITU-R BT.601

TO_YCC = np.array(
    [
        [KR, KG, KB],
        [-KR / (2 - 2 * KB), -KG / (2 - 2 * KB), 0.5],
        [0.5, -KG / (2 - 2 * KR), -KB / (2 - 2 * KR)],
    ]
)
TO_RGB = np.linalg.inv(TO_YCC)

Float32 = npt.NDArray[np.float32]


def ycc(rgb: npt.NDArray[np.generic]) -> tuple[Float32, Float32, Float32]:
    """Convert RGB (H, W, 3 or more) of any dtype to planes Y, Cb, Cr (H, W) float32 of its range.

    Chroma is centred on 0. Further channels are ignored.
    """
    y, cb, cr = _mix(TO_YCC, [rgb[..., i] for i in range(3)])
    return y, cb, cr


def rgb(planes: tuple[npt.NDArray[np.generic], ...]) -> Float32:
    """Convert (H, W) planes Y, Cb, Cr to (H, W, 3) float32 RGB: the inverse of `ycc`."""
    xp = library(planes[0])
    mixed: Float32 = xp.stack(_mix(TO_RGB, list(planes)), axis=-1)
    return mixed


def _mix(matrix: npt.NDArray[np.float64], planes: list[npt.NDArray[np.generic]]) -> list[Float32]:
    """Multiply a 3 × 3 matrix by the three planes, in float32."""
    a, b, c = (plane.astype(np.float32, copy=False) for plane in planes)
    return [a * x + b * y + c * z for x, y, z in matrix.astype(np.float32)]
