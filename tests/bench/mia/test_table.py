"""What the pages say of MIA is what the results say."""

from __future__ import annotations

import json

import pytest

from snellen.bench import detail as pages
from snellen.bench import table as readme
from snellen.bench.mia import detail, gpu, host, table
from snellen.errors import InputError


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2}


def line(median, ratio=1.0):
    return spread(median) | {"ratio": spread(ratio)}


def checked(arm, case="128×128", option="Poisson", batch=1, most=5e-6, **other):
    return {"case": case, "batch": batch, "option": option, "arm": arm, "dtype": "float32",
            "iterations": 200, "max": most, "mean": 1e-7, "psf": 3e-6} | other  # fmt: skip


def cpu_case(side, batch, lines):
    return {"case": f"{side}×{side}", "side": side, "batch": batch, "iterations": 200,
            "lines": lines}  # fmt: skip


@pytest.fixture
def on_cpu():
    """What a run on a CPU writes, with figures that nobody measured."""
    one = {host.OURS: line(60.0), host.DOUBLE: line(90.0, 1.5), host.PORT: line(150.0, 2.5)}
    options = {"Poisson": line(60.0), "Gaussian": line(66.0, 1.1)}
    return {
        "benchmark": "mia", "machine": {"cpu": "C", "threads": 2, "gpu": []}, "device": "cpu",
        "cpu_cases": [cpu_case(128, 1, one), cpu_case(128, 132, {host.OURS: line(6600.0)})],
        "cpu_options": [{"case": "128×128", "batch": 1, "lines": options}],
        "exactness": [checked(host.OURS), checked(host.OURS, option="Gaussian", most=7e-6),
                      checked(host.DOUBLE, most=1e-14, dtype="float64")],
        "latency": {"case": "128×128", "frames": 20, "iterations": 200, "edges": "taper",
                    "lines": {"Deblurrer": {"p50": 61.25, "p99": 70.5, "min": 60.0, "max": 71.0}}},
    }  # fmt: skip


@pytest.fixture
def on_gpu(on_cpu):
    """What a run on a GPU writes, likewise."""
    layout = {"cluster": 16, "threads": 256, "registers": 121, "local_bytes": 0,
              "shared_bytes": 87 * 1024, "on_chip": True}  # fmt: skip
    lines = {gpu.OURS: line(0.5), gpu.STOCK: line(10.0, 20.0), gpu.HAND: line(5.0, 10.0),
             gpu.EAGER: line(50.0, 100.0), gpu.TORCH: line(11.0, 22.0)}  # fmt: skip
    case = {"case": "128×128", "side": 128, "batch": 1, "lines": lines, "graphs": {gpu.STOCK: 200},
            "layout": layout, "missing": {}}  # fmt: skip
    many = case | {"batch": 132, "lines": {gpu.OURS: line(2.64), gpu.STOCK: line(33.0, 12.5)}}
    options = {"Poisson": line(0.5), "Gaussian": line(0.75, 1.5)}
    return on_cpu | {
        "machine": {"cpu": "C", "threads": 16, "gpu": ["A GPU"]}, "device": "cuda:0",
        "gpu_cases": [case, many],
        "options": [{"case": "128×128", "batch": batch, "lines": options} for batch in (1, 132)],
        "exactness": [
            *on_cpu["exactness"], checked(gpu.OURS, most=4e-6), checked(gpu.OURS, "256×256"),
            checked(gpu.OURS, batch=132, most=9e-6), checked(gpu.STOCK, most=8e-6),
        ],
    }  # fmt: skip


def test_readme_of_a_cpu(on_cpu):
    told = table.part(on_cpu, "benchmarks/results/x.json")
    assert "| 128×128 | 1 | 60.0 (30.0 … 120.0) | – | 1.5 × | 2.5 × |" in told
    assert "| 128×128 | 132 | 6600.0 (3300.0 … 13200.0) | 50.0000 | – | – |" in told
    flat = " ".join(told.split())
    assert "on C with 2 cores" in flat and "2 sorts of periods, batches and options" in flat
    assert "off by at most 7.0e-04 % of the peak, PSFs by 3.0e-04 %" in flat
    assert "Deblurrer: 61.25 ms (p99 70.50)" in flat and "20 frames of 128×128" in flat
    assert "[x.json](benchmarks/results/x.json)" in flat and detail.detail(on_cpu, "x") == ""


