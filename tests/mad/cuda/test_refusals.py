"""What is said before the GPU is asked: no GPU is needed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from snellen.errors import DeviceError, InputError
from snellen.fft.plan import Plan
from snellen.mad.cuda.precision import chosen
from snellen.mad.scorer import Scorer


@pytest.mark.parametrize("dtype", ["float16", "double", ""])
@pytest.mark.parametrize("device", ["cpu", "cuda", "cuda:0,cuda:1"])
def test_other_types_than_floats(device, dtype):
    with pytest.raises(InputError, match=f"dtype={dtype!r}; expected one of float32, float64"):
        Scorer(device=device, dtype=dtype)


@pytest.mark.parametrize("device", [None, 0, [0]])
def test_no_names_of_devices(device):
    with pytest.raises(InputError, match="expected auto, cpu"):
        Scorer(device=device)


def test_small_pictures_are_float64():
    assert chosen(34, 34) == chosen(512, 256) == chosen(362, 362) == "float64"
    assert chosen(512, 257) == chosen(131_073, 1) == chosen(2160, 3840) == "float32"


@pytest.mark.parametrize("kind", ["r2c", "c2r", "inverse"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_cufft_says(monkeypatch, kind, dtype):
    """Its own errors are of no class that CuPy's others have."""

    class CuFFTError(RuntimeError):
        pass

    def refuse(*args):
        raise CuFFTError("CUFFT_ALLOC_FAILED")

    types = ("R2C", "D2Z", "C2R", "Z2D", "C2C", "Z2Z")
    cufft = SimpleNamespace(
        CuFFTError=CuFFTError, PlanNd=refuse, CUFFT_INVERSE=1, **{f"CUFFT_{t}": t for t in types}
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(cufft=cufft))
    message = r"no plan for 3 of 40×50 \(CUFFT_ALLOC_FAILED\).*may not suffice.*device=cpu"
    with pytest.raises(DeviceError, match=message):
        Plan(kind, 50, 40, dtype, 3)
