"""CIE L*a*b* as sRGB: known colours, white points, 8 and 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames import lab

# L*, a*, b* relative to D50 of sRGB's primaries, by Bradford (Lindbloom's tables, 2 decimals).
KNOWN = {
    (100, 0, 0): (255, 255, 255), (0, 0, 0): (0, 0, 0), (53.39, 0, 0): (127.5, 127.5, 127.5),
    (54.29, 80.81, 69.89): (255, 0, 0), (87.82, -79.27, 80.99): (0, 255, 0),
    (29.57, 68.30, -112.03): (0, 0, 255),
}  # fmt: skip


@pytest.mark.cases
@pytest.mark.parametrize(
    ("dtype", "lightest", "step"),
    [(np.uint8, 255, 1), (np.uint16, 65535, 256), (np.uint16, 65280, 256)],
)
def test_known_colours(dtype, lightest, step):
    """8 bits: ±0.5 of a* and b*, ±0.2 of L* are up to 2 of 255 in sRGB, whose slope is steepest in
    the dark; there a primary's other components are 0, and ±0.5 of b* of blue become up to 14 (its
    linear 0.0003 · 100 · …), so that these are checked at 16 bits only."""
    middle = (np.iinfo(dtype).max + 1) // 2
    most = np.iinfo(dtype).max
    for (lightness, a, b), wanted in KNOWN.items():
        sample = np.rint([lightness / 100 * lightest, middle + a * step, middle + b * step])
        (found,) = lab.srgb(sample.astype(dtype)[None, None], lightest, step)[0]
        assert found.dtype == dtype
        if dtype == np.uint8 and (a or b):
            assert np.argmax(found) == np.argmax(wanted)
        else:
            np.testing.assert_allclose(found / most * 255, wanted, atol=2)


def test_neutral_is_neutral_whatever_the_white():
    grey = np.full((1, 256, 3), 128, np.uint8)
    grey[0, :, 0] = np.arange(256)
    for white in (lab.D50, lab.D65, (0.44, 0.41)):
        found = lab.srgb(grey, 255, 1, white).astype(int)
        assert (np.ptp(found, axis=2) <= 1).all()  # the matrices have four decimals
        assert (np.diff(found[0, :, 1]) >= 0).all()


def test_the_white_of_a_file():
    assert lab.chromaticity((0.3127, 0.329)) == (0.3127, 0.329)
    for odd in (None, (), (1,), (0.0, 0.0), (float("nan"), 0.3), "ab"):
        assert lab.chromaticity(odd) == lab.D50
