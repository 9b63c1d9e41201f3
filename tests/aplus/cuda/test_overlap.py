"""Means of patches above the low frequency on the GPU against the CPU's, for every type."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.cuda.overlap import Overlap
from snellen.aplus.cuda.regress import row
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format
from snellen.frames.quantise import recode
from support.aplus.images import noise
from support.aplus.stages import places, whole

pytestmark = pytest.mark.gpu

UNTOUCHED = 99


def drawn(random, model, format):
    """A plane, and patches (H, (w·s)², W) of a tenth of white, as the CPU has them."""
    size = (format.height, format.width)
    white = (1 << format.bits) - 1 if format.bits else 1
    patches = random.normal(size=(size[0], (model.window * model.scale) ** 2, size[1]))
    return noise(random, format.bits, size), (0.1 * white * patches).astype(np.float32)


def laid_out(cuda, model, patches):
    """Patches as regress leaves them, with NaN where a row is filled up."""
    rows = np.full((patches.shape[0], patches.shape[2], row(model)), np.nan, np.float32)
    rows[..., places(model)] = patches.swapaxes(1, 2)
    return cuda.asarray(rows)


def summed(cuda, stage, model, plane, patches, dtype, rows=None, pitch=7):
    """Low-resolution rows first … last of the result; planes with a pitch, on both sides."""
    (height, width), s, half = plane.shape, model.scale, model.window // 2
    first, last = rows or (0, height)
    top, bottom = max(0, first - half), min(height, last + half)
    low = cuda.full((height, width + pitch), 77, plane.dtype)
    low[:, 3 : 3 + width] = cuda.asarray(plane)
    buffer = cuda.full(((last - first) * s + 2, width * s + pitch), UNTOUCHED, dtype)
    out = buffer[1:-1, 2 : 2 + width * s]
    given = laid_out(cuda, model, patches[top:bottom])
    stage(given, top, low[:, 3 : 3 + width], first, last, out)
    found = out.get()
    out[:] = UNTOUCHED
    assert (buffer == UNTOUCHED).all()
    return found


def check(found, model, plane, patches, source, target):
    """Half a step from the CPU's unquantised samples, and float32's rounding."""
    s = model.scale
    mid = np.full((plane.shape[0] * s, plane.shape[1] * s), np.nan, np.float32)
    bicubic(plane, s, mid)
    factor, offset = recode(source, target, chroma=False)
    wanted = whole(patches, mid, s, model.window).astype(np.float64) * factor + offset
    # On either side: two passes of four products of up to 1.3 of the plane, and 25 sums of patches,
    # divided by their number.
    greatest = float(np.abs(plane).max()) + float(np.abs(patches).max())
    error = 60 * 2.0**-24 * greatest * factor
    if target.bits:
        wanted = wanted.clip(0, (1 << target.bits) - 1)
        error += 0.5
    assert found.dtype == target.dtype
    assert np.abs(found - wanted).max() <= error


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("bits", [8, 0])
def test_every_scale_and_window(cuda, random, random_model, scale, window, bits):
    """Some blocks across and down, the last ones not full."""
    model = random_model(scale, window)
    source = Format(70, 19, bits)
    target = source.scaled(scale)
    plane, patches = drawn(random, model, source)
    stage = Overlap(model, source, target)
    found = summed(cuda, stage, model, plane, patches, target.dtype)
    check(found, model, plane, patches, source, target)


DEPTHS = [(8, 10), (8, 16), (8, 0), (10, 8), (10, 10), (12, 16), (16, 8), (16, 16), (16, 0), (0, 0)]


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize(("bits", "to"), DEPTHS)
def test_every_type(cuda, random, random_model, bits, to, full_range):
    model = random_model(2)
    source = Format(33, 21, bits, full_range=full_range)
    target = source.scaled(2, to)
    plane, patches = drawn(random, model, source)
    found = summed(cuda, Overlap(model, source, target), model, plane, patches, target.dtype)
    check(found, model, plane, patches, source, target)


@pytest.mark.parametrize("to", [8, 16])
def test_floats_are_code_values(cuda, random, random_model, to):
    model = random_model(2)
    source = Format(33, 21, 0)
    target = source.scaled(2, to)
    plane, patches = (x * np.float32((1 << to) - 1) for x in drawn(random, model, source))
    found = summed(cuda, Overlap(model, source, target), model, plane, patches, target.dtype)
    check(found, model, plane, patches, source, target)


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 3), (4, 4), (4, 40), (5, 5), (6, 7)])
@pytest.mark.parametrize(("scale", "window"), [(2, 3), (3, 3), (4, 3), (2, 5), (2, 1)])
def test_tiny_pictures(cuda, random, random_model, scale, window, size):
    model = random_model(scale, window)
    source = Format(size[1], size[0], 0)
    target = source.scaled(scale)
    plane, patches = drawn(random, model, source)
    found = summed(cuda, Overlap(model, source, target), model, plane, patches, np.float32)
    check(found, model, plane, patches, source, target)


@pytest.mark.parametrize("bits", [8, 0])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("rows", [1, 3, 8, 13])
def test_bands_are_the_bytes_of_the_whole(cuda, random, random_model, rows, window, bits):
    model = random_model(2, window)
    source = Format(37, 22, bits)
    stage = Overlap(model, source, source.scaled(2))
    plane, patches = drawn(random, model, source)
    wanted = summed(cuda, stage, model, plane, patches, source.dtype)
    for first in range(0, 22, rows):
        last = min(first + rows, 22)
        found = summed(cuda, stage, model, plane, patches, source.dtype, (first, last))
        assert found.tobytes() == wanted[2 * first : 2 * last].tobytes()


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_windows_at_the_edge_never_reach_the_inside(cuda, random, random_model, scale):
    """Patches of the authors' windows 0, the others huge: nothing inside may move."""
    model = random_model(scale)
    source = Format(10, 9, 0)
    plane, patches = drawn(random, model, source)
    stage = Overlap(model, source, source.scaled(scale))
    low = summed(cuda, stage, model, plane, 0 * patches, np.float32)
    patches[:] = 1e9
    patches[2:-2, :, 2:-2] = 0
    found = summed(cuda, stage, model, plane, patches, np.float32)
    inside = np.s_[scale:-scale, scale:-scale]
    assert (found[inside] == low[inside]).all()
    found[inside] = 1e9
    assert (found > 1e7).all()


@pytest.mark.parametrize(("bits", "to"), [(8, 8), (8, 10), (16, 8)])
def test_clipped(cuda, random, random_model, bits, to):
    model = random_model(2)
    source = Format(20, 20, bits)
    target = source.scaled(2, to)
    plane, patches = drawn(random, model, source)
    patches[:] = np.where(np.arange(20) < 10, -1e6, 1e6)
    found = summed(cuda, Overlap(model, source, target), model, plane, patches, target.dtype)
    assert (found[:, :14] == 0).all() and (found[:, 26:] == (1 << to) - 1).all()