def test_readme_of_a_gpu(on_gpu):
    told = table.part(on_gpu, "benchmarks/results/x.json")
    row = "| 128×128 | 1 | 0.500 (0.250 … 1.000) | – | 60 ms | 10.0 ms | **20.0 ×** | 10.0 × | 22.0"
    assert row in told
    assert "| 132 | 2.640 (1.320 … 5.280) | 0.0200 | 6600 ms | 33.0 ms | **12.5 ×** | – |" in told
    assert (
        "| 128×128 | 4.0e-04 % / 1.0e-05 % | 5.0e-04 % / 1.0e-05 % | 8.0e-04 % / 1.0e-05 % | "
        "0.2 % at most |" in told
    )
    assert "| 256×256 | 5.0e-04 % / 1.0e-05 % | – | – |" in told
    assert "off by at most 9.0e-04 % of the peak" in " ".join(told.split())


def test_levin_s_pictures_are_told_where_they_were_restored(on_gpu):
    on_gpu["levin"] = {"pictures": 10, "rows": [
        {"name": "blurred", "psnr_db": 22.5},
        {"name": "prior l0", "psnr_db": 31.25, "ratio": 1.5, "within": 9},
    ]}  # fmt: skip
    told = table.part(on_gpu, "x")
    assert "| 10 pictures of Levin et al. 2009 | PSNR, mean |" in told
    assert "| blurred | 22.50 dB | – | – |" in told
    assert "| prior l0 | 31.25 dB | 1.50 | 9 of 10 |" in told


def test_details_of_a_gpu(on_gpu):
    told = detail.detail(on_gpu, "benchmarks/results/x.json")
    # 200 iterations of three transforms of 5 · 128² · 14 operations, in half a millisecond
    rate = 200 * 3 * 5 * 128**2 * 14 / 0.5e-3 / 1e12
    for words in (
        "[x.json](../benchmarks/results/x.json), on A GPU.",
        f"| 128×128, 1 | 0.500 | {rate:.2f} | 16 of 256 | 121 | 0 | 87 | on chip | 10.00 (10",
        "| 128×128, 132 | 2.640 |",
        "| Gaussian | 0.750 (1.50 ×) | 0.750 (1.50 ×) | 66.000 (1.10 ×) |",
        "| Deblurrer | 61.250 | 70.500 | 60.000 | 71.000 |",
        "| Gaussian, 128×128, 1 at once | CPU, float32 | float32 | 200 | 7.0e-04 % |",
    ):
        assert words in told


def test_without_cufft_s_lines(on_gpu):
    for case in on_gpu["gpu_cases"]:
        case["lines"] = {gpu.OURS: case["lines"][gpu.OURS]}
    assert "| 60 ms | – | – | – | – | – |" in table.part(on_gpu, "x")
    assert "cuFFT" not in detail.rates(on_gpu)


def test_results_go_between_markers_that_a_page_must_have(tmp_path, on_cpu, on_gpu):
    (tmp_path / "docs").mkdir()
    both = [readme.BEGIN, readme.END, "<!-- mad:begin -->", "<!-- mad:end -->", *pages.FLOOR]
    without, marked = "\n".join(both), "\n".join([*both, *table.PLACE[1]])
    for name, report in (("mia-cpu.json", on_cpu), ("mia-gpu.json", on_gpu)):
        (tmp_path / name).write_text(json.dumps(report))
    found = sorted(tmp_path.glob("*.json"))
    for page in ("README.md", "docs/performance.md"):
        (tmp_path / page).write_text(without, encoding="utf-8")
    assert pages.pages(tmp_path, [])[tmp_path / "README.md"] == without
    with pytest.raises(InputError, match="mia:begin"):
        pages.pages(tmp_path, found)
    for page in ("README.md", "docs/performance.md"):
        (tmp_path / page).write_text(marked, encoding="utf-8")
    made = pages.pages(tmp_path, found)
    told = made[tmp_path / "README.md"]
    assert told.count("[mia-cpu.json]") == told.count("[mia-gpu.json]") == 1
    assert made[tmp_path / "docs/performance.md"].count("[mia-gpu.json]") == 1
    assert "mia-cpu" not in made[tmp_path / "docs/performance.md"]
