"""Maps, their root mean squares and the score on the GPU, for every type of sample."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.precision import samples
from snellen.mad.definition import Definition, grid
from support.mad import reference
from support.mad.precision import DTYPES, finer
from support.mad.samples import TYPES, drawn

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (37, 53), (131, 70), (45, 600)]
"""Blocks of threads make 64 × 32 pixels of the detection map, of float64 64 × 16, or take
256 of the grid."""


class Combined:
    """All that the stage makes of two planes of samples, a mask and planes of differences."""

    def __init__(self, cuda, planes, mask, differences, format, peak, **how):
        dtype = mask.dtype
        stage = Combine(Definition(**how), format, peak, dtype.name)
        stage._hi[...], stage._lo[...] = cuda.nan, cuda.nan
        one, other = (cuda.asarray(plane, samples(format, dtype.name)) for plane in planes)
        mask, looks = (cuda.asarray(x) for x in (mask, differences))
        maps = cuda.full((2, *one.shape), cuda.nan, dtype)
        out = cuda.full(3, cuda.nan, cuda.float64)
        stage.detection(one, other, mask, None)
        stage.appearance(looks)
        stage.score(out)
        self.mad, self.hi, self.lo = out.get()
        stage.detection(one, other, mask, maps[0])
        stage.expand(looks[0], maps[1])
        self.total = looks[0].get()
        self.detection, self.appearance = maps.get()


def inputs(random, size, dtype, bits=8, peak=255, count=20):
    rows, columns = grid(*size)
    mask = random.uniform(-1, 2, (rows, columns)).clip(0).astype(dtype)
    differences = random.uniform(0, 0.5, (count, rows, columns)).astype(dtype)
    return drawn(random, size, bits, peak), mask, differences


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("bits", "peak"), TYPES)
def test_against_the_reference(cuda, random, size, bits, peak, dtype):
    planes, mask, differences = inputs(random, size, dtype, bits, peak)
    found = Combined(cuda, planes, mask, differences, Format(size[1], size[0], bits), peak)
    greys = [plane.astype(np.float64) * (255 / peak) for plane in planes]
    detection = reference.spread(mask.astype(np.float64), size) * reference.local_mse(*greys)
    appearance = reference.spread(differences.sum(0, dtype=np.float64), size)
    # The factor's rounding comes twice, and sums of 256 squares have some 20 additions in a row.
    np.testing.assert_allclose(found.detection, detection, rtol=finer(dtype, 3e-6))
    np.testing.assert_allclose(found.appearance, appearance, rtol=finer(dtype, 3e-6))
    hi, lo = 200 * reference.pooled(detection), reference.pooled(appearance)
    assert (found.hi, found.lo) == pytest.approx((hi, lo), rel=finer(dtype, 2e-6))
    assert found.mad == pytest.approx(reference.combine(hi, lo), rel=finer(dtype, 2e-6))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [200.0, 10, 1.0])
def test_scale_of_hi(cuda, random, scale, dtype):
    found = Combined(cuda, *inputs(random, (40, 45), dtype), Format(45, 40), 255, hi_scale=scale)
    assert found.hi == pytest.approx(scale * reference.pooled(found.detection.astype(float)), 1e-12)
    assert found.mad == pytest.approx(reference.combine(found.hi, found.lo), rel=1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3, 20])
def test_planes_are_summed_into_the_first(cuda, random, count, dtype):
    given = inputs(random, (70, 81), dtype, count=count)
    found = Combined(cuda, *given, Format(81, 70), 255)
    np.testing.assert_allclose(
        found.total, given[2].sum(0, dtype=np.float64), rtol=finer(dtype, 2e-6)
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_columns_beyond_the_blocks_are_0(cuda, random, dtype):
    size = (39, 42)
    found = Combined(cuda, *inputs(random, size, dtype), Format(42, 39), 255)
    rows, columns = (4 * n for n in grid(*size))
    for plane in (found.detection, found.appearance):
        assert (plane[rows:] == 0).all() and (plane[:, columns:] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("which", [(1, 0), (0, 1), (0, 0)])
def test_where_one_of_both_is_0(cuda, random, which, dtype):
    planes, mask, differences = inputs(random, (67, 80), dtype)
    mask, differences = mask * mask.dtype.type(which[0]), differences * mask.dtype.type(which[1])
    found = Combined(cuda, planes, mask, differences, Format(80, 67), 255)
    assert (found.hi > 0, found.lo > 0) == (which[0] > 0, which[1] > 0)
    assert found.mad == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_only_the_inner_area_is_pooled(cuda, random, dtype):
    """A single pixel of the smallest picture: row and column 16."""
    planes, mask, differences = inputs(random, (34, 34), dtype)
    mask[:], differences[:] = 1, 1
    found = Combined(cuda, planes, mask, differences, Format(34, 34), 255)
    assert found.hi == pytest.approx(200 * float(found.detection[16, 16]), rel=1e-6)
    mask[4, 4] = differences[:, 4, 4] = 0
    found = Combined(cuda, planes, mask, differences, Format(34, 34), 255)
    assert found.hi == found.lo == found.mad == 0
