"""Detection, step 2."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.csf import csf
from support.mad import reference
from support.mad.drawn import SIZES


@pytest.mark.parametrize("shape", [*SIZES, (40, 40), (41, 40), (40, 41), (41, 41)])
def test_half_a_spectrum_gives_the_real_part(random, shape):
    plane = random.normal(size=shape)
    spectrum = np.fft.rfft2(plane) * csf(*shape)
    found = np.fft.irfft2(spectrum, shape)
    # Two FFTs of float64 on values of 1.
    np.testing.assert_allclose(found, reference.filtered(plane), rtol=0, atol=1e-13)


def test_the_even_part_of_the_authors_filter():
    full = np.fft.ifftshift(reference.csf((36, 50)))
    down, across = -np.arange(36), -np.arange(50)
    even = (full + full[down][:, across]) / 2
    np.testing.assert_allclose(csf(36, 50), even[:, :26], rtol=1e-14)
