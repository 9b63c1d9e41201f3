"""The change of pictures between two checks: its kernel by g++, and on a GPU."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from snellen.gpu import device as devices
from snellen.mia.cuda import change, check, fused
from snellen.mia.cuda.change import Change, greatest
from snellen.mia.definition import Definition
from support import emulated
from support.mia import drawn

CASES = [(1, (32, 64), "float32"), (3, (32, 32), "float32"), (2, (45, 33), "float64")]


def wanted(now, before):
    """The greatest relative change, from float64."""
    now, before = (one.astype(float).reshape(len(one), -1) for one in (now, before))
    return (np.linalg.norm(now - before, axis=1) / np.linalg.norm(now, axis=1)).max()


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    emulated.install(monkeypatch, made := emulated.Kernels(tmp_path), change)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_pictures_one_after_another_and_apart(kernels, monkeypatch, random, case):
    """Also where more pictures come than a grid has rows, and one is black."""
    batch, period, dtype = case
    monkeypatch.setattr(devices, "GRID_ROWS", 2)
    halves = random.random((batch, 2, *period)).astype(dtype).view(emulated.Array)
    for f in (halves[:, 1], np.ascontiguousarray(halves[:, 0])):
        before = random.random((batch, *period)).astype(dtype).view(emulated.Array)
        expected = wanted(f, before)
        assert greatest(Change(dtype)(f, before), dtype) == pytest.approx(expected, rel=1e-14)
        assert before.tobytes() == f.tobytes()
    black = np.zeros((batch, *period), dtype).view(emulated.Array)
    assert greatest(Change(dtype)(black, black.copy()), dtype) == 0


def test_the_fused_backend_takes_the_kernel(kernels, monkeypatch, random):
    """CuPy compiles nothing for it: the module that stands for it has no function that does."""
    monkeypatch.setattr(check.devices, "on", nullcontext)
    backend = fused.Backend.__new__(fused.Backend)
    backend._device, backend._dtype, backend._change = "cuda:0", "float32", Change("float32")
    monkeypatch.setattr(check, "fetched", lambda there: there.get)
    backend._f = random.random((2, 2, 32, 64), np.float32).view(emulated.Array)
    before = random.random((2, 32, 64), np.float32).view(emulated.Array)
    expected = wanted(backend.estimate, before)
    later = backend.change(before)
    backend._f[...] = 0
    assert later() == pytest.approx(expected, rel=1e-14)
    assert kernels.launches == ["change"]


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("period", [(32, 64), (256, 256)])
@pytest.mark.parametrize("tv", [0, 0.004])
def test_a_fused_period(cuda, random, period, batch, tv):
    """Asked for late, it is that of its iteration; no reduction of CuPy's takes part."""
    problems = [drawn.problem(random, period) for _ in range(batch)]
    given = [cuda.asarray(np.array([one[i] for one in problems], np.float32)) for i in range(3)]
    backend = fused.Backend(Definition(tv=tv), period, 1, batch)
    backend.start(*given)
    before, found, expected = backend.estimate.copy(), [], []
    for count in (3, 10):
        last = before.get()
        backend.iterate(count)
        found.append(backend.change(before))
        now = backend.estimate.get()
        assert before.get().tobytes() == now.tobytes()
        expected.append(wanted(now, last))
    assert [one() for one in found] == pytest.approx(expected, rel=1e-12)
    blank = cuda.zeros((1, 1, *period), np.float32)
    black = fused.Backend(Definition(), period, 1, 1)
    black.start(blank, blank[0], blank + 1)
    assert black.change(cuda.zeros((1, *period), np.float32))() == 0
    backend.close()
    black.close()
