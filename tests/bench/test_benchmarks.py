"""The commands of benchmarks/: result files of both formats, their comparison, tables, stock."""

from __future__ import annotations

import json
import mmap
import pkgutil
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks import (
    compare,
    denoise,
    extras,
    latency,
    memory,
    quality,
    results,
    sizes,
    tables,
    throughput,
    video,
)
from benchmarks.results import OURS, Key
from benchmarks.stock import run as stock
from benchmarks.stock.run import Stock
from snellen.bench import aplus, mad, mia
from snellen.bench.clock import Line
from snellen.errors import SnellenError
from snellen_lab.bench import fft

ROOT = Path(benchmarks.__file__).parents[1]
FILES = sorted((ROOT / "benchmarks" / "results").glob("*.json"))


def test_every_module_can_be_imported():
    found = list(pkgutil.walk_packages(benchmarks.__path__, "benchmarks."))
    assert len(found) > 15
    for module in found:
        if not module.name.endswith("__main__"):
            import_module(module.name)


@pytest.fixture
def current(tmp_path):
    """Writes a result file of today's format, with our times of two cells."""

    def write(name="new.json", first=1.0, second=2.0, device="cpu", **more):
        cells = [
            {"size": size, "batch": batch, "kind": "Poisson",
             "kernel_ms": {"median": ms, "min": ms, "max": ms}}
            for size, batch, ms in (("32×32", 1, first), ("64×64", 132, second))
        ]  # fmt: skip
        machine = {"cpu": "A CPU", "threads": 2, "gpu": ["A GPU (driver for CUDA 13.0)"]}
        report = {
            "benchmark": "mia", "format": 2, "device": device, "machine": machine,
            "date": "2026-11-22", "digest": "d", "commit": None, "cells": cells, **more,
        }  # fmt: skip
        path = tmp_path / name
        path.write_text(json.dumps(report))
        return path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_are_there_can_be_read(path):
    result = results.read(path)
    assert result.method == path.stem.partition("-")[0]
    assert result.cells or extras.tables(result.report)
    assert result.where == ("cpu" if "cpu" in path.stem else "cuda")
    for key, cell in result.cells.items():
        assert 0 < cell.ms["min"] <= cell.ms["median"] <= cell.ms["max"], key
    for lines in result.comparisons.values():
        assert lines[OURS].ratio == 1 and len(lines) > 1
    assert compare.main([str(path), str(path)]) == (0 if result.cells else 2)


@pytest.mark.parametrize(
    ("method", "module"), [("aplus", aplus), ("mad", mad), ("mia", mia), ("fft", fft)]
)
def test_cells_keep_their_names(method, module):
    """What was measured on a GPU before is measured under the same name now."""
    old = next(path for path in FILES if path.stem == f"{method}-h200")
    before = {key for key in results.read(old).cells if key.where == "cuda"}
    now = {Key(method, "cuda", case.size, case.batch, case.kind)
           for case in module.cases("cuda:0", False)}  # fmt: skip
    assert before <= now


def test_what_is_no_result_is_refused(tmp_path, capsys):
    other = tmp_path / "other.json"
    other.write_text("[]")
    with pytest.raises(ValueError, match="no result"):
        results.read(other)
    assert compare.main([str(other), str(other)]) == 2
    assert "no result" in capsys.readouterr().err


class TestCompare:
    def test_what_is_worse_is_named_and_the_status_is_1(self, current, capsys):
        old = current("old.json")
        assert compare.main([str(old), str(current(first=1.02, second=1.0))]) == 0
        assert compare.main([str(old), str(current(second=2.1))]) == 1
        lines = capsys.readouterr().out.splitlines()
        (worse,) = [line for line in lines if "WORSE" in line]
        assert "mia, cpu: 64×64, 132 at once, Poisson" in worse and "1.050" in worse
        assert compare.main([str(old), str(current(second=2.1)), "--worse", "6"]) == 0

    def test_wrong_cells_count_as_worse(self, current, capsys):
        wrong = {"size": "64×64", "batch": 132, "kind": "Poisson", "error": "off"}
        good = json.loads(current().read_text())["cells"][0]
        new = current("new.json", cells=[good, wrong])
        assert compare.main([str(current("old.json")), str(new)]) == 1
        out = capsys.readouterr().out
        assert "wrong in the new file: 64×64" in out and "only in the old file" in out

    def test_nothing_in_common(self, current, capsys):
        assert compare.main([str(current("old.json")), str(current(device="cuda:0"))]) == 2
        assert "no cell in common" in capsys.readouterr().err


