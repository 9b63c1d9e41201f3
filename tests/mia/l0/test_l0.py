"""prior="l0": the PSF of one photograph, and what comes back where there is none to find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import fftconvolve

from benchmarks import levin
from snellen.mia.l0 import prior as l0
from snellen.mia.l0.problem import Problem
from support.mia import drawn, reference
from support.mia.plain import deblur, estimate

SIDE = 9
MARGIN = 10  # what is beyond the picture blurs into it


def shaken(seed, shape=(96, 110), side=SIDE):
    """A scene that a hand shook, with noise, and the PSF."""
    random = np.random.default_rng(seed)
    sharp = drawn.scene(random, tuple(size + 2 * MARGIN for size in shape))
    psf = drawn.walk(random, side)
    y = fftconvolve(sharp, psf, "same")[MARGIN:-MARGIN, MARGIN:-MARGIN]
    return (y + random.normal(0, 0.003, shape)).clip(0, 1), psf


def alike(one, other):
    """Correlation of two PSFs, at the shift where it is greatest."""
    size = len(one) + len(other)
    spectra = (np.fft.rfft2(psf, (size, size)) for psf in (one, other))
    both = np.fft.irfft2(next(spectra) * next(spectra).conj(), (size, size))
    return both.max() / np.sqrt((one**2).sum() * (other**2).sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_known_psf_is_found(seed):
    y, psf = shaken(seed)
    found = estimate(y, SIDE + 2)
    assert found.shape == (SIDE + 2, SIDE + 2) and found.dtype == np.float64
    assert found.min() == 0 and found.sum() == pytest.approx(1)
    # Of 12 seeds the least was 0.957, of these 0.961; what MIA starts from comes to 0.85 at most.
    assert alike(found, psf) > 0.95
    assert alike(reference.bell(2, SIDE), psf) < 0.9


@pytest.mark.slow
def test_centre_of_mass_in_the_middle():
    found = estimate(shaken(0)[0], SIDE + 2)
    away = np.arange(SIDE + 2) - SIDE // 2 - 1
    assert all(abs((found.sum(axis) * away).sum()) <= 0.5 for axis in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_float32_and_float64_are_one_picture(seed):
    y = shaken(seed)[0]
    one, other = (estimate(y.astype(dtype), SIDE + 2) for dtype in ("float32", "float64"))
    # The tolerance for all backends. Both run the same code on samples that may round differently.
    assert (one * other).sum() / np.sqrt((one**2).sum() * (other**2).sum()) >= 0.999


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1 / 4, 1 / 16, 1 / 64, 8])
def test_a_dark_picture_has_the_psf_of_its_bright_twin(factor):
    """By a power of 2 nothing is rounded."""
    y = shaken(1)[0]
    assert 0.5 < y.max() <= 1
    np.testing.assert_allclose(estimate(y * factor, SIDE + 2), estimate(y, SIDE + 2), rtol=1e-12)


@pytest.mark.slow
def test_deep_pictures_of_unknown_white():
    """12 bits in 16: rounded, and not quite a sixteenth."""
    y, psf = shaken(1)
    one, other = (np.rint(y * white) / 65535 for white in (4095, 65535))
    found = [estimate(plane, SIDE + 2) for plane in (one, other)]
    assert alike(*found) > 0.99 and alike(found[0], psf) > 0.95


def test_pictures_that_fill_the_range_stay_as_they_are(random):
    plane = random.random((20, 24))
    for greatest in (0.51, 0.84, 1.0):
        plane[3, 4] = greatest
        clipped = plane.clip(0, greatest)
        assert l0.exposure(clipped) == 1
    for greatest, divisor in ((0.5, 0.5), (0.2, 0.25), (3.0, 4), (1e-3, 2**-9)):
        assert l0.exposure(clipped * greatest) == divisor
    assert l0.exposure(np.array([0, 5e-324])) == 5e-324


def test_progress():
    """After each iteration, of all levels."""
    calls = []
    estimate(shaken(1, (40, 45))[0], 9, lambda *step: calls.append(step))
    assert calls == [(done, 15) for done in range(1, 16)]


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(3))
def test_the_gpu_finds_the_same(cuda, seed):
    y = shaken(seed, (95, 113))[0]  # odd sizes
    found = estimate(cuda.asarray(y), SIDE + 2)
    # Both are float64; the transforms round differently, but no value is that near a threshold.
    np.testing.assert_allclose(found, estimate(y, SIDE + 2), rtol=0, atol=1e-8)


def test_even_sizes_count_one_more():
    y = shaken(1, (40, 45))[0]
    assert (estimate(y, 4) == estimate(y, 5)).all()


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_a_picture_of_one_value(value):
    found = estimate(np.full((20, 24), value, np.float32), 7)
    np.testing.assert_allclose(found, reference.bell(2, 7), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(7, 7), (8, 60), (33, 9)])
@pytest.mark.parametrize("size", [1, 2, 7])
def test_small_pictures_and_psfs(random, shape, size):
    point = np.zeros(shape)
    point[3, 4] = 1
    edge = np.repeat([[0.2, 0.9]], shape[0], 0).repeat(-(-shape[1] // 2), 1)[:, : shape[1]]
    for plane in (point, edge, random.random(shape), point * 1e-4):
        found = estimate(plane, size)
        assert found.shape == (2 * (size // 2) + 1,) * 2
        assert found.min() >= 0 and found.sum() == pytest.approx(1)


def test_iterations(monkeypatch):
    """Five at each level; λ falls by 1.1 each time, through all levels, to 1e-4."""
    calls = []

    def refined(self, psf, weight):
        calls.append((self.shape, len(psf), weight))
        return psf

    monkeypatch.setattr(Problem, "refined", refined)
    estimate(np.random.default_rng(1).random((255, 200)), 31)
    shapes = [(32, 25), (46, 36), (64, 50), (91, 71), (128, 100), (181, 142), (255, 200)]
    sides = [5, 7, 9, 11, 17, 23, 31]
    assert [one[:2] for one in calls] == [
        one for one in zip(shapes, sides, strict=True) for _ in range(5)
    ]
    weights = np.maximum(4e-3 / 1.1 ** np.arange(35), 1e-4)
    np.testing.assert_allclose([one[2] for one in calls], weights, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["im05_flit01", "im06_flit02"])
def test_pictures_of_levin(shared_data, name):
    """Real camera shake; all ten: `python -m benchmarks.levin`."""
    picture = next(one for one in levin.pictures(shared_data) if one.name == name)
    found = deblur(picture.blurred, prior="l0", device="cpu")
    true = deblur(picture.blurred, picture.psf, tv=0.001, device="cpu")
    error, best = (levin.evaluate(one.image, picture.sharp).error for one in (found, true))
    # Success by Levin et al. 2009; measured: 32.6 and 32.2 dB.
    assert error <= 2 * best and error < 7e-4
