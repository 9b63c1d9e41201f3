"""What the pages say of MAD is what the results say."""

from __future__ import annotations

import json

import pytest

from snellen.bench import detail as pages
from snellen.bench import table as readme
from snellen.bench.mad import detail, floor, stages, steps, stock, table
from snellen.bench.mad.cases import CASES


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2}


CHECKED = {"case": "512×512", "kind": "noise", "bits": 8, "mad": 21.5, "against": "plain port",
           "scores": 2e-14, "detection": 1e-13, "appearance": 3e-13}  # fmt: skip


@pytest.fixture
def on_cpu():
    """What a run on a CPU writes, with figures that nobody measured."""
    lines = {"float64": spread(0.1) | {"ratio": 1.0}, "float32": spread(0.05) | {"ratio": 0.5},
             "float64, the reference held": spread(0.06) | {"ratio": 0.6},
             "plain NumPy": spread(2.0) | {"ratio": 20.0}}  # fmt: skip
    return {
        "benchmark": "mad", "machine": {"cpu": "C", "threads": 2, "gpu": []}, "device": "cpu",
        "cases": [{"case": "512×512", "lines": lines}],
        "memory": [{"case": "3840×2160", "dtype": "float64", "before_mb": 900.0,
                    "peak_mb": 1234.0}],
        "exactness": [CHECKED | {"device": "cpu", "dtype": "float64"},
                      CHECKED | {"device": "cpu", "dtype": "float32", "scores": 3e-8}],
    }  # fmt: skip


@pytest.fixture
def on_gpu():
    """What a run on a GPU writes, likewise."""
    ends = ("from GPU", "from host", "from host, page-locked", "upload", "download")
    takes = {"registers": 72, "local_bytes": 0, "shared_bytes": 0, "warps": 24,
             "warps_at_most": 64, "blocks": 500, "threads": 128}  # fmt: skip
    case = {
        "case": "512×512", "launches": spread(0.5), "graph": spread(0.25), "hold": spread(0.1),
        "against": spread(0.125), "sustained": 0.2, "real_bytes": 4,
        "stages": {name: spread(0.01) for name in stages.STAGES},
        "kernels": {"statistics": takes, "difference": takes},
        "memory_mb": {"pool": 99.0, "driver": 150.0},
        "ends": {name: spread(0.05) for name in ends}, "transfers_share": 0.25,
        "stock": {"torch": "2", "apart": 1e-6,
                  "lines": {name: spread(5.0)
                            for name in (stock.TRANSFORMS, stock.APPEARANCE, stock.WHOLE)},
                  "ratios": dict.fromkeys((stock.TRANSFORMS, stock.APPEARANCE, stock.WHOLE), 20.0)},
    }  # fmt: skip
    return {
        "benchmark": "mad", "machine": {"cpu": "C", "threads": 16, "gpu": ["A GPU"]},
        "device": "cuda:0", "copy_gb_s": 4000.0, "gpu_cases": [case],
        "cpu_steps": [{"case": "512×512", "dtype": "float64",
                       "steps": {name: spread(3.0) for name in steps.STEPS}}],
        "batch": {"case": "512×512", "pairs": 16,
                  "rates": {"pairs": 3000.4, "one reference": 5000.0, "snellen.score": 900.0}},
        "several": [{"what": "one pair of 3840×2160", "gpus": 2, "ms": 5.0, "ratio": 1.75}],
        "exactness": [CHECKED | {"device": "cpu", "dtype": "float64"},
                      CHECKED | {"device": "cuda:0", "dtype": None, "scores": 2.5e-7}],
    }  # fmt: skip


def test_readme_of_a_cpu(on_cpu):
    told = table.part(on_cpu, "benchmarks/results/x.json")
    assert "| 512×512 | 0.10 s (0.05 … 0.20) | 0.5 × | 0.6 × | 20.0 × |" in told
    flat = " ".join(told.split())
    assert "on C with 2 cores" in flat and "takes at most 1234 MB in float64, in a process" in flat
    assert "at most 2.0e-14 in float64 (maps 3.0e-13" in flat and "and 3.0e-08 in float32" in flat
    assert "[x.json](benchmarks/results/x.json)" in flat and detail.detail(on_cpu, "x") == ""


def test_readme_of_a_gpu(on_gpu):
    told = table.part(on_gpu, "benchmarks/results/x.json")
    row = "| 512×512 | 0.25 ms (0.12 … 0.50) | 0.12 ms | 5000 | 5.0 ms | 20.0 × | 99 MB |"
    assert row in told
    flat = " ".join(told.split())
    assert "3000 pairs/s by a prepared Scorer, 5000 where all have one reference, 900" in flat
    assert "at most 2.0e-14 on the CPU" in flat and "and 2.5e-07 on the GPU" in flat


def test_details_of_a_gpu(on_gpu):
    told = detail.detail(on_gpu, "benchmarks/results/x.json")
    need = floor.needs(CASES[0])
    share = f"{100 * need['bank'] / 0.01e-3 / 4e12:.0f} %"
    for words in (
        "[x.json](../benchmarks/results/x.json), on A GPU.",
        "| FFT, CSF, inverse FFT | 6.00 | 0.030 | 200 × |",
        "| magnitude, statistics, difference | 6.00 | 0.020 | 300 × |",
        "| transfers: both pictures up, 24 bytes down | – | 0.100 | 25 % of a pair from host",
        f"| bank | 0.010 | {share} |",
        "| score | 0.010 | – |",
        f"| 512×512, statistics | 0.010 | {need['statistics'] / 1e6:.0f} MB |",
        "| 72 | 0 | 24 of 64 | 500 of 128 |",
        "| 5.00 (20.0 ×) | 5.00 (20.0 ×) | 5.00 (20.0 ×) | 0.250 |",
        "| one pair of 3840×2160 | 2 | 5.00 | 1.75 × |",
        "| noise, 512×512, 8 | cuda:0 | as chosen | plain port | 21.5000 | 2.5e-07 |",
    ):
        assert words in told


def test_several_gpus_of_a_kind_are_counted(on_gpu):
    on_gpu["machine"]["gpu"] = ["A GPU", "Another", "A GPU"]
    assert "/x.json), on 2 × A GPU, Another." in detail.detail(on_gpu, "x.json")


def test_without_pytorch_and_with_one_gpu(on_gpu):
    del on_gpu["gpu_cases"][0]["stock"], on_gpu["several"]
    assert "| – | – | 99 MB |" in table.part(on_gpu, "x")
    assert "PyTorch" not in detail.detail(on_gpu, "x")


def test_each_method_s_results_go_between_its_own_markers(tmp_path, on_cpu, on_gpu):
    (tmp_path / "docs").mkdir()
    begin, end = table.PLACE[1]
    marked = "\n".join(["a", readme.BEGIN, readme.END, "b", begin, end, *pages.FLOOR])
    for page in ("README.md", "docs/performance.md"):
        (tmp_path / page).write_text(marked, encoding="utf-8")
    for name, report in (("mad-cpu.json", on_cpu), ("mad-gpu.json", on_gpu)):
        (tmp_path / name).write_text(json.dumps(report))
    made = pages.pages(tmp_path, sorted(tmp_path.glob("*.json")))
    told = made[tmp_path / "README.md"]
    assert f"a\n{readme.BEGIN}\n{readme.END}\nb\n{begin}\nMAD, HI and LO" in told
    assert told.count("[mad-cpu.json]") == told.count("[mad-gpu.json]") == 1
    assert made[tmp_path / "docs/performance.md"].count("[mad-gpu.json]") == 1
