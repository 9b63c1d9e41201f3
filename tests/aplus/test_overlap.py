"""The mean of the patches above each pixel, and the border rule, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.overlap import overlap
from support.aplus import reference
from support.aplus.stages import whole

SIZES = [(1, 1), (1, 6), (2, 3), (4, 9), (5, 4), (5, 5), (6, 7), (7, 7), (8, 9)]


def picture(random, size, scale, window):
    height, width = size
    patches = random.normal(size=(height, (window * scale) ** 2, width)).astype(np.float32)
    mid = random.random((height * scale, width * scale), np.float32)
    return patches, mid


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("window", [1, 3, 5])
@pytest.mark.parametrize("size", SIZES)
def test_against_every_pixel_by_itself(random, scale, window, size):
    patches, mid = picture(random, size, scale, window)
    found = whole(patches, mid, scale, window)
    wanted = reference.overlap(patches, mid, scale, window)
    # Up to 25 sums of magnitude 20 round by 1.2e-6 each; divided by 25, and mid's own unit added.
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-6)


@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("rows", [1, 2, 3, 7])
@pytest.mark.parametrize("size", [(3, 8), (7, 5), (13, 9), (16, 4)])
def test_strips_are_the_bytes_of_the_whole(random, window, rows, size):
    scale, half = 2, window // 2
    patches, mid = picture(random, size, scale, window)
    wanted = whole(patches, mid, scale, window)
    for first in range(0, size[0], rows):
        last = min(first + rows, size[0])
        top, bottom = max(0, first - half), min(size[0], last + half)
        out = np.full(((last - first) * scale, size[1] * scale), np.nan, np.float32)
        low = mid[first * scale : last * scale]
        overlap(patches[top:bottom], low, scale, window, first, top, size, out)
        assert out.tobytes() == wanted[first * scale : last * scale].tobytes()


def test_the_low_frequency_may_be_part_of_a_larger_plane(random):
    patches, mid = picture(random, (6, 8), 3, 3)
    buffer = np.full((30, 50), np.nan, np.float32)
    buffer[4:22, 5:29] = mid
    out = np.full(mid.shape, np.nan, np.float32)
    overlap(patches, buffer[4:22, 5:29], 3, 3, 0, 0, (6, 8), out)
    assert out.tobytes() == whole(patches, mid, 3, 3).tobytes()


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_windows_at_the_edge_never_reach_the_inside(random, scale):
    """Patches of the authors' windows 0, the others huge: nothing inside may move."""
    patches, mid = picture(random, (9, 10), scale, 3)
    patches[:] = 1e9
    patches[2:-2, :, 2:-2] = 0
    out = whole(patches, mid, scale, 3)
    inside = np.s_[scale:-scale, scale:-scale]
    assert (out[inside] == mid[inside]).all()
    out[inside] = 1e9
    assert (out > 1e7).all()


def test_too_small_for_the_authors_uses_all_windows(random):
    patches, mid = picture(random, (4, 12), 2, 3)
    patches[:] = 1
    patches[0] = 7
    out = whole(patches, mid, 2, 3) - mid
    # Rows 0 and 1 of the low-resolution picture see row 0's windows: means of (7, 1), (7, 1, 1).
    # A sum of nine values up to 7, and mid added and taken away again: under 16 units of 2⁻²⁴.
    np.testing.assert_allclose(out[:2], 4, atol=1e-6)
    np.testing.assert_allclose(out[2:4], 3, atol=1e-6)
    np.testing.assert_allclose(out[4:], 1, atol=1e-6)