class TestTables:
    @pytest.mark.slow
    def test_the_pages_that_are_there_are_up_to_date(self):
        for page, text in tables.pages([results.read(path) for path in FILES]).items():
            assert page.read_text(encoding="utf-8") == text, "run `python -m benchmarks.tables`"

    def test_ours_is_compared_with_the_fastest_line_that_does_the_same(self):
        rows = [row for row in tables.HIGHLIGHTS if len(row.stock) > 1]
        chosen = [row for row in rows if row.key.method == "mia"]
        (result,) = (one for one in map(results.read, FILES) if chosen[0].key in one.comparisons)
        found = tables.highlights([result])
        for what, key, names, _ in chosen:
            lines = result.comparisons[key]
            times = [lines[name].ms["median"] for name in names]
            (row,) = (row for row in found.splitlines() if f"| {what}, GPU " in row)
            assert f"| {tables.milliseconds(min(times))} (" in row

    @pytest.mark.slow
    def test_the_default_method_has_a_row_without_and_with_stock_lines(self, current, tmp_path):
        """It names its GPU where most rows are of another one."""
        ms = {"median": 1.05, "min": 1.0, "max": 1.1}
        cell = {"size": "1920×1080 ×2", "batch": 1, "kind": "fine", "kernel_ms": ms}
        how = {"benchmark": "cnn", "device": "cuda:0", "cells": [cell]}
        others = [results.read(path) for path in FILES if not path.name.startswith("cnn-")]
        ours = results.read(current("cnn-h100.json", **how))
        pages = tables.pages([*others, ours], tmp_path)
        readme = tables.highlights([*others, ours])
        link = "[all](docs/benchmarks/cnn.md) |"
        row = f"| cnn-fine, the default, 1080p → 4K luma, A GPU | 1.05 ms | – | – | {link}"
        assert row in readme.splitlines()
        assert "GPU: NVIDIA H200; CPU:" in readme
        page = pages[tmp_path / "docs" / "benchmarks" / "cnn.md"]
        assert "| 1920×1080 ×2, fine | 1.05 ms (1 ms … 1.1 ms) |" in page
        assert "\ncnn\n" in pages[tmp_path / "docs" / "benchmarks" / "index.md"]
        slower = {"ms": {"median": 4.2, "min": 4, "max": 5}, "ratio": {"median": 4.0}}
        lines = {OURS: {"ms": ms, "ratio": {"median": 1.0}}, "PyTorch, cuDNN": slower}
        del cell["kernel_ms"]
        stock_file = current("cnn-h100-stock.json", **how, rows=[cell | {"lines": lines}])
        readme = tables.highlights([*others, ours, results.read(stock_file)])
        assert "luma, A GPU | 1.05 ms | 4.2 ms (PyTorch) | 4 × |" in readme
        assert "1080p → 4K luma, GPU | 1.05 ms |" in tables.highlights([ours])

    @pytest.mark.slow
    def test_the_readme_gets_its_table_between_markers(self, tmp_path):
        (tmp_path / "README.md").write_text(f"a\n{tables.BEGIN}\nold\n{tables.END}\nb\n")
        found = tables.pages([results.read(path) for path in FILES], tmp_path)
        text = found[tmp_path / "README.md"]
        assert text.startswith("a\n") and text.endswith("b\n") and "old" not in text
        assert "[all](docs/benchmarks/mia.md)" in text and "| what | Snellen |" in text
        with pytest.raises(ValueError, match="results:end"):
            tables.between(f"{tables.BEGIN}\n", "x")

    def test_the_quality_of_pictures_and_clips(self, current, tmp_path):
        pictures = [
            {"set": "Set5", "picture": name, "method": method, "psnr": psnr, "ssim": 0.9, "mad": 3}
            for method, base in (("bicubic", 30.0), ("cnn-fine-film-x2", 33.0))
            for name, psnr in (("a", base), ("b", base + 1))
        ]  # fmt: skip
        clips = [
            {"source": source, "clip": f"{number}", "method": "bicubic", "psnr": psnr, "mad": 9.0,
             "ssim": 0.8, "bits": bits, "flat": 1.5, "busy": None, "gain": gain,
             "flat_gain": gain and 2 * gain}
            for source, bits, gain in (("uncoded", None, None), ("x264 23", 0.2, 1.0))
            for number, psnr in enumerate((20.0, 21.0, 40.0))
        ]  # fmt: skip
        methods = ["bicubic", "cnn-fine-film-x2"]
        path = current(
            benchmark="quality", pictures=pictures, clips=clips, methods=methods, scale=2
        )
        page = tmp_path / "docs" / "benchmarks" / "quality.md"
        text = tables.pages([results.read(path)], tmp_path)[page]
        assert "| ×2: PSNR, dB / SSIM / MAD | Set5 |" in text
        assert "| cnn-fine-film-x2 | 33.50 / 0.9000 / 3.00 |" in text
        assert "| PSNR, dB, median of 3 clips | uncoded | x264 23 |" in text
        assert "| bicubic | 21.00 | 21.00 |\n| cnn-fine-film-x2 | – | – |" in text
        assert "| PSNR, dB, mean of 3 clips |" in text and "| bicubic | 27.00 | 27.00 |" in text
        assert "| change by coding everywhere, bicubic = 1, median of 3 clips | x264 23 |" in text
        noise = "| coding noise in flat areas, bicubic = 1, median of 3 clips | x264 23 |"
        assert f"{noise}\n| --- | --- |\n| bicubic | 2.00 |" in text
        assert "| 2 | 0.20 | 40.00 / 9.00 | – / – |" in text and "png" not in text
        for one in (*pictures, *clips):
            del one["mad"]
        path = current(
            benchmark="quality", pictures=pictures, clips=clips, methods=methods, scale=2
        )
        quick = tables.pages([results.read(path)], tmp_path)[page]
        assert "MAD" not in quick and "| cnn-fine-film-x2 | 33.50 / 0.9000 |" in quick
        page.parent.mkdir(parents=True)
        page.with_suffix(".png").touch()
        assert "](quality.png)" in tables.pages([results.read(path)], tmp_path)[page]

    def test_a_result_of_today(self, current):
        result = results.read(current(call_ms=None))
        text = tables.section(result)
        assert "| 64×64, 132 at once, Poisson | 2 ms (2 ms … 2 ms) |" in text
        assert "source digest d" in text and "A CPU, 2 cores" in text

    @pytest.mark.parametrize(
        ("ms", "told"),
        [(1234.5, "1.23 s"), (12.34, "12.3 ms"), (0.1234, "123 µs"), (0.002, "2 µs")],
    )
    def test_milliseconds(self, ms, told):
        assert tables.milliseconds(ms) == told


