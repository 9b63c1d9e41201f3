"""Sums of f and h around the iterations, and the data fidelity, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.fft import irfft2, rfft2
from snellen.gpu import device as devices
from snellen.mia.cuda.measure import Measure
from snellen.mia.cuda.scale import Scale
from snellen.mia.definition import EPS, Definition

pytestmark = pytest.mark.gpu

PERIODS = [(32, 64), (128, 128), (256, 32)]
COUNTS = [(1, 1), (3, 2), (1, 5)]
"""Pictures, frames."""


def drawn(random, counts, period):
    """y with a margin that is not observed, f and h."""
    y, h = (random.random((*counts, *period), np.float32) for _ in range(2))
    y[..., -3:, :] = -1
    return y, 3 * random.random((counts[0], *period), np.float32), h


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("counts", COUNTS)
def test_scale(cuda, random, monkeypatch, counts, period):
    """Outputs are NaN before; a PSF that has vanished is the one at the start; a black picture."""
    y, f, h = drawn(random, counts, period)
    for black in (False, True):
        f[-1] = 0 if black else f[-1]
        one = Scale()
        there = [cuda.full(shape, np.nan, np.float32) for shape in (y.shape, y.shape, y.shape)]
        halves = cuda.full((counts[0], 2, *period), np.nan, np.float32)
        given = [cuda.asarray(array) for array in (y, f, h)]
        one.start(given, there[0], halves, there[1], there[2])
        first = (h.astype(np.float64) / h.sum((2, 3), np.float64, keepdims=True)).astype(np.float32)
        with np.errstate(divide="ignore"):
            factor = np.exp2(np.rint(np.log2(f.sum((1, 2), np.float64))))[:, None, None, None]
        assert (there[0].get() == y).all() and (halves[:, 0].get() == f).all()
        assert cuda.isnan(halves[:, 1]).all()
        # Sums in another order may be rounded otherwise, by half of the last of 53 bits.
        np.testing.assert_allclose(there[1].get(), first, rtol=1.2e-7)
        assert (there[2].get() == (there[1].get() * factor).astype(np.float32)).all()
    repeated = cuda.full(y.shape, np.nan, np.float32)
    one.start((*given[:2], given[2][:1, :1]), there[0], halves, repeated, there[2])
    assert (repeated == there[1][:1, :1]).all()
    h[-1, -1] = 0
    there[2].set(h)
    for rows in (65535, 1):
        monkeypatch.setattr(devices, "GRID_ROWS", rows)
        total = there[2].sum((2, 3), keepdims=True)
        scaled = there[2] / cuda.maximum(total, np.float32(1e-30))
        wanted = cuda.where(total > 0, scaled, there[1])
        assert (one.psf(there[2], there[1]) == wanted).all()


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_measure(cuda, random, monkeypatch, noise, counts, period):
    """What CuPy's operations give; a picture of which nothing was observed; NaN."""
    y, f, h = (cuda.asarray(array) for array in drawn(random, counts, period))
    h /= h.sum((2, 3), keepdims=True)
    y[0, 0, 0, 0] = 0
    g = irfft2(rfft2(f)[:, None] * rfft2(h))
    if noise == "poisson":
        g = cuda.maximum(g, np.float32(EPS))
        terms = y * cuda.log(cuda.maximum(y, np.float32(1e-30)) / g) - y + g
    else:
        terms = (y - g) ** 2
    wanted = cuda.where(y >= 0, terms, 0).sum((1, 2, 3), dtype=np.float64)
    wanted = (wanted / (y >= 0).sum((1, 2, 3))).get()
    for rows in (65535, 1):
        monkeypatch.setattr(devices, "GRID_ROWS", rows)
        found = Measure(Definition(noise), period)(y, f, h)
        assert found.dtype == np.float64
        # g is rounded as one product or two: by 1e-7 of its size, and the terms by that of g.
        np.testing.assert_allclose(found.get(), wanted, rtol=2e-6)
    y[0] = -1
    assert Measure(Definition(noise), period)(y, f, h)[0] == 0
    y[0], f[0] = 1, np.nan
    assert cuda.isnan(Measure(Definition(noise), period)(y, f, h)[0])
