"""The contrast sensitivity on the GPU: its gains, and planes that went through it."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.csf import csf
from snellen.mad.cuda.csf import Csf
from support.mad import reference
from support.mad.precision import DTYPES, complex_of, finer

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (35, 37), (64, 48), (48, 64), (131, 70), (33, 600)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [*SIZES, (2160, 3840), (3840, 2160)])
def test_gains(cuda, size, dtype):
    height, half = size[0], size[1] // 2 + 1
    spectrum = cuda.ones((height + 1, half), complex_of(dtype))
    Csf(*size, dtype)(spectrum[:height])
    assert (spectrum[height] == 1).all() and (spectrum.imag == 0).all()
    found = spectrum[:height].real.get().astype(np.float64) * (size[0] * size[1])
    # powf and expf, whose argument goes to −40 at the corners of a tall picture: 40 roundings.
    np.testing.assert_allclose(found, csf(*size), rtol=finer(dtype, 5e-6))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_filtered_planes_are_those_of_the_reference(cuda, random, size, dtype):
    """Also that half a spectrum is enough: the reference takes the real part of a complex plane."""
    plane = random.uniform(0, 2, size)
    there = cuda.asarray(np.fft.rfft2(plane).astype(complex_of(dtype)))
    Csf(*size, dtype)(there)
    found = np.fft.irfft2(there.get().astype(np.complex128) * (size[0] * size[1]), size)
    # The spectrum's rounding, and 5e-6 of each gain; both spread evenly over the plane.
    wanted = reference.filtered(plane)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=finer(dtype, 1e-5))
