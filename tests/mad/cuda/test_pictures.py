"""Pictures to luma on the GPU: the bytes of NumPy, and samples that cannot be scored."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.cuda.pictures import Luma, Pictures
from snellen.mad.pictures import plain

CASES = [("uint8", 255), ("uint8", 200), ("uint16", 65535), ("uint16", 1023), ("float16", 1.0),
         ("float32", 255.0), ("float64", 1.0), ("float64", 255.0)]  # fmt: skip


def drawn(random, dtype, shape, peak):
    """Samples from black to white, floats a little beyond both."""
    if np.dtype(dtype).kind == "u":
        return random.integers(0, int(peak) + 1, shape).astype(dtype)
    beyond = 0 if dtype == "float16" else 7e-7
    picture = (random.uniform(-0.1, 1.1, shape).clip(-beyond, 1 + beyond) * peak).astype(dtype)
    picture.flat[5] = -0.0
    return picture


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("dtype", "channels", "peak"), [(d, c, p) for d, p in CASES for c in (1, 3)]
)
def test_luma(cuda, random, dtype, channels, peak):
    picture = drawn(random, dtype, (61, 67, 3)[: 2 + channels // 3], peak)
    luma, odd = Luma(np.dtype(dtype), channels, peak), cuda.zeros(1, np.int32)
    wanted = plain(picture, peak, "cpu")
    plane = cuda.full((61, 67), 99, luma.plane)
    luma(cuda.asarray(picture), plane, odd)
    assert plane.dtype == wanted.dtype and plane.get().tobytes() == wanted.tobytes()
    assert odd.get()[0] == 0
    bad = [np.nan, np.inf, -np.inf, -0.01 * peak, 1.01 * peak]
    if picture.dtype.kind == "u":
        bad = [peak + 1, np.iinfo(dtype).max] if peak < np.iinfo(dtype).max else []
    for value in bad:
        for place in (0, picture.size // 2, picture.size - 1):
            one = picture.copy()
            one.flat[place] = value
            odd.fill(0)
            luma(cuda.asarray(one), plane, odd)
            assert odd.get()[0] == 1
            luma(cuda.asarray(picture), plane, odd)
            assert odd.get()[0] == 1  # it stays


@pytest.mark.gpu
def test_many_in_flight(cuda, random):
    shape, dtype = (70, 80, 3), np.dtype("uint8")
    batch = random.integers(0, 256, (20, *shape), np.uint8)
    pictures = Pictures(shape, dtype, 255.0, "cuda:0")
    for _ in range(2):
        pictures.begin()
        with pictures.stream:
            planes = [pictures.plane(picture) for picture in batch]
            pictures.stream.synchronize()
        for picture, plane in zip(batch, planes, strict=True):
            np.testing.assert_array_equal(plane.get(), plain(picture, 255.0, "cpu"))
        assert not pictures.odd()
    pictures.close()
