"""The search of the GPU on the CPU, its kernels compiled by g++: indices, sums and order."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.mia import psf as psfs
from snellen.mia.l0 import prior
from snellen.mia.l0.cuda import level, reduce, search
from snellen.mia.l0.pyramid import levels
from support import emulated
from support.mia import drawn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("g++"), reason="no g++ to compile kernels for the CPU"),
]

CASES = {
    "three": ((45, 33), 3, 7, "float32"),  # planes of an odd number of samples, one after another
    "lags beyond": ((12, 40), 2, 9, "float64"),
}


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    made = emulated.Kernels(tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", emulated.cupy())
    for module, names in {
        search: {
            "devices": SimpleNamespace(using=nullcontext), "lasting": nullcontext,
            "synchronize": lambda: None,
        },
        level: {"Kernel": made, "Plan": emulated.Plan, "capture": lambda work: work},
    }.items():  # fmt: skip
        for name, value in names.items():
            monkeypatch.setattr(module, name, value)
    return made


@pytest.mark.parametrize("case", CASES)
def test_the_same_as_on_the_cpu(kernels, random, case):
    shape, count, side, dtype = CASES[case]
    psf = np.fft.rfft2(psfs.to_period(drawn.walk(random, 5), shape))
    planes = [
        np.fft.irfft2(np.fft.rfft2(drawn.scene(random, shape)) * psf, shape)
        .clip(0, 1)
        .astype(dtype)
        for _ in range(count)
    ]
    every = levels(shape, side)
    start = psfs.gaussian(prior.SIGMA, every[0].side), prior._weights(len(every))
    there = search.Search("cuda:0", shape, count, side)
    # Parts of a larger array, of another precision.
    given = [emulated.cupy().asarray(np.pad(one, 3).astype(dtype))[3:-3, 3:-3] for one in planes]
    found = [there.run(given, 0.5, *start, lambda count: None) for _ in range(2)]
    wanted = prior._search(planes, 0.5, every, *start, lambda count: None)
    # Both are float64, and their sums are in another order; no value is near a threshold.
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(*found)
    assert set(kernels.launches) == {*level.NAMES} - {"reduce_squares"}
    there.close()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squares(kernels, monkeypatch, random, dtype):
    made = kernels(reduce.FILE, "reduce_squares", threads=reduce.THREADS)
    monkeypatch.setattr(reduce, "_kernel", lambda: made)
    plane = random.random((31, 44)).astype(dtype)
    there = emulated.cupy().asarray(np.pad(plane, 2))[2:-2, 2:-2]
    mean, most = reduce.reduced(there, 3)
    squares = plane[:30, :42].reshape(10, 3, 14, 3)
    np.testing.assert_allclose(mean, squares.mean((1, 3), dtype=np.float64), rtol=1e-14)
    np.testing.assert_array_equal(most, squares.max((1, 3)))
