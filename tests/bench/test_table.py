"""README's figures are those of the results, and of nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.bench import detail, floor, table
from snellen.bench.cases import CASES
from snellen.errors import InputError
from support.cli import run

CHECKOUT = Path(__file__).parents[2]
RESULTS = sorted((CHECKOUT / "benchmarks" / "results").glob("*.json"))


@pytest.mark.parametrize("page", ["README.md", "docs/performance.md"])
def test_the_pages_are_what_the_command_makes(page):
    assert RESULTS
    made = detail.pages(CHECKOUT, RESULTS)[CHECKOUT / page]
    told = (CHECKOUT / page).read_text(encoding="utf-8")
    assert told == made, "run: snellen bench table"


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2}


@pytest.fixture
def report():
    """What a run on a GPU writes, with figures that nobody measured."""
    names = ("features", "match", "settle", "group", "regress", "overlap")
    checked = {
        "case": "1920×1080 ×2", "picture": "drawn", "width": 320, "height": 180, "patches": 57600,
        "rescored": 0.01, "feature_error": 2e-7, "other_anchor": 1, "largest_loss": 3e-8,
        "beyond_rounding": 0, "pixels": 230400,
    }  # fmt: skip
    return {
        "benchmark": "aplus", "machine": {"cpu": "C", "threads": 16, "gpu": ["A GPU"]},
        "sgemm_gflops": 1.0, "copy_gb_s": 4000.0,
        "exactness": [
            checked | {"bits": 8, "against": "float64", "off_by_one": 2e-5, "off_by_more": 0},
            checked | {"bits": 10, "against": "float64", "off_by_one": 4e-5, "off_by_more": 0},
            checked | {"bits": 0, "against": "float64", "psnr_db": 99.9, "psnr_decided_db": 144.4},
            checked | {"bits": 8, "against": "cpu", "off_by_one": 7e-5, "off_by_more": 0},
        ],
        "gpu_cases": [
            {"case": "1920×1080 ×2", "launches": spread(2.0), "graph": spread(1.5),
             "sustained": 1.25, "rescored": 0.01,
             "stages": {name: spread(0.25) for name in names},
             "stock": {"torch": "2", "whole": spread(30.0), "steps": {"match": spread(12.0)}}},
            {"case": "960×540 ×2", "launches": spread(0.5), "no_graph": "why", "sustained": 0.4,
             "rescored": 0.0, "stages": {"match": spread(0.1)}},
        ],
        "seven_steps": {"case": "1920×1080 ×2", "cpu_ms": 200.0, "gpu_ms": 2.0, "ratio": 100.0,
                        "rows": [{"steps": ["PCA"], "cpu_ms": 50.0, "gpu_ms": 0.5,
                                  "ratio": 100.0}]},
        "sizes": [{"dims": 96, "anchors": 8192, "ms": spread(9.0), "rescored": 0.5}],
        "truth": {"pictures": "Set14", "count": 14, "scale": 2, "cpu_gpu": None,
                  "truth_cpu": 40.0, "truth_gpu": 40.0, "truth_bicubic": 38.0},
        "throughput": [{"planes": "4:2:0", "chroma": "cpu", "lanes": 3, "fps": spread(900.0),
                        "device_mb": 1234.0}],
        "video": {"clip": "c.mkv", "frames": 300, "drain_fps": spread(500.0), "encoders": [
            {"codec": "libx264", "preset": "veryfast", "whole_s": spread(6.0),
             "encoder_s": spread(5.0), "ratio": 1.2, "fps": 50.0}]},
    }  # fmt: skip


def test_what_readme_says_of_a_gpu(report):
    told = table.part(report, "benchmarks/results/x.json")
    for words in (
        "| 1920×1080 ×2 | 1.50 ms (0.75 … 3.00) | 2.00 ms | 1.25 ms | 30.0 ms | 20.0 × |",
        "| 960×540 ×2 | 0.50 ms (0.25 … 1.00) | 0.50 ms | 0.40 ms | – | – |",
        "| PCA | 50 | 0.500 | 100 × |",
        "| whole | 200 | 2.000 | 100 × |",
        "| Snellen | identical | 40.00 | 40.00 | 38.00 |",
        "88.97 | 37.84 | 37.84 | 35.37 |",
        "| 4:2:0, chroma cpu | 900 (450 … 1800) | 3 | 1234 MB |",
        "| libx264 veryfast | 6.00 s | 5.00 s | 1.200 × | 50.0 |",
        "[x.json](benchmarks/results/x.json)",
    ):
        assert words in told
    flat = " ".join(told.split())
    assert "of 230,400 patches 4 took another anchor" in flat
    assert "at most 2.0e-05 at 8 bit and 4.0e-05 at 10 bit" in flat
    assert "within 144 dB, and within 100 dB where pixels count" in flat


def test_details_of_a_gpu(report):
    told = detail.detail(report, "benchmarks/results/x.json")
    assert "[x.json](../benchmarks/results/x.json), on A GPU." in told
    assert "| 1920×1080 ×2 | 0.250 | 0.250 | 0.250 | 0.250 | 0.250 | 0.250 | 1.500 |" in told
    assert "| 960×540 ×2 | – | 0.100 | – | – | – | – | 0.100 |" in told
    assert "| 96 | 8192 | 9.00 | 50.00 % |" in told
    assert (
        "| drawn, 320×180 ×2, float | float64 | 2.0e-07 | 1 of 57,600 | 3.0e-08 | 1.00 % |" in told
    )
    # features: 2.0736 M bytes in, 128 bytes a patch out, in 0.25 ms, of 4 TB/s
    assert f"| 1920×1080 ×2 | {100 * 2.0736e6 * 129 / 0.25e-3 / 4e12:.0f} % |" in told


def test_a_run_without_a_gpu_or_a_video_says_nothing_of_them(report):
    for key in ("gpu_cases", "seven_steps", "throughput", "video"):
        del report[key]
    assert table.part(report, "x") == "" and detail.detail(report, "x") == ""


def test_markers(tmp_path, report):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(report))
    text = f"before\n{table.BEGIN}\nprevious\n{table.END}\nafter\n"
    made = table.rewrite(text, [path], table.part)
    assert made.startswith(f"before\n{table.BEGIN}\nOne luma") and "previous" not in made
    assert made.endswith(f"\n{table.END}\nafter\n")
    assert table.rewrite(made, [path], table.part) == made
    assert table.rewrite(made, [], table.part) == f"before\n{table.BEGIN}\n{table.END}\nafter\n"
    with pytest.raises(InputError, match="markers"):
        table.rewrite("nothing", [path], table.part)


def test_the_command_writes_both_pages(tmp_path, report, capsys, signals):
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/performance.md"):
        text = (CHECKOUT / page).read_text(encoding="utf-8")
        (tmp_path / page).write_text(text, encoding="utf-8")
    path = tmp_path / "x.json"
    path.write_text(json.dumps(report))
    assert run("bench", "table", path, "--folder", tmp_path) == 0
    assert capsys.readouterr().out.count("written") == 2
    assert "| PCA | 50 |" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "| 96 | 8192 |" in (tmp_path / "docs/performance.md").read_text(encoding="utf-8")
    assert run("bench", "table", path, "--folder", tmp_path) == 0
    assert capsys.readouterr().out.count("as it was") == 2


@pytest.mark.parametrize("content", ["{", "[]", '{"benchmark": "other"}'])
def test_what_is_no_result_is_refused(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"x\.json"):
        table.rewrite(f"{table.BEGIN}{table.END}", [path], table.part)


def test_the_floor_of_1080p():
    found = floor.needs(CASES[0], 0.5)
    n = 1920 * 1080
    assert found["features"].bytes == n * (1 + 128)
    assert found["match"].operations == n * 1024 * 28 * 2
    assert found["settle"].operations * 2 == found["match"].operations
    # 36 samples are 40 in memory; 1024 matrices of 40 × 32 half-precision numbers
    assert found["regress"].bytes == n * (128 + 160 + 6) + 1024 * 40 * 32 * 2
    assert found["overlap"].bytes == n * (160 + 1 + 4)
