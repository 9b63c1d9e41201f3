"""Which frames the GPU backend gives to its kernels: emulated, with an engine that never waits."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from snellen.filters.nlm import cpu
from snellen.filters.nlm.cuda import backend, group
from snellen.filters.nlm.definition import Settings
from snellen.frames.frame import Format
from support import emulated

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("g++"), reason="no g++ to compile kernels for the CPU"),
]


class Engine:
    """In place of `frames.engine.Engine`: work is done when it is submitted."""

    def __init__(self, device, inputs, outputs, work, *, on_device=False, staged=None):
        self.inputs, self.outputs, self.work = inputs, outputs, work

    def submit(self, inputs, ready=()):
        assert [(one.shape, one.dtype) for one in inputs] == self.inputs
        assert all(event in (None, "done") for event in ready)
        uploaded = tuple(np.ascontiguousarray(one).view(emulated.Array) for one in inputs)
        out = tuple(emulated.empty(*kind) for kind in self.outputs)
        self.work(uploaded, out)
        return SimpleNamespace(result=lambda: out, ready="done")

    def close(self):
        self.work = None


@pytest.fixture
def kernels(monkeypatch, tmp_path):
    emulated.install(monkeypatch, made := emulated.Kernels(tmp_path), group)
    for name, value in {
        "devices": SimpleNamespace(on=nullcontext),
        "lasting": nullcontext, "Engine": Engine,
        "_copy": lambda plane, out: np.copyto(out, plane),
    }.items():  # fmt: skip
        monkeypatch.setattr(backend, name, value)
    return made


@pytest.mark.parametrize("radius", [0, 2])
def test_the_window_of_the_cpu(kernels, random, radius):
    format = Format(31, 27, 8, (1, 1))
    frames = [
        tuple(random.integers(100, 120, shape, np.uint8) for shape in format.shapes)
        for _ in range(4)
    ]
    settings = Settings(radius=radius)
    there = backend.Backend(settings, format, format, "cuda:0", on_device=True)
    here = cpu.Backend(settings, format, format)
    windows = [(frames, 1), (frames[:2], 0), (frames[1:], 2)] if radius else [(frames[:1], 0)]
    for window, centre in windows:
        results = []
        for one in (there, here):
            taken = [one.take(planes, None) for planes in window]
            results.append(one.begin(taken, centre)()[0])
        for plane, wanted in zip(*results, strict=True):
            np.testing.assert_array_equal(plane, wanted)
    here.close()
    there.close()
    assert kernels.launches.count("gather") == len(windows) * 2 * (2 * radius + 1)
