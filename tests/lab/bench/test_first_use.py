"""Where the first seconds go: what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import first_use
from snellen_lab.bench.calls import fresh

KERNELS = """
#include <cupy/carray.cuh>
extern "C" __global__ void cupy_copy__uint8_float32(CArray<int, 1> a) {}
extern "C" __global__ void __launch_bounds__(512) cupy_sum(int n) {}
"""


def test_what_a_call_takes_and_what_cupy_compiled(monkeypatch, capsys):
    ran = []

    def run(module, *arguments, given):
        ran.append((module, *arguments))
        (Path(given["HOME"]) / "some.cu").write_text(KERNELS)
        programs = [["match.cu", "snellen-compile", 0.5, 0.75]] if len(ran) == 1 else []
        laps = {"imports": 1.0, "first call": 0.25}
        return fresh.Ran(2.0, 3.0, json.dumps({"seconds": laps, "programs": programs}))

    monkeypatch.setattr(fresh, "run", run)
    found = first_use.measure("score", "cuda:1")
    assert ran == [("benchmarks.first_use", "child", "score", "cuda:1")] * 2
    assert found["by_cupy"] == ["cupy_copy__uint8_float32", "cupy_sum"]
    first_use.show(found)
    assert capsys.readouterr().out == (
        "score, caches empty: 2.00 s, 3.00 s of CPU; imports 1.000, first call 0.250\n"
        "    0.500 … 0.750 match.cu in snellen-compile\n"
        "score, caches filled: 2.00 s, 3.00 s of CPU; imports 1.000, first call 0.250\n"
        "    CuPy compiled 2: cupy_copy__uint8_float32 cupy_sum\n"
    )


@pytest.mark.slow
def test_a_call_in_processes_of_its_own():
    found = first_use.measure("deblur 128", "cpu")
    assert found["empty"]["seconds"]["first call"] > 0 and not found["by_cupy"]
