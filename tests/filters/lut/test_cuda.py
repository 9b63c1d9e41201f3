"""The kernels of a LUT by g++, and on a GPU: the bits of the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.filters.lut import cpu
from snellen.filters.lut import cuda as gpu
from snellen.filters.lut.cube import Cube
from snellen.filters.lut.planes import Planes
from snellen.frames.coding import BT709
from snellen.frames.frame import CENTRE, LEFT, Format, Frame
from support import emulated

CASES = [
    (3, (1, 1), 8, 10, LEFT, (35, 18)),
    (3, (0, 0), 10, 10, LEFT, (33, 9)),
    (1, (1, 0), 10, 8, CENTRE, (34, 9)),
    (3, (1, 1), 16, 16, CENTRE, (5, 3)),
]


def case(random, dimensions, subsampling, bits, to, siting, size):
    """Planes of a table, a random frame, and what the CPU makes of it."""
    shape = (6,) * dimensions
    table = random.random((*shape, 3)).astype(np.float32) * 1.5 - 0.25
    source = Format(*size, bits, subsampling, siting)
    target = Format(*size, to, subsampling, siting)
    planes = Planes(Cube(table), BT709, source, target)
    frame = [random.integers(0, 1 << bits, one).astype(source.dtype) for one in source.shapes]
    backend = cpu.Backend(planes)
    expected = backend.run(Frame(tuple(frame))).planes
    clipped = backend.clipped()
    backend.close()
    assert 0 < clipped < frame[0].size
    return planes, frame, expected, clipped


@pytest.fixture
def emulation(monkeypatch, tmp_path):
    emulated.install(monkeypatch, emulated.Kernels(tmp_path), gpu).uint64 = np.uint64


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(CASES)))
def test_kernels_on_the_cpu(emulation, random, number):
    planes, frame, expected, clipped = case(random, *CASES[number])
    work = gpu.Work(planes)
    out = [emulated.empty(one.shape, one.dtype) for one in expected]
    work(tuple(one.view(emulated.Array) for one in frame), tuple(out))
    for got, exact in zip(out, expected, strict=True):
        np.testing.assert_array_equal(got, exact)
    assert int(work.clipped[0]) == clipped


@pytest.mark.gpu
@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_bits_of_the_cpu(cuda, random, number, on_device):
    planes, frame, expected, clipped = case(random, *CASES[number])
    backend = gpu.Backend(planes, "cuda:0", on_device=on_device)
    for _ in range(4):
        found = backend.run(Frame(tuple(frame)))
        if found.ready is not None:
            found.ready.synchronize()
        for got, exact in zip(found.planes, expected, strict=True):
            np.testing.assert_array_equal(got.get() if on_device else got, exact)
    assert backend.clipped() == 4 * clipped
    backend.close()
