"""Samples to planes and back on the GPU: the bytes of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.colour import rgb, ycc
from snellen.frames.frame import Format
from snellen.upscaling.cuda.samples import LARGEST, Check, Samples, _most, limit
from snellen.upscaling.sample_values import store
from support.aplus.images import WHITE, drawn

KINDS = [("uint8", 8), ("uint16", 8), ("uint16", 10), ("uint16", 16),
         ("float16", 0), ("float32", 0), ("float64", 0)]  # fmt: skip
CASES = [(dtype, channels, bits) for dtype, bits in KINDS for channels in (1, 3, 4)
         if not (channels == 1 and bits == 8 * np.dtype(dtype).itemsize)]  # fmt: skip


def test_limits():
    assert limit(np.dtype("uint8"), 8) == 255 and limit(np.dtype("uint16"), 10) == 1023
    assert limit(np.dtype("float16"), 0) == 65504
    assert limit(np.dtype("float64"), 0) == np.finfo(np.float32).max


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "channels", "bits"), CASES)
def test_there_and_back(cuda, random, dtype, channels, bits):
    kind, size = np.dtype(dtype), (37, 53)
    picture = drawn(random, size if channels == 1 else (*size, channels), dtype)
    if bits:
        picture >>= 8 * kind.itemsize - bits
    plane = np.dtype(np.float32) if channels > 1 else Format(1, 1, bits).dtype
    count = max(channels, 1)
    planes = tuple(cuda.full(size, 99, plane if n == 0 else np.float32) for n in range(count))
    ours = Samples(kind, channels, bits, plane)
    ours.split(cuda.asarray(picture), planes)
    wanted = (picture,) if channels == 1 else (*ycc(picture), picture[..., 3:])[:channels]
    for found, one in zip(planes, wanted, strict=True):
        assert found.get().tobytes() == one.reshape(size).astype(found.dtype).tobytes()
    if channels == 1 and bits:
        large = [random.integers(0, 1 << bits, size).astype(plane)]
    else:  # beyond both ends, and ties
        white = (1 << bits) - 1 if bits else WHITE[dtype]
        large = [(random.normal(size=size) * 1.5 * white).astype(np.float32) for _ in planes]
        large[0] = np.rint(large[0] * 2) / 2
        if dtype == "float16":
            large[-1][:9] *= np.float32(1e5)
    there = cuda.full(picture.shape, 77, dtype)
    ours.join(tuple(map(cuda.asarray, large)), there)
    result = np.empty(picture.shape, kind)
    with np.errstate(all="ignore"):
        if channels == 1:
            store(large[0], bits, result)
        else:
            store(rgb(tuple(large[:3])), bits, result[..., :3])
            store(large[-1], bits, result[..., -1]) if channels == 4 else None
    assert there.get().tobytes() == result.tobytes()


@pytest.mark.parametrize("largest", [1.5, LARGEST])
def test_the_greatest_magnitude_as_a_literal(largest):
    """Of float16 its bits, in the order of which magnitudes are; below infinity, 0x7c00."""
    literals = [_most(np.dtype(kind), 0, largest) for kind in ("float16", "float32", "float64")]
    half = np.array(int(literals[0]), np.uint16).view(np.float16)
    assert float(half) == min(largest, 65504)
    assert float(literals[1].removesuffix("f")) == pytest.approx(largest, rel=1e-7)
    assert float(literals[1].removesuffix("f")) <= largest == float(literals[2])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_of_another_range(cuda, dtype):
    check, found = Check(np.dtype(dtype), 0, 1.5), cuda.full(1, 99, np.int32)
    for value, odd in [(1.5, 0), (-1.5, 0), (1.502, 1), (-2, 1), (np.nan, 1), (np.inf, 1)]:
        plane = cuda.zeros((30, 41), dtype)
        plane[7, 8] = value
        check(plane, found)
        assert found.get()[0] == odd, value


@pytest.mark.gpu
@pytest.mark.parametrize(("dtype", "bits"), [("uint16", 10), *KINDS[4:]])
def test_what_cannot_be_used(cuda, random, dtype, bits):
    kind = np.dtype(dtype)
    check, found = Check(kind, bits), cuda.full(1, 99, np.int32)
    plane = drawn(random, (300, 401), dtype)
    plane = plane >> 6 if bits else plane
    good = [plane, np.zeros_like(plane), np.full_like(plane, 1023)]
    bad = [1024, 65535] if bits else [np.nan, np.inf, -np.inf]
    if dtype in ("float32", "float64"):
        beyond = kind.type(LARGEST)
        while float(beyond) <= LARGEST:
            beyond = np.nextafter(beyond, kind.type(np.inf))
        bad += [beyond, -beyond]
        good += [np.full_like(plane, np.nextafter(beyond, kind.type(0)))]
    for one in good:
        check(cuda.asarray(one), found)
        assert found.get()[0] == 0
    for value in bad:
        for place in (0, 12345, plane.size - 1):
            one = plane.copy()
            one.flat[place] = value
            check(cuda.asarray(one), found)
            assert found.get()[0] == 1


@pytest.mark.parametrize(("dtype", "bits", "needed"), [
    ("uint8", 8, False), ("uint16", 16, False), ("uint16", 8, True), ("float16", 0, True),
])  # fmt: skip
def test_when_samples_are_looked_at(dtype, bits, needed):
    assert Check.needed(np.dtype(dtype), bits) == needed
