"""MAD with a gradient, in PyTorch's own operations, so that it can be a loss.

The stages are those of `snellen.mad.cpu`, for batches; constants and filters are taken from there.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from snellen.errors import InputError, quoted
from snellen.mad import definition, loggabor, masking
from snellen.mad.combine import B1, B2
from snellen.mad.csf import csf
from snellen.mad.cuda.pictures import SLACK
from snellen.mad.definition import BLOCK, MARGIN, STEP, WHITE, Definition, Variant, grid
from snellen.mad.error import BEFORE
from snellen.mad.lightness import LAST, POWER, K
from snellen.mad.luma import BLUE, GREEN, RED
from snellen.mad.pictures import check_extremes, check_range
from snellen.mad.statistics import SKEW, WEIGHTS
from snellen.torch.mad import check_reduction, checked

KEPT = 2
"""Sizes of pictures whose filters are kept: 9 planes and a half in float64 each."""

Tensor = Any


class MADLoss(torch.nn.Module):  # type: ignore[misc]  # PyTorch is not there when types are checked
    """Score pictures against their references by MAD, with gradients for both.

    Scores of float64 are those of `snellen.score` on the CPU, relative to them within 1e-8. PyTorch
    computes all of it, on the device of the tensors; memory for the gradient is some 3 kB a pixel.
    For scores alone `MAD` is many times faster.

    MAD is piecewise smooth. As constants count: which blocks are dark, where an error is visible,
    which part of a block masks most, and which samples lie beyond 0 … white (their gradient is 0).
    Where it has no derivative, 0 is taken: at equal statistics, at black, where a block is flat,
    and of pictures without a visible error, whose score is 0. So a loss alone cannot pull pictures
    apart from what is invisible: add another one for that. Gradients are large where a subband
    hardly varies within a block, because skewness and kurtosis are divided by its deviation: clip
    them (`torch.nn.utils.clip_grad_norm_`).

    Parameters
    ----------
    reduction : str
        "mean", "sum", or "none": a score for each picture.
    data_range : float
        The sample value of white.
    variant, hi_scale, eight_bit_lut
        Which MAD: see `snellen.Scorer`.
    dtype : torch.dtype
        Of the computation: torch.float64, or torch.float32, in which flat parts lose digits.

    Raises
    ------
    InputError
        A setting that does not exist.
    """

    lower_better = True

    def __init__(
        self,
        reduction: str = "mean",
        data_range: float = 1.0,
        variant: Variant = "2011",
        hi_scale: float = 200.0,
        eight_bit_lut: bool = False,
        dtype: Any = torch.float64,
    ) -> None:
        super().__init__()
        check_reduction(reduction)
        if dtype not in (torch.float64, torch.float32):
            raise InputError(
                f"got `dtype`={quoted(dtype)}; expected torch.float64 or torch.float32",
                parameter="dtype",
            )
        self.reduction, self.dtype = reduction, dtype
        self.definition = Definition(variant, hi_scale, eight_bit_lut)
        self.data_range = definition.peak(data_range, 0)

    def forward(self, distorted: Tensor, reference: Tensor) -> Tensor:
        """Return the scores.

        Parameters
        ----------
        distorted, reference : (N, 1, H, W) grey or (N, 3, H, W) RGB
            Floats, finite, on one device, at least 34 × 34 pixels. One reference (N = 1) may serve
            many; its samples lie within 0 … `data_range`, as `score` wants them. Distorted samples
            beyond count as black and white, since a network's results may lie there.

        Returns
        -------
        Tensor
            (N,), or () for a mean or sum, of the type of the computation.

        Raises
        ------
        InputError
            Other shapes or types, no picture, NaN or infinity, a reference beyond the range.
        """
        one, other = self._grey(reference), self._grey(distorted)
        if one.shape[1:] != other.shape[1:] or len(one) not in (1, len(other)):
            raise InputError(
                f"got {tuple(distorted.shape)} and a reference {tuple(reference.shape)}; expected "
                "equal shapes, or one reference"
            )
        _extremes(distorted)
        check_range(*_extremes(reference), self.data_range, SLACK * self.data_range)
        hi = self.definition.hi_scale * _rms(_detection(one, other, self.definition))
        lo = _rms(_appearance(one, other))
        scores = _combined(hi, lo)
        return scores if self.reduction == "none" else getattr(scores, self.reduction)()

    def _grey(self, images: Tensor) -> Tensor:
        """Return grey 0 … 255, (N, H, W)."""
        if not checked(images).is_floating_point():
            raise InputError(
                f"got a tensor of {images.dtype}; expected floats, as integers have no gradient"
            )
        images = images.to(self.dtype)
        if images.shape[1] == 3:
            grey = RED * images[:, 0] + GREEN * images[:, 1] + BLUE * images[:, 2]
        else:
            grey = images[:, 0]
        return (grey * (WHITE / self.data_range)).clamp(0, WHITE)


def _extremes(images: Tensor) -> tuple[float, float]:
    """Return the least and the greatest sample; refuse (InputError) NaN, infinity and none."""
    if not images.numel():
        raise InputError(f"got a tensor of shape {tuple(images.shape)}; expected a picture or more")
    least, most = (one.item() for one in torch.aminmax(images.detach()))
    check_extremes(least, most)
    return least, most


def _detection(reference: Tensor, distorted: Tensor, which: Definition) -> Tensor:
    """Return the map of detection of (N, H, W) pictures: visibility × local error."""
    sensitivity = _csf(*reference.shape[-2:], reference.dtype, str(reference.device))
    light = _lightness(reference, which)
    filtered = _filtered(light, sensitivity)
    mean, _ = _window(filtered, BLOCK)
    _, around = _window(filtered, BLOCK // 2)
    _, error = _window(_filtered(_lightness(distorted, which) - light, sensitivity), BLOCK)
    masked = _least(around, *reference.shape[-2:])
    # Where the mean is below GATE nothing is visible: there any positive number will do.
    seen, level = mean >= masking.GATE, mean.clamp_min(masking.GATE)
    hidden = (_positive(masked) / level).log().clamp_min(masking.THRESHOLD)
    hidden = torch.where(masked > 0, hidden, torch.full_like(hidden, masking.THRESHOLD))
    excess = (_positive(error) / level).log() - hidden
    visible = torch.where(seen & (error > 0) & (excess > 0), excess, torch.zeros_like(excess))
    return _spread(visible, reference.shape[-2:]) * _local_mse(distorted - reference)


def _appearance(reference: Tensor, distorted: Tensor) -> Tensor:
    """Return the map of appearance of (N, H, W) pictures: differences of statistics."""
    height, width = reference.shape[-2:]
    radial, angular = _bank(height, width, reference.dtype, str(reference.device))
    spectra = [torch.fft.fft2(_without_mean(plane)) for plane in (reference, distorted)]
    total = torch.zeros((), dtype=reference.dtype, device=reference.device)
    for weight, gain in zip(WEIGHTS, radial, strict=True):
        for direction in angular:
            both = [_statistics(torch.fft.ifft2(s * (gain * direction)).abs()) for s in spectra]
            std, skewness, kurtosis = ((a - b).abs() for a, b in zip(*both, strict=True))
            total = total + weight * (std + SKEW * skewness + kurtosis)
    return _spread(total, (height, width))


def _lightness(grey: Tensor, which: Definition) -> Tensor:
    """Return the lightness of grey; its gradient at black, which is infinite, counts as 0."""
    if which.eight_bit_lut:
        grey = grey.clamp_max(LAST)
    factor = K**POWER if which.variant == "paper" else K
    return torch.where(grey > 0, factor * _positive(grey) ** POWER, torch.zeros_like(grey))


def _filtered(plane: Tensor, sensitivity: Tensor) -> Tensor:
    return torch.fft.irfft2(torch.fft.rfft2(plane) * sensitivity, plane.shape[-2:])


def _without_mean(plane: Tensor) -> Tensor:
    """Return a plane less its mean, which no filter passes; of a constant plane nothing is left."""
    level = plane.detach().mean((-2, -1), keepdim=True)
    return plane - level.clamp(plane.detach().amin((-2, -1), keepdim=True),
                               plane.detach().amax((-2, -1), keepdim=True))  # fmt: skip


def _window(plane: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Return mean and sample deviation of side × side pixels at the corner of each block."""
    mean, squares, _, _ = _moments(plane, side // STEP)
    return mean, _root(squares / (side * side - 1))


def _statistics(plane: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return deviation, skewness and kurtosis of the blocks of |response|."""
    _, two, three, four = _moments(plane, BLOCK // STEP)
    some, safe = two > 0, _positive(two)
    zero = torch.zeros_like(two)
    skewness = torch.where(some, BLOCK * (three / safe) / safe.sqrt(), zero)
    kurtosis = torch.where(some, BLOCK**2 * (four / safe) / safe, zero)
    return _root(two / (BLOCK**2 - 1)), skewness, kurtosis


def _moments(plane: Tensor, side: int) -> tuple[Tensor, ...]:
    """Return mean, and sums of 2nd to 4th powers around it, of windows of side × side tiles."""
    # They are centred on each tile's mean, then on the window's: raw powers would lose the digits.
    rows, columns = grid(*plane.shape[-2:])
    high, wide = STEP * (rows + 3), STEP * (columns + 3)
    tiles = plane[..., :high, :wide].unfold(-2, STEP, STEP).unfold(-2, STEP, STEP)
    mean = tiles.mean((-2, -1))
    away = tiles - mean[..., None, None]
    squares = away * away
    sums = [mean, squares.sum((-2, -1)), (squares * away).sum((-2, -1))]
    sums.append((squares * squares).sum((-2, -1)))
    first, two, three, four = (
        one.unfold(-2, side, 1).unfold(-2, side, 1)[..., :rows, :columns, :, :] for one in sums
    )
    middle = first.mean((-2, -1))
    d = first - middle[..., None, None]
    area = STEP * STEP
    return (
        middle,
        (two + area * d**2).sum((-2, -1)),
        (three + d * (3 * two + area * d**2)).sum((-2, -1)),
        (four + d * (4 * three + d * (6 * two + area * d**2))).sum((-2, -1)),
    )


def _least(deviation: Tensor, height: int, width: int) -> Tensor:
    """Return the least deviation of each block and its neighbours, as `masking.least` does."""
    rows, columns = deviation.shape[-2:]
    down, right = (
        sum(STEP * a + masking.PROBE < size - (BLOCK - 1) for a in range(count))
        for size, count in ((height, rows), (width, columns))
    )
    out = deviation
    for axis, count in ((-2, down), (-1, right)):
        here, rest = out.split([count, out.shape[axis] - count], axis)
        following = out.narrow(axis, 1, count)
        out = torch.cat([torch.minimum(here, following), rest], axis)
    return out


def _local_mse(error: Tensor) -> Tensor:
    """Return the mean square over the 16 × 16 pixels around each pixel, mirrored at the edges."""
    squares = error * error
    for axis in (-2, -1):
        size = error.shape[axis]
        places = np.arange(-BEFORE, size + BLOCK - 1 - BEFORE)
        places = np.where(places < 0, -1 - places, places)
        places = np.where(places >= size, 2 * size - 1 - places, places)
        squares = squares.index_select(axis, torch.as_tensor(places, device=error.device))
    squares = functional.avg_pool2d(squares[:, None], (BLOCK, 1), 1)
    return functional.avg_pool2d(squares, (1, BLOCK), 1)[:, 0]


def _spread(blocks: Tensor, shape: Any) -> Tensor:
    """Return a map of pixels: each block fills the 4 × 4 at its corner, 0 is beyond the blocks."""
    pixels = blocks.repeat_interleave(STEP, -2).repeat_interleave(STEP, -1)
    return functional.pad(
        pixels, (0, shape[-1] - pixels.shape[-1], 0, shape[-2] - pixels.shape[-2])
    )


def _rms(plane: Tensor) -> Tensor:
    """Return the root mean square of maps without their margins."""
    first, last = MARGIN
    return _root((plane[..., first:-last, first:-last] ** 2).mean((-2, -1)))


def _combined(hi: Tensor, lo: Tensor) -> Tensor:
    """Return MAD; where HI or LO is 0 it is 0, without a gradient."""
    sig = 1 / (1 + B1 * _positive(hi) ** B2)
    found = _positive(hi) ** sig * _positive(lo) ** (1 - sig)
    return torch.where((hi > 0) & (lo > 0), found, torch.zeros_like(found))


def _positive(values: Tensor) -> Tensor:
    """Return values with 1 in the place of what is not positive, which the caller leaves out."""
    return torch.where(values > 0, values, torch.ones_like(values))


def _root(values: Tensor) -> Tensor:
    """Return the square root; its gradient at 0, which is infinite, counts as 0."""
    return torch.where(values > 0, _positive(values).sqrt(), torch.zeros_like(values))


@lru_cache(KEPT)
def _csf(height: int, width: int, dtype: Any, device: str) -> Tensor:
    return torch.as_tensor(csf(height, width), dtype=dtype, device=device)


@lru_cache(KEPT)
def _bank(height: int, width: int, dtype: Any, device: str) -> tuple[Tensor, Tensor]:
    radial = np.empty((len(loggabor.WAVELENGTHS), height, width))
    angular = np.empty((loggabor.ORIENTATIONS, height, width))
    loggabor.bank(slice(0, height), radial, angular)
    first, second = (torch.as_tensor(one, dtype=dtype, device=device) for one in (radial, angular))
    return first, second
