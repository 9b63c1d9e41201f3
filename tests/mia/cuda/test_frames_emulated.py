"""The kernels of frames.cu by g++, and what launches them, against the CPU; it needs no GPU."""

from __future__ import annotations

import shutil
import sys

import numpy as np
import pytest

from snellen.gpu import device as devices
from snellen.mia import edges
from snellen.mia.cuda import frames as cuda_frames
from snellen.mia.frames import Frames
from support import emulated

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")


@pytest.fixture
def both(monkeypatch, tmp_path):
    """Return a function that makes Frames of the CPU and of the emulated GPU."""
    monkeypatch.setitem(sys.modules, "cupy", emulated.cupy())
    monkeypatch.setattr(cuda_frames, "Kernel", emulated.Kernels(tmp_path))
    monkeypatch.setattr(devices, "GRID_ROWS", 1)
    monkeypatch.setattr(cuda_frames, "pinned", np.empty)
    monkeypatch.setattr(cuda_frames, "upload", lambda a: np.array(a).view(emulated.Array))

    def made(shape, side, dtype, frames, batch, kind):
        how = shape, edges.period(shape, side, "extend"), side, "extend", dtype
        return Frames(*how), cuda_frames.Frames(*how, frames, batch, kind)

    return made


@pytest.mark.parametrize(
    ("kind", "dtype", "peak"),
    [
        ("uint8", "float32", 255.0),
        pytest.param("uint16", "float64", 1023.0, marks=pytest.mark.slow),
    ],
)
def test_integers_up_and_down(both, random, kind, dtype, peak):
    """They are placed, rounded and clipped as on the CPU, beside floats, also after these."""
    shape, side, batch, frames = (21, 30), 5, 2, 2
    here, there = both(shape, side, dtype, frames, batch, kind)
    came = random.integers(0, int(peak) + 1, (batch, frames, *shape)).astype(kind)
    for order in ("=", ">"):
        wanted = here.place(came, peak)
        found = there.place(came.astype(np.dtype(kind).newbyteorder(order)), peak)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    f = random.random(wanted[1].shape).astype(dtype) * 1.2 - 0.1
    halves = (np.arange(f.size // 2) % int(peak) + 0.5) / peak  # ties
    f.reshape(-1)[: halves.size] = halves
    psf = random.random((batch, frames, side, side)).astype(dtype)
    h = there.spread(psf / psf.sum((2, 3), keepdims=True))
    for recentre in (False, True, "whole"):
        for whole in (np.dtype(kind), None, np.dtype(kind)):
            how = {"whole": whole, "peak": peak if whole else 1.0}
            wanted = here.finish(f, np.asarray(h), recentre, **how)
            found = there.finish(f.view(emulated.Array), h, recentre, **how)
            fetched = there.fetched()()
            for one, copy, other in zip(found, fetched, wanted, strict=True):
                assert one.dtype == copy.dtype == other.dtype
                np.testing.assert_allclose(
                    one, other, rtol=0, atol=0 if one.dtype == kind else 1e-6
                )
                assert (one == copy).all()
            there.refuse(peak)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_moves(both, random, dtype):
    """Of sparse PSFs and pictures, whose flows are cut, to whole samples and to parts of them.

    The tolerance is that of `test_frames.moved`; lines may be shorter than the spline's reach.
    """
    for shape, side, frames, batch in (((21, 30), 5, 2, 2), ((3, 40), 3, 1, 3), ((1, 1), 1, 1, 1)):
        here, there = both(shape, side, dtype, frames, batch, "float32")
        period = edges.period(shape, side, "extend")
        psf = random.random((batch, frames, side, side)) ** 12
        psf[:, :, :, side // 2 + 1 :] *= 3
        h = there.spread(psf / psf.sum((2, 3), keepdims=True))
        f = (random.random((batch, *period)) ** 7).astype(dtype)
        results = []
        for recentre in (False, "whole", True):
            wanted = here.finish(f, np.asarray(h), recentre)
            found = there.finish(f.view(emulated.Array), h, recentre)
            for one, other in zip(found, wanted, strict=True):
                atol = {"float32": 1e-6, "float64": 1e-14}[dtype] + side * 2.0**-51
                np.testing.assert_allclose(one, other, rtol=0, atol=atol)
            results.append(np.array(found[0]))
        assert (results[1] == results[2]).all() == (side == 1)
