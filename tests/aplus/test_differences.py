"""The four difference images by column phase, against convolution in float64."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.differences import FILTERS, differences
from support.aplus import reference

SIZES = [(3, 3), (3, 9), (8, 3), (4, 5), (9, 12)]


def by_phase(planes, scale):
    """Convolutions without the outermost low-resolution pixels: (4, s, rows, columns)."""
    inner = [plane[scale:-scale, scale:-scale] for plane in planes]
    return np.array([[plane[:, phase::scale] for phase in range(scale)] for plane in inner])


def differed(mid, scale, centred=False):
    height, width = (length // scale - 2 for length in mid.shape)
    out = np.full((FILTERS, scale, scale * height, width), np.nan, np.float32)
    differences(mid, scale, centred, out)
    return out


@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("seed", "centred"), [(1, False), (2, False), (3, True)])
def test_against_convolution(scale, size, seed, centred):
    random = np.random.default_rng(seed)
    mid = random.random((size[0] * scale, size[1] * scale), np.float32)
    wanted = by_phase(reference.differences(mid.astype(np.float64), scale, centred), scale)
    # At most two sums of values up to 1, each rounded once; centred: two differences and their sum.
    atol = (3 if centred else 2) * reference.UNIT
    np.testing.assert_allclose(differed(mid, scale, centred), wanted, rtol=0, atol=atol)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_part_of_a_larger_plane_is_refused(random, scale):
    larger = random.random((9 * scale, 30 * scale + 5), np.float32)
    part = larger[scale : 8 * scale, 3 : 3 + 6 * scale]
    with pytest.raises(TypeError, match="C-contiguous"):
        differed(part, scale)


@pytest.mark.parametrize(("scale", "ahead", "behind"), [(2, 1, 1), (3, 2, 1), (4, 2, 2)])
def test_taps(scale, ahead, behind):
    """METHODS' trap: at ×3 the gradient is off-centre, M[j+2] − M[j−1]."""
    mid = np.zeros((7 * scale, 7 * scale), np.float32)
    y, x = 3 * scale + 1, 3 * scale + 1
    mid[y, x] = 1
    wanted = np.zeros((FILTERS, *mid.shape))
    wanted[0, y, x - ahead], wanted[0, y, x + behind] = 1, -1
    wanted[1, y - ahead, x], wanted[1, y + behind, x] = 1, -1
    wanted[2, y, x - scale], wanted[2, y, x], wanted[2, y, x + scale] = 0.5, -1, 0.5
    wanted[3, y - scale, x], wanted[3, y, x], wanted[3, y + scale, x] = 0.5, -1, 0.5
    assert (differed(mid, scale) == by_phase(wanted, scale)).all()


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_a_flat_strip_has_none(scale):
    assert (differed(np.full((5 * scale, 6 * scale), 0.7, np.float32), scale) == 0).all()
