"""Which layouts GPUs get that are not at hand, and where clusters cannot be launched."""

from __future__ import annotations

from itertools import product

import pytest

from snellen.gpu.kernel import PORTABLE, Kernel
from snellen.mia.cuda import fused
from snellen.mia.cuda.layout import Gpu, candidates
from snellen.mia.definition import SIDES, Definition

GPUS = {  # shared memory of a block, as CUDA's programming guide has it
    "Turing": (Gpu(75, 64 << 10, 40), 1),
    "A100": (Gpu(80, 163 << 10, 108), 1),
    "Hopper": (Gpu(90, 227 << 10, 132), 16),
    "Blackwell, GeForce": (Gpu(120, 99 << 10, 84), PORTABLE),
}
PERIODS = list(product(SIDES, repeat=2))


def first(period, batch, gpu, gaussian=False):
    """The layout that a GPU gets, if its clusters find room."""
    layouts = candidates(*period, batch, gpu, gaussian)
    return fused.fitting(layouts, gpu, Definition("gaussian" if gaussian else "poisson"), 1)[0]


@pytest.fixture(autouse=True)
def all_clusters_can_be_launched(monkeypatch):
    monkeypatch.setattr(Kernel, "clusters", lambda self, *_: 1)


@pytest.mark.cases(14)
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("batch", [1, 40, 3000])
@pytest.mark.parametrize("period", PERIODS, ids=lambda p: f"{p[0]}x{p[1]}")
@pytest.mark.parametrize("name", GPUS)
def test_what_a_gpu_gets_fits(name, period, batch, gaussian):
    gpu, widest = GPUS[name]
    found = first(period, batch, gpu, gaussian)
    assert (found.height, found.width) == period
    assert found.shared <= gpu.shared and 1 <= found.cluster <= widest
    assert found.threads <= 1024 and found.threads % 32 == 0


def test_one_picture_takes_a_cluster_where_there_are_some():
    found = {name: first((128, 128), 1, gpu).cluster for name, (gpu, _) in GPUS.items()}
    assert found == {name: widest for name, (_, widest) in GPUS.items()}


@pytest.mark.parametrize("room", [16, 8, 0])
def test_a_cluster_that_cannot_be_launched(monkeypatch, room):
    """Part of a GPU takes smaller clusters, or none; the next layout comes, to the last."""

    class Stub:
        def clusters(self, blocks, block, shared):
            assert shared <= gpu.shared
            return int(blocks <= room)

    gpu, _ = GPUS["Hopper"]
    stub = Stub()
    monkeypatch.setattr(fused, "kernel", lambda *_: stub)
    for period in PERIODS:
        layouts = candidates(*period, 1, gpu)
        layout, made = fused.fitting(layouts, gpu, Definition(), 1)
        assert made is stub and layout.shared <= gpu.shared
        wanted = [one for one in layouts if one.cluster <= max(room, 1)]
        assert layout == next(one for one in wanted if one.shared <= gpu.shared)