class TestStock:
    @pytest.fixture
    def measured(self, monkeypatch):
        monkeypatch.setattr(mia, "SIDES", (32,))
        monkeypatch.setattr(mia, "OPTIONS", ())
        monkeypatch.setattr(mia, "BATCH", 2)

        def run(lines):
            (case, _) = mia.cases("cpu", False)
            return stock.measure(case, lines, "cpu", 1, lambda line: None)

        return run

    @pytest.mark.slow
    def test_lines_are_checked_and_timed_beside_ours(self, measured):
        def wrong():
            raise SnellenError("off")

        @contextmanager
        def lines(case, device, missing):
            missing["absent"] = "not installed"
            yield {"other": Stock(Line(lambda: None), lambda: {"off": 0.5}, facts={"graph": True}),
                   "wrong": Stock(Line(lambda: None), wrong)}  # fmt: skip

        row = json.loads(json.dumps(measured(lines)))
        assert set(row["lines"]) == {OURS, "other"}
        assert row["lines"]["other"]["check"] == {"off": 0.5} and row["lines"]["other"]["graph"]
        assert row["lines"][OURS]["ratio"]["median"] == 1
        assert row["missing"]["absent"] == "not installed" and "off" in row["missing"]["wrong"]

    def test_without_other_lines_there_is_no_row(self, measured):
        @contextmanager
        def lines(case, device, missing):
            yield {}

        assert measured(lines) == {}

    def test_on_the_cpu(self, monkeypatch):
        monkeypatch.setattr(mia, "SIDES", (32,))
        monkeypatch.setattr(mia, "OPTIONS", ())
        monkeypatch.setattr(mad, "SIZES", ((96, 64),))
        for method, name in (("mia", "plain NumPy"), ("mad", "plain NumPy")):
            report = stock.run(method, 1, lambda line: None, device="cpu", quick=True)
            assert name in report["rows"][0]["lines"] and report["failed"] == 0
            assert len(report["rows"]) == 1

    @pytest.mark.gpu
    @pytest.mark.parametrize("method", ["aplus", "cnn", "mad", "mia", "fft"])
    def test_on_a_gpu(self, monkeypatch, method):
        monkeypatch.setattr(mia, "SIDES", (32,))
        monkeypatch.setattr(mia, "OPTIONS", ())
        monkeypatch.setattr(mia, "BATCH", 2)
        monkeypatch.setattr(mad, "SIZES", ((96, 64),))
        monkeypatch.setattr(fft, "SIDES", (32,))
        report = stock.run(method, 1, lambda line: None, device="cuda", quick=True)
        assert report["failed"] == 0 and json.dumps(report, allow_nan=False)
        for row in report["rows"]:
            for name, why in row["missing"].items():
                assert "PyTorch" in name and "torch" in why.lower()  # not installed


