"""cuFFT's plans for whole planes against NumPy's float64: any size, number of planes, precision."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.fft.plan import Plan
from support.mad.precision import DTYPES, complex_of, finer

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (35, 37), (64, 48), (131, 257), (45, 600), (600, 45)]
"""Even, odd, both, primes (which cuFFT transforms by Bluestein's way)."""


def check(found, wanted, dtype):
    assert found.dtype in (dtype, complex_of(dtype))
    # Float32 rounds each of some ten passes (log2 of the size), thrice as many for primes.
    error = np.linalg.norm(found.get().astype(np.complex128) - wanted)
    assert error <= finer(dtype, 2e-6) * np.linalg.norm(wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_forward(cuda, random, size, dtype):
    given = random.uniform(0, 255, size).astype(dtype)
    there = cuda.asarray(given)
    out = cuda.full((size[0], size[1] // 2 + 1), cuda.nan, complex_of(dtype))
    Plan("r2c", *size, dtype)(there, out)
    check(out, np.fft.rfft2(given.astype(np.float64)), dtype)
    assert (there.get() == given).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_back(cuda, random, size, dtype):
    spectrum = np.fft.rfft2(random.normal(size=size)).astype(complex_of(dtype))
    there = cuda.full(size, cuda.nan, dtype)
    Plan("c2r", *size, dtype)(cuda.asarray(spectrum), there)
    wanted = size[0] * size[1] * np.fft.irfft2(spectrum.astype(np.complex128), size)
    check(there, wanted, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [1, 4, 7])
@pytest.mark.parametrize("size", SIZES)
def test_inverse_in_place(cuda, random, size, batch, dtype):
    given = random.normal(size=(batch + 1, *size, 2)).astype(dtype)
    given = given.view(complex_of(dtype))[..., 0]
    there = cuda.asarray(given)
    Plan("inverse", *size, dtype, batch)(there[:batch], there[:batch])
    wanted = size[0] * size[1] * np.fft.ifft2(given[:batch].astype(np.complex128))
    check(there[:batch], wanted, dtype)
    assert (there[batch].get() == given[batch]).all()
