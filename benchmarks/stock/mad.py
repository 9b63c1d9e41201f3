"""MAD as one would write it with PyTorch's own operators: the lines that ours is measured beside.

Float32, filters laid out before the clock runs, blocks by unfold. The first two lines are those
that the targets are against: the transforms alone, and the appearance stage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from snellen.bench.mad.cases import Pair
from snellen.bench.stock import evented, torch
from snellen.errors import SnellenError
from snellen.mad import loggabor
from snellen.mad.combine import mad
from snellen.mad.csf import csf
from snellen.mad.definition import BLOCK, MARGIN, STEP
from snellen.mad.difference import WEIGHTS
from snellen.mad.lightness import POWER, K
from snellen.mad.masking import GATE, PROBE, THRESHOLD
from snellen.mad.result import Score

TRANSFORMS = "2 FFTs and 40 inverse FFTs"
APPEARANCE = "appearance stage, unfold statistics"
WHOLE = "whole MAD"

# Single precision without our arm's care: the mean is in the spectrum, both pictures go through the
# CSF in full, and what is nearly flat has few digits. Another definition would be off by far more.
AGREE = 1e-3


class Stock:
    """The operators for pairs of one size: images are (2, H, W), the reference first."""

    def __init__(self, height: int, width: int, device: str):
        self.torch, self.size = torch(), (height, width)
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

    def __call__(self, images: Any) -> tuple[float, float, float]:
        """Return MAD, HI and LO."""
        hi = 200 * float(rms(self.detection(images)))
        lo = float(rms(self.spread(self.appearance(images))))
        return mad(hi, lo), hi, lo


def windows(planes: Any) -> Any:
    """Return every block: (…, rows, columns, 16, 16)."""
    return planes.unfold(-2, BLOCK, STEP).unfold(-2, BLOCK, STEP)


def least(deviation: Any, size: tuple[int, int]) -> Any:
    """Return the least of a block's deviation and its neighbours', where the probe is inside."""
    for axis in (0, 1):
        moved = deviation.transpose(0, axis)
        count = sum(STEP * i + PROBE < size[axis] - BLOCK + 1 for i in range(len(moved)))
        both = moved[:count].minimum(moved[1 : count + 1])
        deviation = torch().cat([both, moved[count:]]).transpose(0, axis)
    return deviation


def rms(plane: Any) -> Any:
    """Return the root mean square of a map without its margin."""
    first, last = MARGIN
    return (plane[first:-last, first:-last] ** 2).mean().sqrt()


def check(line: Stock, images: Any, ours: Score) -> float:
    """Return by how much the scores of PyTorch's line are off ours, relative.

    Raises
    ------
    SnellenError
        They disagree: that line is not told then.
    """
    found = line(images)
    wanted = np.array([ours.mad, ours.hi, ours.lo], np.float64)
    off = float(np.abs(np.array(found) / wanted - 1).max())
    if not off < AGREE:
        raise SnellenError(
            f"{line.size[1]}×{line.size[0]}: PyTorch's scores and ours differ by {off:.1e}: "
            "nothing is timed"
        )
    return off


def tensors(given: Pair, device: str) -> Any:
    """Return both planes as grey of 0 … 255, (2, H, W) float32."""
    return torch().from_numpy(np.stack(given.grey()).astype(np.float32)).to(device)


def measure(
    given: Pair, ours: Score, repeats: int, say: Callable[[str], None], device: str
) -> dict[str, Any]:
    """Return milliseconds of each line on the GPU: median, min and max."""
    height, width = given.reference.shape
    with torch().inference_mode():
        line, images = Stock(height, width, device), tensors(given, device)
        off = check(line, images, ours)
        todo: dict[str, Callable[[Any], object]] = {
            TRANSFORMS: line.transforms, APPEARANCE: line.appearance, WHOLE: line,
        }  # fmt: skip
        found = {name: evented(partial(work, images), repeats) for name, work in todo.items()}
    say(f"  PyTorch {torch().__version__}, scores {off:.1e} off ours")
    for name, taken in found.items():
        say(f"    {name:<36} {taken['median']:8.3f} ms  ({taken['min']:.3f} … {taken['max']:.3f})")
    del todo, line, images
    torch().cuda.empty_cache()
    return {"torch": torch().__version__, "apart": off, "lines": found}
