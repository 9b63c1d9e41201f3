"""Where in a large picture the PSF is searched."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import fftconvolve

from snellen.mia.l0 import crops
from snellen.mia.l0.cuda import reduce
from snellen.mia.l0.leastsquares import conjugate_gradients, pruned
from snellen.mia.l0.problem import Problem
from support.mia import drawn
from support.mia.plain import estimate

EDGE = 8 * 10  # of crops for a PSF of 9 × 9


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Crops are small, and few."""
    monkeypatch.setattr(crops, "COUNT", 4)
    monkeypatch.setattr(crops, "SIDE", EDGE)


def texture(random, shape):
    return gaussian_filter(random.random(shape), 0.7) * 0.3 + 0.2


def rings(shape):
    """Rings 20 samples wide: long edges of all directions."""
    down, across = (np.arange(size) - size / 2 for size in shape)
    return 0.2 + 0.5 * (np.hypot(down[:, None], across) // 20 % 2)


def stripes(shape):
    return 0.2 + 0.5 * np.broadcast_to(np.arange(shape[1]) // 20 % 2, shape)


def corner(crop):
    return crop[0].start, crop[1].start


def test_small_pictures_as_a_whole(random):
    for shape in ((128, 128), (150, 160)):  # four crops of 80² would be as large
        assert crops.chosen(random.random(shape), 9) == [(slice(None), slice(None))]


@pytest.mark.parametrize("shape", [(300, 400), (161, 900), (40, 2000), (1000, 170)])
def test_crops_are_apart_and_inside(random, shape):
    found = crops.chosen(random.random(shape), 9)
    assert 1 <= len(found) <= crops.COUNT
    covered = np.zeros(shape, int)
    for rows, columns in found:
        covered[rows, columns] += 1
        assert (rows.stop - rows.start, columns.stop - columns.start) == (
            min(EDGE, shape[0]), min(EDGE, shape[1])
        )  # fmt: skip
    assert covered.max() == 1
    assert covered.sum() == len(found) * min(EDGE, shape[0]) * min(EDGE, shape[1])


def test_edges_before_textures_and_stripes(random):
    picture = np.full((320, 400), 0.4)
    picture[:160, :200] = texture(random, (160, 200))
    picture[160:, :200] = stripes((160, 200))
    picture[160:, 200:] = rings((160, 200))
    rows, columns = crops.chosen(picture, 9)[0]
    assert rows.start >= 140 and columns.start >= 180


def test_crops_complete_each_other(monkeypatch):
    """The second one is not the second best, but has the direction that the first one lacks."""
    sums = np.ones((crops.DIRECTIONS, 13, 17))
    sums[:, 2, 3], sums[0, 2, 3] = 9, 5
    sums[:, 2, 9] = 4
    sums[0, 9, 9] = 7
    planes = iter(sums)
    monkeypatch.setattr(crops, "_sums", lambda *_: next(planes))
    found = crops.chosen(np.ones((320, 400)), 9)
    assert [corner(one) for one in found[:3]] == [(40, 60), (180, 180), (40, 180)]


def test_saturated_samples_count_little(random):
    picture = texture(random, (320, 400)) * 0.2
    picture[160:, 200:] += rings((160, 200)) * 0.3
    assert corner(crops.chosen(picture, 9)[0]) >= (140, 180)
    picture[:160, :200] = (rings((160, 200)) * 3).clip(0, 1)
    assert corner(crops.chosen(picture, 9)[0]) >= (140, 180)


def test_the_range_does_not_matter(random):
    picture = rings((320, 400)) * random.random((320, 400))
    found = crops.chosen(picture, 9)
    assert crops.chosen(picture * 0.125, 9) == found
    assert crops.chosen(picture.astype(np.float32), 9) == found


def test_a_mean_and_a_maximum_of_each_square(random):
    plane = random.random((31, 44))
    mean, most = crops._reduced(plane, 3)
    for i, j in ((0, 0), (9, 13), (4, 7)):
        square = plane[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        assert mean[i, j] * plane[:30, :42].max() == pytest.approx(square.mean())
        assert most[i, j] * plane[:30, :42].max() == pytest.approx(square.max())


def test_sums_of_windows(random):
    plane = random.random((13, 17))
    for i, j in ((0, 0), (6, 8), (12, 16), (1, 15)):
        window = plane[max(i - 2, 0) : i + 3, max(j - 2, 0) : j + 3]
        assert crops._box(plane, 2)[i, j] == pytest.approx(window.sum())


def test_several_pictures_of_one_blur_add_up(random):
    """The normal equations of all of them, each with its own latent picture."""
    planes = [drawn.scene(random, (40, 44)) for _ in range(2)]
    psf = np.full((5, 5), 0.04)
    sums = [Problem([plane])._parts[0].correlations(psf, 4e-3) for plane in planes]
    own, other = (one + two for one, two in zip(*sums, strict=True))
    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(2) as within:
        found = Problem(planes, (pool, within)).refined(psf, 4e-3)
    wanted = pruned(conjugate_gradients(own, other))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
def test_a_psf_is_found_in_crops(random):
    sharp = drawn.scene(random, (340, 420))
    psf = drawn.walk(random, 9)
    y = fftconvolve(sharp, psf, "valid")
    y = (y + random.normal(0, 0.003, y.shape)).clip(0, 1)
    assert len(crops.chosen(y, 9)) == crops.COUNT
    found = estimate(y, 9)
    size = (32, 32)
    both = np.fft.irfft2(np.fft.rfft2(found, size) * np.fft.rfft2(psf, size).conj(), size)
    assert both.max() / np.sqrt((found**2).sum() * (psf**2).sum()) > 0.95


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gpu_chooses_the_same(cuda, random, dtype):
    picture = (drawn.scene(random, (331, 450)) * 0.9).astype(dtype)
    found = crops.chosen(cuda.asarray(picture), 9)
    assert found == crops.chosen(picture, 9) and len(found) > 1


@pytest.mark.gpu
def test_the_gpu_searches_crops(cuda, random):
    picture = fftconvolve(drawn.scene(random, (331, 450)), drawn.walk(random, 9), "valid")
    found = estimate(cuda.asarray(picture.clip(0, 1)), 9)
    # Both are float64; the transforms round differently, but no value is that near a threshold.
    np.testing.assert_allclose(found, estimate(picture.clip(0, 1), 9), rtol=0, atol=1e-8)


def test_the_kernel_of_a_gpu_is_one_object():
    """Its code is loaded at the first call only."""
    assert reduce._kernel() is reduce._kernel()
