"""cuFFT's plans for whole planes against NumPy's float64, at any size and number of planes."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.fft.plan import Plan

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (35, 37), (64, 48), (131, 257), (45, 600), (600, 45)]
"""Even, odd, both, primes (which cuFFT transforms by Bluestein's way)."""


def check(found, wanted):
    # Float32 rounds each of some ten passes (log2 of the size), thrice as many for primes.
    error = np.linalg.norm(found.get().astype(np.complex128) - wanted)
    assert error <= 2e-6 * np.linalg.norm(wanted)


@pytest.mark.parametrize("size", SIZES)
def test_forward(cuda, random, size):
    given = random.uniform(0, 255, size).astype(np.float32)
    there = cuda.asarray(given)
    out = cuda.full((size[0], size[1] // 2 + 1), cuda.nan, cuda.complex64)
    Plan("r2c", *size)(there, out)
    check(out, np.fft.rfft2(given.astype(np.float64)))
    assert (there.get() == given).all()


@pytest.mark.parametrize("size", SIZES)
def test_back(cuda, random, size):
    spectrum = np.fft.rfft2(random.normal(size=size)).astype(np.complex64)
    there = cuda.full(size, cuda.nan, cuda.float32)
    Plan("c2r", *size)(cuda.asarray(spectrum), there)
    check(there, size[0] * size[1] * np.fft.irfft2(spectrum.astype(np.complex128), size))


@pytest.mark.parametrize("batch", [1, 4, 7])
@pytest.mark.parametrize("size", SIZES)
def test_inverse_in_place(cuda, random, size, batch):
    given = random.normal(size=(batch + 1, *size, 2)).astype(np.float32).view(np.complex64)[..., 0]
    there = cuda.asarray(given)
    Plan("inverse", *size, batch)(there[:batch], there[:batch])
    check(there[:batch], size[0] * size[1] * np.fft.ifft2(given[:batch].astype(np.complex128)))
    assert (there[batch].get() == given[batch]).all()