class TestPyTorch:
    @pytest.mark.parametrize("scale", [2, 3, 4])
    def test_aplus(self, scale):
        pytest.importorskip("torch")
        from benchmarks.stock import aplus as lines

        assert lines.check(scale, "cpu")["mean_grey_levels"] <= lines.AGREE

    @pytest.mark.parametrize("scale", [2, 3, 4])
    def test_networks(self, scale):
        torch = pytest.importorskip("torch")
        from benchmarks.stock import cnn as lines
        from snellen.bench.cnn import drawn

        found = lines.check(drawn("fast", scale), "cpu", torch.float32)
        assert found["mean_grey_levels"] < 1e-4  # float32

    def test_mad(self):
        torch = pytest.importorskip("torch")
        from benchmarks.stock import mad as lines

        case = mad.Pair("pair", 123, 95)
        images = torch.from_numpy(np.stack(mad.planes(123, 95)).astype(np.float32))
        found = lines.Operators(95, 123, "cpu")(images)
        assert lines.check(found, case)["scores"] < 1e-5


@pytest.mark.slow
def test_latency(monkeypatch):
    monkeypatch.setattr(latency, "SIDE", 32)
    monkeypatch.setattr(latency, "ITERATIONS", 3)
    monkeypatch.setattr(latency, "FEWEST", 2)
    found = latency.measure("cpu", True, lambda line: None)
    assert set(found["lines"]) == set(latency.LINES) - {latency.LOCKED}
    for row in found["lines"].values():
        assert 0 < row["min"] <= row["p50"] <= row["p99"] <= row["max"]


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.0, 1), (0.5, 50), (0.501, 51), (0.99, 99), (1.0, 100)]
)
def test_percentiles(share, wanted):
    assert latency.percentile(range(100, 0, -1), share) == wanted


@pytest.mark.slow
def test_denoise(monkeypatch):
    monkeypatch.setattr(denoise, "SIZES", [(40, 30)])
    monkeypatch.setattr(denoise, "SMALL", (33, 22))
    (found,) = denoise.measure("cpu", True, 1, lambda line: None)
    assert (found["size"], found["radius"]) == ("40×30", 2) and found["host to host"]["ms"] > 0


def test_memory():
    before = memory.forget_peak()
    with mmap.mmap(-1, 30 << 20) as block:  # memory that no library has kept
        block[:: mmap.PAGESIZE] = bytes([1]) * (len(block) // mmap.PAGESIZE)
        assert memory.peak() >= before > 1


def test_quality(monkeypatch):
    monkeypatch.setattr(quality, "SIZE", (64, 48))
    monkeypatch.delenv("SNELLEN_DATA", raising=False)
    found = quality.measure(False, lambda line: None)
    assert found["truth_cpu"] > found["truth_bicubic"] > 20 and found["count"] == 1


@pytest.mark.slow
def test_video(monkeypatch):
    monkeypatch.setattr(video, "SIZE", (64, 36))
    monkeypatch.setattr(video, "CODECS", (("libx264", "veryfast"),))
    found = video.measure(None, 5, "cpu", 1, lambda line: None)
    assert found["frames"] == 5 and found["encoders"][0]["ratio"] > 0


def test_random_models_are_models():
    model = sizes.random_model(2, 256, 48)
    assert model.anchors.shape == (256, 48) and model.projections.shape == (256, 36, 48)
    assert len(set(sizes.SIZES)) == len(sizes.SIZES)


@pytest.mark.gpu
def test_sizes_and_throughput_on_a_gpu(monkeypatch):
    monkeypatch.setattr(sizes, "SMALL", (40, 30))
    monkeypatch.setattr(sizes, "LARGE", (64, 48))
    assert len(sizes.measure("cuda:0", 1, True, lambda line: None)) == 2
    monkeypatch.setattr(throughput, "SIZE", (64, 48))
    for method, count in (("aplus", 1), ("cnn", 2)):
        found = throughput.measure(method, "cuda:0", True, lambda line: None)
        assert [row["planes"] for row in found] == ["luma", "4:2:0"] * count


def test_ratios_are_those_of_a_round():
    found = stock.ratios({"ours": [1.0, 2.0, 4.0], "theirs": [10.0, 10.0, 80.0]}, "ours")
    assert found["ours"]["ms"]["median"] == 2 and found["ours"]["ratio"]["median"] == 1
    assert found["theirs"]["ratio"] == {"median": 10, "min": 5, "max": 20}
