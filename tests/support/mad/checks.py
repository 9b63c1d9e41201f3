"""How near the scores and maps of a GPU must come."""

from __future__ import annotations

import numpy as np
import pytest

from support.mad.precision import of_size

LO = 2e-4
"""What LO of small drawn pictures may be off where float32 is asked for: what FFTs leave in flat
patches and in wavelengths longer than the picture; in an emulation with NumPy up to 7e-5."""

NEAR = {None: (1e-5, 1e-5), "float32": (1e-5, LO), "float64": (1e-9, 1e-9)}
"""What HI of drawn pictures may be off, then LO and MAD."""


def near(values, shape, dtype):
    """What is asked: 1e-5, of float32 below 64 × 48 pixels 3e-5, and 1e-6 where nothing is seen.

    Float64, which small pictures get unasked, differs by the order of sums only.
    """
    if of_size(shape, dtype) == "float64":
        return pytest.approx(values, rel=1e-9 if dtype else 1e-8, abs=1e-12)
    small = min(shape[:2]) < 48 or max(shape[:2]) < 64
    return pytest.approx(values, rel=3e-5 if small else 1e-5, abs=1e-6)


def numbers(found):
    return [found.mad, found.hi, found.lo]


def check_maps(found, wanted, dtype=None, exact=1e-9):
    """Float32: 1e-3 of the greatest, as kurtosis in flat blocks is what FFTs leave there."""
    for one, other in zip((found.detection, found.appearance), wanted, strict=True):
        assert one.dtype == of_size(one.shape, dtype)
        share = exact if one.dtype == np.float64 else 1e-3
        np.testing.assert_allclose(one, other, rtol=0, atol=share * other.max() or 1e-9)
