"""SciPy's transforms without scipy.fft: its bits, and scipy.fft where its module is another."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.fft

from snellen.cpu import transforms

OTHER = {"elsewhere": ("_nothing.such",), "another": ("_pocketfft.helper",)}


@pytest.fixture(params=["own", *OTHER])
def ours(request, monkeypatch):
    if request.param in OTHER:
        monkeypatch.setattr(transforms, "MODULES", OTHER[request.param])
    transforms._module.cache_clear()
    assert isinstance(transforms._module(), transforms._Public) == (request.param in OTHER)
    yield transforms
    transforms._module.cache_clear()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("real", ["float32", "float64"])
def test_the_bits_of_scipy(ours, random, real, workers):
    x = random.random((3, 45, 64)).astype(real)
    z = (x + 1j * x[::-1]).astype(np.result_type(real, np.complex64))
    half, row = scipy.fft.rfft2(x), scipy.fft.rfft(x)
    how, over = {"workers": workers}, {"overwrite_x": True}
    sizes, odd = (45, 64), half[..., :32]
    pairs = [
        (ours.rfft2(x, **how), half),
        (ours.rfft2(x[0], (50, 81), **how), scipy.fft.rfft2(x[0], (50, 81))),
        (ours.rfft(x, **how), row),
        (ours.irfft(row, 64, **how), scipy.fft.irfft(row, 64)),
        (ours.irfft2(half.copy(), sizes, **over, **how), scipy.fft.irfft2(half, sizes)),
        (ours.irfft2(odd, (45, 63), **how), scipy.fft.irfft2(odd, (45, 63))),
        (ours.fft2(z, **how), scipy.fft.fft2(z)),
        (ours.fft2(x, **how), scipy.fft.fft2(x)),
        (ours.ifft2(z.copy(), **over, **how), scipy.fft.ifft2(z.copy(), **over)),
        (ours.fft(z.copy(), axis=-2, **over, **how), scipy.fft.fft(z.copy(), axis=-2, **over)),
        (ours.ifft(z, axis=-2, **how), scipy.fft.ifft(z, axis=-2)),
    ]
    for number, (found, wanted) in enumerate(pairs):
        assert found.dtype == wanted.dtype, number
        assert found.tobytes() == wanted.tobytes(), number
    with pytest.raises(ValueError, match="half spectra"):
        ours.irfft2(half, (45, 70))
    for length in (1, 7, 11, 13, 542, 1441):
        for kind in (False, True):
            assert ours.next_fast_len(length, kind) == scipy.fft.next_fast_len(length, kind)


def test_scipy_imports_its_own_all_the_same():
    """Before and after; what was loaded alone works on."""
    code = """
import sys, numpy as np
from snellen.cpu import transforms
x = np.arange(12.0).reshape(3, 4)
first = transforms.rfft2(x)
assert "scipy.fft" not in sys.modules and "numpy.f2py" not in sys.modules
import scipy.fft
assert (scipy.fft.rfft2(x) == first).all() and (transforms.rfft2(x) == first).all()
transforms._module.cache_clear()
assert (transforms.rfft2(x, workers=2) == first).all()
assert not isinstance(transforms._module(), transforms._Public)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
