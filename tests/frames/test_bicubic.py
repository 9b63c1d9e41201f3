"""Bicubic enlarging against the definition: all phases, origins, types, layouts."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.bicubic import bicubic, cubic, phases
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format
from snellen.frames.quantise import quantise, recode
from support.aplus import reference

WHITE = {np.uint8: 255, np.uint16: 65535, np.float32: 1}

# One pass: weights, products and three sums each round by 2⁻²⁴ of at most 1.25 (the sum of a
# row's |weights|): 4e-7. The second pass enlarges that by 1.25 and adds its own 5e-7.
ERROR = 1e-6


def drawn(random, shape, dtype):
    if dtype is np.float32:
        return random.random(shape, np.float32)
    return random.integers(0, WHITE[dtype], shape, dtype, endpoint=True)


def enlarged(plane, scale, shape=None, **options):
    out = np.full(shape or (plane.shape[0] * scale, plane.shape[1] * scale), np.nan, np.float32)
    bicubic(plane, scale, out, **options)
    return out


def on_gpu(cuda, plane, out, scale, **options):
    """What the GPU writes to a copy of `out`; around both planes lies what must stay untouched."""
    buffer = cuda.full((out.shape[0] + 2, out.shape[1] + 13), 77, out.dtype)
    if out.dtype.kind == "f":
        buffer.fill(np.nan)
    pitched = cuda.full((plane.shape[0] + 1, plane.shape[1] + 5), 200, plane.dtype)
    there = pitched[:-1, :-5]
    there[...] = cuda.asarray(plane)
    before = buffer.get()
    bicubic(there, scale, buffer[1:-1, 6:-7], **options)
    after = buffer.get()
    found = after[1:-1, 6:-7].copy()
    after[1:-1, 6:-7] = before[1:-1, 6:-7]
    assert after.tobytes() == before.tobytes()
    return found


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("scale", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("siting", [CENTRE, LEFT, TOP_LEFT, (0.125, 0.75)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (6, 1), (2, 3), (4, 5), (23, 18)])
def test_the_whole_picture(random, dtype, scale, siting, shape):
    plane = drawn(random, shape, dtype)
    wanted = reference.bicubic(plane, scale, phase=siting)
    found = enlarged(plane, scale, phase=siting)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ERROR * WHITE[dtype])


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("origin", [(0, 0), (1, 2), (-9, -17), (5, -1), (-40, 7), (30, 41)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (50, 61)])
def test_any_part_even_outside(random, scale, origin, shape):
    plane = random.random((9, 11), np.float32)
    wanted = reference.bicubic(plane, scale, shape, (0.25, 0.5), origin)
    found = enlarged(plane, scale, shape, phase=(0.25, 0.5), origin=origin)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=ERROR)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_parts_are_the_bytes_of_the_whole(random, scale):
    plane = random.random((13, 17), np.float32)
    whole = enlarged(plane, scale)
    for top, left, rows, columns in [(0, 0, 5, 6), (7, 3, 11, 9), (19, 21, 6, 12)]:
        part = enlarged(plane, scale, (rows, columns), origin=(top, left))
        assert part.tobytes() == whole[top : top + rows, left : left + columns].tobytes()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_layouts(random, dtype):
    plane = drawn(random, (10, 14), dtype)
    wanted = enlarged(plane, 3)
    pitched = np.zeros((10, 32), dtype)
    pitched[:, :14] = plane
    flipped = np.ascontiguousarray(plane[::-1, ::-1])[::-1, ::-1]
    spaced = np.zeros((20, 42), dtype)
    spaced[::2, ::3] = plane
    fixed = plane.copy()
    fixed.flags.writeable = False
    layouts = [pitched[:, :14], flipped, spaced[::2, ::3], np.asfortranarray(plane), fixed]
    for layout in layouts:
        assert enlarged(layout, 3).tobytes() == wanted.tobytes()


def test_only_the_given_part_of_a_larger_output_is_written(random):
    plane = random.random((5, 6), np.float32)
    buffer = np.full((20, 40), np.nan, np.float32)
    bicubic(plane, 2, buffer[3:13, 4:28:2])
    assert buffer[3:13, 4:28:2].tobytes() == enlarged(plane, 2).tobytes()
    assert np.isfinite(buffer).sum() == 120


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("siting", [CENTRE, LEFT, TOP_LEFT])
def test_a_ramp_stays_where_it_is(scale, siting):
    """Cubic convolution reproduces straight lines: the geometry shows itself."""
    y, x = np.mgrid[:12, :15].astype(np.float32)
    found = enlarged(3 * x + 5 * y, scale, phase=siting)
    rows = np.arange(12 * scale) / scale + siting[1] / scale - siting[1]
    columns = np.arange(15 * scale) / scale + siting[0] / scale - siting[0]
    wanted = 3 * columns[None, :] + 5 * rows[:, None]
    inner = np.s_[2 * scale : -2 * scale, 2 * scale : -2 * scale]
    np.testing.assert_allclose(found[inner], wanted[inner], rtol=0, atol=ERROR * 100)


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
@pytest.mark.parametrize("value", [0, 1, 254, 255])
def test_a_constant_stays(scale, value):
    found = enlarged(np.full((4, 9), value, np.uint8), scale, phase=LEFT)
    np.testing.assert_allclose(found, value, rtol=ERROR)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_the_first_sample_of_top_left_chroma_stays_on_the_first(scale):
    """Phase 0 puts output sample 0 on input sample 0, exactly."""
    plane = np.arange(20, dtype=np.float32).reshape(4, 5) ** 2
    found = enlarged(plane, scale, phase=(0.0, 0.0))
    assert (found[::scale, ::scale] == plane).all()


def test_weights_sum_to_one():
    for scale in (1, 2, 3, 4, 5):
        for phase in (0.25, 0.5):
            first, weights = phases(scale, phase)
            assert first.shape == (scale,) and weights.shape == (scale, 4)
            np.testing.assert_allclose(weights.astype(float).sum(axis=1), 1, atol=4 * 2.0**-24)


def test_the_kernel_is_keys():
    x = np.array([0, 0.5, 1, 1.5, 2, 2.5, -0.5])
    assert cubic(x) == pytest.approx([1, 0.5625, 0, -0.0625, 0, 0, 0.5625])


# The GPU backend rounds where the CPU backend rounds: all bits must be equal.


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("scale", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("siting", [CENTRE, LEFT, TOP_LEFT, (0.125, 0.75)])
def test_the_gpu_gives_the_same_bytes(cuda, random, dtype, scale, siting):
    for shape in [(1, 1), (1, 7), (6, 1), (2, 3), (4, 5), (23, 78), (70, 31)]:
        plane = drawn(random, shape, dtype)
        out = np.empty((shape[0] * scale, shape[1] * scale), np.float32)
        bicubic(plane, scale, out, phase=siting)
        found = on_gpu(cuda, plane, out, scale, phase=siting)
        assert (found == out).all()  # and 0 is −0


@pytest.mark.gpu
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("origin", [(0, 0), (1, 2), (-9, -17), (5, -1), (-40, 7), (30, 41)])
def test_any_part_on_the_gpu(cuda, random, scale, origin):
    plane = random.random((9, 11), np.float32)
    for shape in [(1, 1), (3, 2), (50, 61)]:
        wanted = enlarged(plane, scale, shape, phase=LEFT, origin=origin)
        found = on_gpu(cuda, plane, wanted, scale, phase=LEFT, origin=origin)
        assert (found == wanted).all()


DEPTHS = {8: np.uint8, 10: np.uint16, 12: np.uint16, 16: np.uint16, 0: np.float32}


@pytest.mark.gpu
@pytest.mark.parametrize("bits", DEPTHS)
@pytest.mark.parametrize("to", DEPTHS)
@pytest.mark.parametrize("full", [False, True])
def test_depths_on_the_gpu(cuda, random, bits, to, full):
    """With ringing beyond black and white, which must be clipped."""
    source, target = (Format(29, 21, b, full_range=full) for b in (bits, to))
    white = (1 << bits) - 1 if bits else 255
    plane = random.choice([0, white // 3, white], (21, 29)).astype(DEPTHS[bits])
    depth = recode(source, target, chroma=True)
    wanted = np.empty((42, 58), DEPTHS[to])
    bicubic(plane, 2, wanted, phase=LEFT, depth=depth, bits=to)
    found = on_gpu(cuda, plane, wanted, 2, phase=LEFT, depth=depth, bits=to)
    assert (found == wanted).all()


@pytest.mark.parametrize("to", DEPTHS)
def test_depths_are_those_of_quantise(random, to):
    plane = drawn(random, (9, 11), np.uint8)
    wanted, found = np.empty((18, 22), DEPTHS[to]), np.empty((18, 22), DEPTHS[to])
    quantise(enlarged(plane, 2), (3.0, -7.0), to, wanted)
    bicubic(plane, 2, found, depth=(3.0, -7.0), bits=to)
    assert (found == wanted).all()
