"""MAD with PyTorch's own operators on a GPU, whole and in part; plain NumPy on a CPU.

PyTorch: float32, filters are prepared before it is timed, blocks by unfold. Two lines do less than
MAD: the transforms alone, and the appearance stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.stock.pytorch import imported, on_stream
from benchmarks.stock.run import Stock, within
from snellen.bench.clock import Line
from snellen.bench.mad import PAIR, PLAIN, Pair, on_cpu, plain, planes
from snellen.bench.reference import mad as reference
from snellen.bench.runner import Case
from snellen.mad import loggabor
from snellen.mad.combine import mad
from snellen.mad.csf import csf
from snellen.mad.definition import BLOCK, MARGIN, STEP
from snellen.mad.lightness import POWER, K
from snellen.mad.masking import GATE, PROBE, THRESHOLD
from snellen.mad.statistics import WEIGHTS

TRANSFORMS = "PyTorch, 2 FFTs and 40 inverse FFTs alone"
APPEARANCE = "PyTorch, appearance stage alone"
WHOLE = "PyTorch"

AGREE = 1e-3
"""Relative error of the scores: single precision without our care. The mean is in the spectrum,
both pictures go through the CSF in full, and what is nearly flat has few digits. Another definition
would be off by far more."""


@contextmanager
def lines(case: Case, device: str, missing: dict[str, str]) -> Iterator[dict[str, Stock]]:
    """Give the other ways to score the planes of a case; of whole pairs only."""
    assert isinstance(case, Pair)
    if case.kind != PAIR:
        yield {}
        return
    given = planes(case.width, case.height)
    if device == "cpu":
        one, other = (one.astype(np.float64) for one in given)
        yield {"plain NumPy": Stock(Line(lambda: reference.score(one, other)))}
        return
    with on_stream(WHOLE, missing) as torch:
        if torch is None:
            yield {}
            return
        operators = Operators(case.height, case.width, device)
        images = torch.from_numpy(np.stack(given).astype(np.float32)).to(device)
        yield {
            TRANSFORMS: Stock(Line(partial(operators.transforms, images))),
            APPEARANCE: Stock(Line(partial(operators.appearance, images))),
            WHOLE: Stock(Line(partial(operators, images)), lambda: check(operators(images), case)),
        }


def check(numbers: tuple[Any, Any], case: Pair) -> dict[str, float]:
    """Return by how much MAD, and HI and LO, the numbers, are off float64, relative.

    Raises
    ------
    SnellenError
        Too much: PyTorch computes something else.
    """
    wanted = (plain if case.width * case.height <= PLAIN else on_cpu)(case.width, case.height)
    hi, lo = map(float, numbers)
    found = mad(hi, lo), hi, lo
    return within({"scores": float(np.abs(np.divide(found, wanted) - 1).max())}, AGREE)


class Operators:
    """The operators for pairs of one size: images are (2, H, W), the reference first."""

    def __init__(self, height: int, width: int, device: str):
        self.torch, self.size = imported(), (height, width)
        radial = np.empty((len(loggabor.WAVELENGTHS), height, width), np.float32)
        angular = np.empty((loggabor.ORIENTATIONS, height, width), np.float32)
        loggabor.bank(slice(0, height), radial, angular)
        one, other = (self.torch.from_numpy(planes).to(device) for planes in (radial, angular))
        self.bank = (one[:, None] * other).reshape(-1, height, width)
        self.weights = np.repeat(WEIGHTS, loggabor.ORIENTATIONS).tolist()
        self.csf = self.torch.from_numpy(csf(height, width).astype(np.float32)).to(device)

    def transforms(self, images: Any) -> Any:
        """Return all subbands (2, 20, H, W) at once."""
        return self.torch.fft.ifft2(self.torch.fft.fft2(images)[:, None] * self.bank)

    def appearance(self, images: Any) -> Any:
        """Return the map on the block grid, subband by subband."""
        spectra, total = self.torch.fft.fft2(images), 0
        for band, weight in zip(self.bank, self.weights, strict=True):
            std, skew, kurtosis = self.statistics(self.torch.fft.ifft2(spectra * band).abs())
            apart = (std[0] - std[1]).abs() + 2 * (skew[0] - skew[1]).abs()
            total = total + weight * (apart + (kurtosis[0] - kurtosis[1]).abs())
        return total

    def statistics(self, planes: Any) -> tuple[Any, Any, Any]:
        """Return sample deviation, skew and plain kurtosis of every block."""
        blocks = windows(planes)
        away = blocks - blocks.mean((-2, -1), keepdim=True)
        deviation = (away * away).mean((-2, -1), keepdim=True).sqrt()
        z = away / (deviation + 1e-9)
        sample = deviation[..., 0, 0] * (BLOCK**2 / (BLOCK**2 - 1)) ** 0.5
        return sample, (z**3).mean((-2, -1)), (z**4).mean((-2, -1))

    def detection(self, images: Any) -> Any:
        """Return the map (H, W)."""
        light = self.torch.fft.rfft2(K * images**POWER) * self.csf
        reference, distorted = self.torch.fft.irfft2(light, self.size)
        blocks = windows(reference)
        mean = blocks.mean((-2, -1))
        quarter = blocks[..., : BLOCK // 2, : BLOCK // 2].std((-2, -1))
        masking = (least(quarter, self.size) / mean).log().clamp(min=THRESHOLD)
        over = (windows(distorted - reference).std((-2, -1)) / mean).log() - masking
        mask = self.torch.where((mean >= GATE) & (over > 0), over, 0.0)
        return self.spread(mask) * self.local_mse(images)

    def local_mse(self, images: Any) -> Any:
        """Return the mean of squares around each pixel."""
        x = (images[0] - images[1]) ** 2
        x = self.torch.cat([x[:7].flip(0), x, x[-8:].flip(0)])
        x = self.torch.cat([x[:, :7].flip(1), x, x[:, -8:].flip(1)], dim=1)
        return self.torch.nn.functional.avg_pool2d(x[None], BLOCK, 1)[0]

    def spread(self, blocks: Any) -> Any:
        """Return a map (H, W) of a value for each block."""
        tiled = blocks.repeat_interleave(STEP, 0).repeat_interleave(STEP, 1)
        (height, width), (high, wide) = self.size, tiled.shape
        return self.torch.nn.functional.pad(tiled, (0, width - wide, 0, height - high))

    def __call__(self, images: Any) -> tuple[Any, Any]:
        """Return HI and LO as tensors: nothing waits for the GPU, as nothing does in our line."""
        hi = 200 * rms(self.detection(images))
        return hi, rms(self.spread(self.appearance(images)))


def windows(planes: Any) -> Any:
    """Return every block: (…, rows, columns, 16, 16)."""
    return planes.unfold(-2, BLOCK, STEP).unfold(-2, BLOCK, STEP)


def least(deviation: Any, size: tuple[int, int]) -> Any:
    """Return the least of a block's deviation and its neighbours', where the probe is inside."""
    for axis in (0, 1):
        moved = deviation.transpose(0, axis)
        count = sum(STEP * i + PROBE < size[axis] - BLOCK + 1 for i in range(len(moved)))
        both = moved[:count].minimum(moved[1 : count + 1])
        deviation = imported().cat([both, moved[count:]]).transpose(0, axis)
    return deviation


def rms(plane: Any) -> Any:
    """Return the root mean square of a map without its margin."""
    first, last = MARGIN
    return (plane[first:-last, first:-last] ** 2).mean().sqrt()
