"""Figures of one enlarged picture beside its truth, in 8-bit code values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.mad.image import score
from snellen.metrics.ssim import ssim
from snellen_lab.protocol import psnr
from snellen_lab.sources.degrade import Bytes, whole

Float32 = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

AREA = 9  # pixels: side of the window by whose σ an area is flat or busy
FLAT, BUSY = 4.0, 20.0  # σ of the truth in code values: below, above


def figures(
    truth: Bytes, results: Mapping[str, Float32], scale: int, device: str, mad: bool = True
) -> dict[str, dict[str, float]]:
    """Return PSNR, SSIM, MAD and mean squared errors in flat and busy areas of each result.

    Parameters
    ----------
    truth : (H, W) uint8
    results : mapping
        Name → (H, W) code values, which are rounded to 8 bits first.
    scale : int
        So many pixels of each edge do not count for PSNR, as in the authors' protocol.
    device : str
        For MAD.
    mad : bool
        Whether MAD is computed.
    """
    rounded = {name: whole(result) for name, result in results.items()}
    areas = {"flat": flat(truth), "busy": deviation(truth) > BUSY}
    found: dict[str, dict[str, float]] = {}
    for name, plane in rounded.items():
        found[name] = {
            "psnr": psnr(_floats(truth), _floats(plane), scale),
            "ssim": ssim(truth, plane),
            **{area: squares(truth, plane, where) for area, where in areas.items()},
        }
    if mad:
        many = np.stack(list(rounded.values()))
        scores: Any = score(truth, many, device=device, channel_axis=None).mad
        for name, value in zip(rounded, np.atleast_1d(scores), strict=True):
            found[name]["mad"] = float(value)
    return found


def _floats(plane: Bytes) -> Float32:
    return plane.astype(np.float32) / np.float32(255)


def squares(truth: Bytes, plane: Bytes, where: Flags) -> float:
    """Return the mean squared error of some pixels; not a number where there are none."""
    error = plane.astype(np.float64)[where] - truth[where]
    return float(np.mean(error**2)) if error.size else float("nan")


def deviation(plane: Bytes) -> Float32:
    """Return the standard deviation of the window round each pixel; edges are repeated."""
    padded = np.pad(plane.astype(np.float64), AREA // 2, "edge")
    mean, square = (box(values, AREA) for values in (padded, padded**2))
    return np.sqrt(np.maximum(square - mean**2, 0)).astype(np.float32)


def box(values: npt.NDArray[np.float64], side: int) -> npt.NDArray[np.float64]:
    """Return the means of all square windows."""
    total = np.pad(values.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    ends = total[side:, side:] - total[side:, :-side] - total[:-side, side:]
    mean: npt.NDArray[np.float64] = (ends + total[:-side, :-side]) / side**2
    return mean


def noise(
    coded: Sequence[Float32], uncoded: Sequence[Float32], where: Sequence[Flags] | None = None
) -> float:
    """Return the rms of what coding changes in enlarged frames, or in some pixels of each.

    Away from flat areas this is not noise alone: coding takes detail away, and of that a method
    that shows more loses more. Not a number where there are no such pixels.
    """
    squares = np.concatenate([
        ((a - b) ** 2)[... if where is None else where[number]].ravel()
        for number, (a, b) in enumerate(zip(coded, uncoded, strict=True))
    ])  # fmt: skip
    return sqrt(np.mean(squares, dtype=np.float64)) if squares.size else float("nan")


def flat(truth: Bytes) -> Flags:
    """Return where a picture is flat."""
    return deviation(truth) < FLAT


def rms(squares: Sequence[float]) -> float:
    """Return the root of a mean of squares."""
    return sqrt(sum(squares) / len(squares))
