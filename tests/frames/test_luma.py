"""Luma as floats."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.frames.luma import levels, samples


@pytest.mark.parametrize("bits", [8, 10, 16])
@pytest.mark.parametrize("full_range", [False, True])
def test_code_values_are_looked_up(bits, full_range):
    """Every one of the type, also beyond the depth, with the bits of the formula."""
    format = Format(4, 4, bits, full_range=full_range)
    codes = np.arange(np.iinfo(format.dtype).max + 1, dtype=format.dtype).reshape(16, -1)[:, ::3]
    black, white = (np.float32(level) for level in levels(format))
    floats = (codes.astype(np.float32) - black) / (white - black)
    found = samples(codes, format)
    assert found.dtype == np.float32 and found.flags.writeable and found.flags.c_contiguous
    assert (found == np.maximum(floats, 0)).all()
