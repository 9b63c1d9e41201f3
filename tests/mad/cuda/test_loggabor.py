"""The log-Gabor bank on the GPU against the reference's filters, every one and some of them."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.cuda.loggabor import BANDS, Bank
from support.mad import reference
from support.mad.precision import DTYPES, complex_of, finer

pytestmark = pytest.mark.gpu

SIZES = [(34, 34), (35, 34), (34, 35), (35, 37), (64, 48), (48, 64), (131, 70), (33, 300)]


def filtered(cuda, plane, dtype, first=0, count=BANDS):
    """Spectra (count, H, W) of a plane's subbands; nothing beyond them is touched."""
    height, width = plane.shape
    spectrum = cuda.asarray(np.fft.rfft2(plane).astype(complex_of(dtype)))
    out = cuda.full((count + 1, height, width), cuda.nan, complex_of(dtype))
    Bank(height, width, dtype)(spectrum, first, out[:count])
    assert cuda.isnan(out[count]).all()
    return out[:count].get()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_every_filter(cuda, random, size, dtype):
    plane = random.uniform(0, 255, size)
    found = filtered(cuda, plane, dtype) * float(plane.size)
    spectrum = np.fft.fft2(plane)
    wanted = reference.bank(size).reshape(BANDS, *size) * spectrum
    # Both factors are exp(−x²) of an x of some roundings (log, atan2), and at most 1.
    assert (np.abs(found - wanted) <= finer(dtype, 3e-6) * np.abs(spectrum)).all()
    assert (found[:, 0, 0] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "count"), [(0, 1), (3, 8), (7, 7), (19, 1), (0, 20)])
@pytest.mark.parametrize("size", [(34, 34), (35, 37)])
def test_some_are_the_bytes_of_all(cuda, random, size, first, count, dtype):
    plane = random.uniform(0, 255, size)
    found = filtered(cuda, plane, dtype, first, count)
    wanted = filtered(cuda, plane, dtype)[first : first + count]
    assert found.dtype == complex_of(dtype) and found.tobytes() == wanted.tobytes()
