"""What the page says of small transforms is what the results say."""

from __future__ import annotations

import pytest

from snellen.bench.fft import lines, table

PACKED = "rfft2: real pictures packed by twos"


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2}


def line(median, ratio=1.0):
    return spread(median) | {"ratio": spread(ratio)}


@pytest.fixture
def report():
    """What a run on a GPU writes, with figures that nobody measured."""
    rows = [
        {"kind": kind, "case": "128×128", "batch": batch, "repeated": 20,
         "errors": {lines.OURS: off, lines.CUFFT: 2.5e-7},
         "lines": {lines.OURS: line(20.0), lines.CUFFT: line(30.0, 1.5)}}
        for batch in (1, 132) for kind, off in (("fft2", 1.5e-7), ("rfft2", 2e-7))
    ]  # fmt: skip
    varied = {
        "case": "64×64", "batch": 132,
        "errors": {"ours": 1e-7, "fast sine": 3e-6, PACKED: 1e-7},
        "lines": {"ours": line(4.0), "fast sine": line(3.0, 0.75), PACKED: line(2.0, 0.5)},
    }  # fmt: skip
    return {
        "benchmark": "fft", "machine": {"cpu": "C", "threads": 16, "gpu": ["A GPU"]},
        "device": "cuda:0", "copy_gb_s": 4000.0, "gpu_cases": rows, "variants": [varied],
        "mixed": [{"kind": "fft2", "case": "64×128", "batch": 3, "error": 1.25e-7}],
    }  # fmt: skip


def test_a_gpu_s(report):
    told = table.detail(report, "benchmarks/results/x.json")
    # 132 · 128² complex numbers read and written, or half as many bytes and a little
    fast, half = (132 * 128 * n / 20e-6 / 1e12 for n in (128 * 16, 128 * 4 + 65 * 8))
    assert f"| 128×128, 132 | 20.00 | 1.50 × | {fast:.2f} | 20.00 | 1.50 × | {half:.2f} |" in told
    assert "| size, at once | fft2, µs | cuFFT | TB/s | rfft2, µs | cuFFT | TB/s |" in told
    assert "| fast sine | 3.00 (0.75 ×) | 3.0e-06 |" in told
    assert f"| {PACKED} | 2.00 (0.50 ×) | 1.0e-07 |" in told
    flat = " ".join(told.split())
    assert "[x.json](../benchmarks/results/x.json), on A GPU" in flat and "4.00 TB/s" in flat
    assert "at most 2.0e-07, cuFFT's 2.5e-07; of unlike sides (64×128) 1.2e-07" in flat


def test_a_cpu_s_is_not_told(report):
    del report["gpu_cases"]
    assert table.detail(report, "x") == ""
