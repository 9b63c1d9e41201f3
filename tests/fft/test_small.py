"""Small transforms on the GPU against NumPy's in float64: every size, direction and kind."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from snellen import fft
from snellen.errors import InputError
from snellen.fft import square
from snellen.fft.small import FEW, LARGEST_TILE, SIDES, _target
from snellen.gpu.kernel import Kernel
from support.gpu import busy

SIZES = list(product(SIDES, repeat=2))
WITHIN = 4e-7
"""Relative L2 norm, what is asked at 128². One rounding of float32 is 3e-8 of the norm; it adds up
with the root of the number of steps, at most 16."""


def drawn(random, shape, kind):
    numbers = random.standard_normal(shape)
    if kind == "complex64":
        numbers = numbers + 1j * random.standard_normal(shape)
    return numbers.astype(kind)


def error(found, wanted):
    return np.linalg.norm(found - wanted) / np.linalg.norm(wanted)


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [(), (3,), (2, 5)], ids=["one", "three", "two by five"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_complex(cuda, random, size, batch):
    x = drawn(random, (*batch, *size), "complex64")
    exact = x.astype("complex128")
    for ours, numpys in ((fft.fft2, np.fft.fft2), (fft.ifft2, np.fft.ifft2)):
        out = cuda.full(x.shape, np.nan, "complex64")
        assert ours(cuda.asarray(x), out) is out
        assert error(out.get(), numpys(exact)) < WITHIN


@pytest.mark.gpu
@pytest.mark.parametrize("size", [s for s in SIZES if 64 * 64 < s[0] * s[1] <= LARGEST_TILE],
                         ids=lambda s: f"{s[0]}x{s[1]}")  # fmt: skip
def test_many_pictures_take_one_launch(cuda, random, monkeypatch, size):
    launched, call = [], Kernel.__call__
    monkeypatch.setattr(square, "chosen", lambda *case: None)  # these are left to small.cu
    monkeypatch.setattr(
        Kernel, "__call__", lambda self, *a, **k: launched.append(self.name) or call(self, *a, **k)
    )
    x = drawn(random, (FEW + 1, *size), "complex64")
    exact = x.astype("complex128")
    for ours, numpys in ((fft.fft2, np.fft.fft2), (fft.ifft2, np.fft.ifft2)):
        out = cuda.full(x.shape, np.nan, "complex64")
        assert error(ours(cuda.asarray(x), out).get(), numpys(exact)) < WITHIN
        assert (
            ours(cuda.asarray(x[:FEW])) == out[:FEW]
        ).all()  # in two launches: the same arithmetic
        here = cuda.asarray(x)
        assert (ours(here, here) == out).all()
    assert launched == ["tile_fft", "row_fft", "column_fft", "tile_fft"] * 2


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "three"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_real(cuda, random, size, batch):
    x = drawn(random, (*batch, *size), "float32")
    out = cuda.full((*batch, size[0], size[1] // 2 + 1), np.nan, "complex64")
    assert fft.rfft2(cuda.asarray(x), out) is out
    assert error(out.get(), np.fft.rfft2(x.astype("float64"))) < WITHIN
    # Any half spectrum, also one that no real picture has: imaginary parts of the columns 0 and
    # W / 2 that cannot be are left out, as by NumPy.
    spectrum = drawn(random, out.shape, "complex64")
    back = cuda.full(x.shape, np.nan, "float32")
    fft.irfft2(cuda.asarray(spectrum), back)
    assert error(back.get(), np.fft.irfft2(spectrum.astype("complex128"))) < WITHIN


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(32, 256), (128, 128), (256, 256)], ids=str)
def test_in_place_and_views(cuda, random, size):
    x = drawn(random, (4, *size), "complex64")
    here = cuda.asarray(x)
    assert fft.fft2(here, here) is here
    assert error(here.get(), np.fft.fft2(x.astype("complex128"))) < WITHIN
    turned = cuda.asarray(drawn(random, (*size, 4), "complex64")).transpose(2, 0, 1)
    assert error(fft.fft2(turned).get(), np.fft.fft2(turned.get().astype("complex128"))) < WITHIN


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [(0,), (2, 0)], ids=str)
def test_a_batch_of_none(cuda, batch):
    """As NumPy's: empty, in the right shape and type."""
    calls = ((fft.fft2, "complex64", 64), (fft.ifft2, "complex64", 64), (fft.rfft2, "float32", 64),
             (fft.irfft2, "complex64", 33))  # fmt: skip
    for call, dtype, width in calls:
        x = cuda.zeros((*batch, 32, width), dtype)
        found = call(x)
        wanted = getattr(np.fft, call.__name__)(x.get())
        assert found.shape == wanted.shape
        assert found.dtype == ("float32" if call is fft.irfft2 else "complex64")
        assert call(x, found) is found


@pytest.mark.gpu
@pytest.mark.parametrize("size", [(64, 64), (256, 256)], ids=str)
def test_the_current_stream(cuda, random, size):
    """What is to be transformed is not there yet."""
    x = drawn(random, (3, *size), "complex64")
    real, there = cuda.asarray(x.real), cuda.asarray(x)
    cuda.cuda.Device().synchronize()
    for _ in range(3):
        with cuda.cuda.Stream(non_blocking=True) as stream:
            late, plane = cuda.zeros_like(there), cuda.zeros_like(real)
            busy(cuda)
            late[...], plane[...] = there, real
            found = fft.ifft2(fft.fft2(late)), fft.irfft2(fft.rfft2(plane)), fft.rfft2(plane)
            late.fill(7), plane.fill(7)
            stream.synchronize()
        for one, wanted in zip(
            found, (x, x.real, np.fft.rfft2(x.real.astype("float64"))), strict=True
        ):
            assert error(one.get(), wanted) < 2 * WITHIN


@pytest.mark.cases(3)
@pytest.mark.parametrize("call", [fft.fft2, fft.ifft2, fft.rfft2, fft.irfft2])
@pytest.mark.parametrize("shape", [(32,), (48, 64), (64, 512), ()], ids=str)
def test_other_sizes_are_refused(call, shape):
    with pytest.raises(InputError, match="32, 64, 128, 256"):
        call(np.zeros(shape, "complex64" if call is not fft.rfft2 else "float32"))


def test_other_types_are_refused():
    for call, dtype in ((fft.fft2, "float32"), (fft.rfft2, "float64"), (fft.rfft2, "complex64")):
        with pytest.raises(InputError, match=dtype):
            call(np.zeros((32, 32), dtype))
    with pytest.raises(InputError, match=r"scipy\.fft"):
        fft.fft2(np.zeros((32, 32), "complex64"))


class Array:
    """What a GPU's array says of itself, on a machine without one."""

    __cuda_array_interface__ = None
    shape, dtype = (32, 32), "complex64"

    def __init__(self, device):
        self.device = device


@pytest.mark.parametrize("out", [np.zeros((32, 32), "complex64"), [[0]], Array("cuda:1")], ids=type)
def test_an_output_elsewhere_is_refused(out):
    with pytest.raises(InputError, match=r"got out=.* on .*; expected a CuPy array on x's GPU"):
        _target(out, (32, 32), "complex64", "cuda:0")


@pytest.mark.gpu
def test_an_unsuited_output_is_refused(cuda):
    x = cuda.zeros((32, 32), "complex64")
    for out in (cuda.zeros((32, 64), "complex64"), cuda.zeros((32, 32), "complex128"),
                cuda.zeros((64, 64), "complex64")[::2, ::2], x.get()):  # fmt: skip
        with pytest.raises(InputError, match="out="):
            fft.fft2(x, out)
