"""Statistics of subbands and their differences on the GPU, in one strip and in many."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.cuda.statistics import Statistics
from snellen.mad.definition import grid
from support.mad import reference
from support.mad.precision import DTYPES, complex_of, finer

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (36, 36), (37, 53), (131, 70), (40, 524), (45, 1031)]
"""A strip has 29 blocks across (128 pixels), a block of threads four strips."""


def drawn(random, size, dtype, count=3, level=0.0):
    """Responses, one of them 0 all over and one in a part."""
    bands = random.normal(level, 1, (count, *size, 2)).astype(dtype)
    bands = bands.view(complex_of(dtype))[..., 0]
    bands[0, :20, :24] = 0
    if count > 1:
        bands[1] = 0
    return bands


def moments(bands):
    """The reference's (count, 3, rows, columns)."""
    magnitudes = np.abs(bands.astype(np.complex128))
    return np.stack([reference.moments(plane) for plane in magnitudes])


def described(cuda, bands):
    count, height, width = bands.shape
    dtype = bands.real.dtype.name
    out = cuda.full((count + 1, 3, *grid(height, width)), cuda.nan, dtype)
    Statistics(height, width, dtype, count).describe(cuda.asarray(bands), out[:count])
    assert cuda.isnan(out[count]).all()
    return out[:count]


def compared(cuda, bands, kept, first=0):
    count, height, width = bands.shape
    dtype = bands.real.dtype.name
    out = cuda.full((count + 1, *grid(height, width)), cuda.nan, dtype)
    Statistics(height, width, dtype, count).compare(cuda.asarray(bands), kept, first, out[:count])
    assert cuda.isnan(out[count]).all()
    return out[:count].get()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_against_the_reference(cuda, random, size, dtype):
    bands = drawn(random, size, dtype)
    found, wanted = described(cuda, bands).get(), moments(bands)
    # Magnitudes, means and sums each round to 2⁻²⁴ of themselves; kurtosis divides twice.
    for which, rtol, atol in ((0, 5e-6, 0), (1, 1e-5, 1e-5), (2, 2e-5, 0)):
        np.testing.assert_allclose(
            found[:, which], wanted[:, which], finer(dtype, rtol), finer(dtype, atol)
        )
    assert (found[1] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [(64, 48), (61, 45)])
def test_a_small_deviation_of_large_values(cuda, random, size, dtype):
    """As coarse scales have it: raw moments in float32 would have no digit of it."""
    bands = drawn(random, size, dtype, level=100.0)[2:]
    found, wanted = described(cuda, bands).get(), moments(bands)
    # Magnitudes of 141 are rounded to 4e-6 beside a deviation of 1; so are means of tiles.
    near = finer(dtype, 5e-5)
    np.testing.assert_allclose(found, wanted, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("factor", [1e-4, 1e-2, 1e3])
def test_scaled_responses(cuda, random, factor, dtype):
    """Fourth powers of 1e-4 are still far from float32's least number."""
    bands = drawn(random, (50, 61), dtype, 1) * np.dtype(dtype).type(factor)
    found, wanted = described(cuda, bands).get(), moments(bands)
    rtol, atol = finer(dtype, 2e-5), finer(dtype, 1e-5)
    np.testing.assert_allclose(found[:, 0], wanted[:, 0], rtol=finer(dtype, 5e-6))
    np.testing.assert_allclose(found[:, 1:], wanted[:, 1:], rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "count"), [(0, 3), (3, 6), (15, 5), (19, 1)])
@pytest.mark.parametrize("size", [(37, 53), (64, 130)])
def test_differences(cuda, random, size, first, count, dtype):
    one, other = (drawn(random, size, dtype, count, level) for level in (0, 0.7))
    found = compared(cuda, other, described(cuda, one), first)
    std, skew, kurtosis = np.abs(moments(other) - moments(one)).swapaxes(0, 1)
    weights = reference.SCALE_WEIGHTS[np.arange(first, first + count) // 4][:, None, None]
    # Kurtosis, some 2 to 10 here, is within 2e-5 of itself on both sides; the others are less.
    error = np.abs(found - weights * (std + 2 * skew + kurtosis))
    assert (error <= finer(dtype, 4e-4) * weights).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_equal_bands_do_not_differ(cuda, random, size, dtype):
    """Not by a rounding: the kernel that keeps and the one that compares compute the same."""
    bands = drawn(random, size, dtype, 4, 0.3)
    assert (compared(cuda, bands, described(cuda, bands)) == 0).all()


def tiles_of(cuda, bands):
    """Moments of the tiles, as `subbands.Subbands` returns them."""
    count, height, width = bands.shape
    whole = np.abs(bands.astype(np.complex128))[:, : height // 4 * 4, : width // 4 * 4]
    split = whole.reshape(count, height // 4, 4, width // 4, 4).swapaxes(2, 3)
    pixels = split.reshape(*split.shape[:3], 16)
    mean = pixels.mean(axis=-1, keepdims=True)
    powers = [((pixels - mean) ** n).sum(axis=-1) for n in (2, 3, 4)]
    return cuda.asarray(np.stack([mean[..., 0], *powers], -1).astype(np.float32))


@pytest.mark.parametrize("size", SIZES)
def test_moments_of_tiles_given(cuda, random, size):
    """As from the responses; equal ones do not differ."""
    one, other = (drawn(random, size, "float32", 3, level) for level in (0, 0.7))
    shape = 3, *grid(*size)
    kept = cuda.full((4, shape[0], *shape[1:]), cuda.nan, np.float32)
    out = cuda.full((4, *shape[1:]), cuda.nan, np.float32)
    stage = Statistics(*size, "float32", 3, tiles=True)
    stage.describe(tiles_of(cuda, one), kept[:3])
    wanted = described(cuda, one)
    np.testing.assert_allclose(kept[:3].get(), wanted.get(), rtol=2e-5, atol=1e-5)
    stage.compare(tiles_of(cuda, other), kept[:3], 11, out[:3])
    weights = reference.SCALE_WEIGHTS[np.arange(11, 14) // 4][:, None, None]
    error = np.abs(out[:3].get() - compared(cuda, other, wanted, 11))
    assert (error <= 4e-4 * weights).all()
    assert cuda.isnan(kept[3]).all() and cuda.isnan(out[3]).all()
    stage.compare(tiles_of(cuda, one), kept[:3], 11, out[:3])
    assert (out[:3].get() == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [140, 141])
@pytest.mark.parametrize("shortest", [1, 2, 7, 10_000])
def test_strips_change_nothing(cuda, random, monkeypatch, shortest, width, dtype):
    bands = drawn(random, (131, width), dtype)
    wanted = described(cuda, bands).get()
    monkeypatch.setattr("snellen.mad.cuda.strips.SHORTEST", shortest)
    if shortest < 10:
        monkeypatch.setattr("snellen.mad.cuda.strips.multiprocessors", lambda: 10_000)
    assert described(cuda, bands).get().tobytes() == wanted.tobytes()
