"""The benchmark of MIA tells no time of a wrong picture, and says what it left out."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import numpy as np
import pytest

from snellen.bench import host as machines
from snellen.bench.mia import cases, exact, floor, gpu, host, latency, options, run, stock
from snellen.bench.mia.cases import OPTIONS, PLAIN, Case
from snellen.errors import DeviceError, InputError, SnellenError
from snellen.mia import cpu
from support.cli import run as command


@pytest.fixture
def tiny(monkeypatch):
    """Small periods and batches, few frames, fewer options where quick."""

    def few(quick):
        return [Case(32), Case(32, 3), *([] if quick else [Case(64), Case(64, 3), Case(64, 5)])]

    monkeypatch.setattr(run, "cases", few)
    monkeypatch.setattr(run, "BATCH", 3)
    monkeypatch.setattr(options, "OPTIONS_SIDE", 64)
    for name in ("FRAMES", "FEW", "FEWEST"):
        monkeypatch.setattr(latency, name, 3)
    monkeypatch.setattr(latency, "SIDE", 64)
    monkeypatch.setattr(machines, "sgemm", lambda: 12.5)


def test_run_is_json(tiny):
    lines = []
    report = json.loads(json.dumps(run.run(2, lines.append, device="cpu"), allow_nan=False))
    assert report["benchmark"] == "mia" and report["device"] == "cpu" and report["commit"]
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    assert any("No GPU is measured" in line for line in lines) and "gpu_cases" not in report
    rows = report["cpu_cases"]
    assert [(row["case"], row["batch"]) for row in rows] == [
        ("32×32", 1), ("32×32", 3), ("64×64", 1), ("64×64", 3)
    ]  # fmt: skip
    assert list(rows[0]["lines"]) == [host.OURS, host.DOUBLE, host.PORT]
    assert list(rows[1]["lines"]) == [host.OURS]
    assert (rows[0]["iterations"], rows[1]["iterations"]) == (200, host.SHORT)
    for row in rows:
        assert row["lines"][host.OURS]["ratio"]["median"] == 1
        for line in row["lines"].values():
            assert 0 < line["min"] <= line["median"] <= line["max"]
    (found,) = report["cpu_options"]
    assert list(found["lines"]) == [PLAIN.name, *(option.name for option in OPTIONS)]
    assert len(report["exactness"]) == 2 * (2 + 1) + len(OPTIONS)
    assert all(row["max"] <= exact.WITHIN[row["dtype"]] for row in report["exactness"])
    assert report["latency"]["frames"] == 3 and set(report["latency"]["lines"]) == set(
        latency.LINES
    ) - {latency.LOCKED}


def test_quick_has_fewer_cases(tiny):
    report = run.run(1, lambda line: None, device="cpu", quick=True)
    assert len(report["cpu_cases"]) == 2 and len(report["cpu_options"][0]["lines"]) == 2


@pytest.mark.gpu
@pytest.mark.parametrize("quick", [False, True])
def test_run_on_a_gpu_is_json(tiny, quick):
    report = run.run(1, lambda line: None, device="cuda", quick=quick)
    report = json.loads(json.dumps(report, allow_nan=False))
    assert report["device"] == "cuda:0" and len(report["gpu_cases"]) == (2 if quick else 5)
    for case in report["gpu_cases"]:
        assert {gpu.OURS, gpu.STOCK, gpu.HAND} <= set(case["lines"])
        assert set(case["missing"]) <= {gpu.EAGER, gpu.TORCH}
        assert set(case["graphs"]) <= {gpu.STOCK, gpu.HAND, gpu.TORCH}
        assert case["layout"]["registers"] > 0
    arms = {row["arm"] for row in report["exactness"]}
    assert {gpu.OURS, host.OURS, gpu.STOCK, gpu.HAND} <= arms
    assert [found["batch"] for found in report["options"]] == [1, 3]
    assert set(report["latency"]["lines"]) == set(latency.LINES)
    assert len(report["cpu_cases"]) == (2 if quick else 4)


@pytest.mark.parametrize("name", ["_inverse", "_back"])
def test_a_wrong_arm_stops_the_report(monkeypatch, tiny, name):
    right = getattr(cpu.Share, name)

    def spoilt(self, *arguments):
        found = right(self, *arguments)
        found[..., 1, :] *= 1.01
        return found

    monkeypatch.setattr(cpu.Share, name, spoilt)
    monkeypatch.setattr(host, "in_turns", None)  # a call would be a TypeError
    monkeypatch.setattr(options, "in_turns", None)
    with pytest.raises(SnellenError, match=r"CPU, float32, 32×32, Poisson.*: nothing is timed"):
        run.run(1, lambda line: None, device="cpu")


def test_a_wrong_option_stops_the_report(monkeypatch, tiny):
    right = cpu.pointwise.flatten

    def spoilt(f, weight, *arguments):
        right(f, 2 * weight, *arguments)

    monkeypatch.setattr(cpu.pointwise, "flatten", spoilt)
    with pytest.raises(SnellenError, match=r"64×64, total variation.*: nothing is timed"):
        options.check("cpu", OPTIONS, lambda line: None)


def test_a_wrong_frame_is_not_timed(monkeypatch, tiny):
    right = latency.Deblurrer.run

    def spoilt(self, frame):
        found = right(self, frame)
        if self.dtype == "float32":
            found.image[3] += np.float32(2e-4)
        return found

    monkeypatch.setattr(latency.Deblurrer, "run", spoilt)
    monkeypatch.setattr(latency, "times", None)  # a call would be a TypeError
    with pytest.raises(SnellenError, match=r"off float64 by 2.*e-04 of white: nothing is timed"):
        latency.measure("cpu", True, lambda line: None)


def test_a_stream_counts_so_many_frames(monkeypatch):
    came, ticks = [], iter(range(10**6))
    monkeypatch.setattr(latency.time, "perf_counter", lambda: next(ticks) ** 2 * 1e-3)
    taken = latency.times(came.append, ["a", "b", "c"], 50)
    assert len(came) == 50 + latency.WARM and set(came) == {"a", "b", "c"}
    # The i-th call, from 0, begins at 4 i² ms and ends at (2 i + 1)² ms.
    assert taken == pytest.approx([4 * i + 1 for i in range(latency.WARM, latency.WARM + 50)])
    found = latency.figures(taken)
    assert (found["p50"], found["p99"]) == (taken[24], taken[49])


def test_frames_of_a_stream():
    frames = latency.drawn()
    assert len(frames) == latency.DIFFERENT
    for frame in frames:
        assert frame.shape == (128, 128) and frame.dtype == np.uint8 and frame.flags.c_contiguous
        assert frame.max() == 255 and frame.std() > 20
    assert all((one != frames[0]).any() for one in frames[1:])


def test_operations():
    # Six real transforms of 128² points as three complex ones; 14 stages of 5 operations a point.
    assert floor.operations(128) == 200 * 3 * 5 * 128 * 128 * 14


def test_without_a_gpu_asking_for_it_is_an_error(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda ordinal=0: "there is none")
    with pytest.raises(DeviceError, match="there is none"):
        run.run(1, lambda line: None, device="cuda")


def test_levin_s_pictures(monkeypatch, tiny, tmp_path):
    judge = ModuleType("snellen.bench.mia.levin")
    judge.measure = lambda device, say: {"device": device}
    monkeypatch.setitem(sys.modules, judge.__name__, judge)
    monkeypatch.setenv("SNELLEN_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"levin09 .* nothing is there"):
        run.run(1, lambda line: None, device="cpu", quick=True, levin=True)
    (tmp_path / "levin09").mkdir()
    (tmp_path / "levin09" / "one.npz").touch()
    report = run.run(1, lambda line: None, device="cpu", quick=True, levin=True)
    assert report["levin"] == {"device": "cpu"}
    monkeypatch.delenv("SNELLEN_DATA")
    with pytest.raises(InputError, match="not set"):
        run.protocol()


class Graph:
    """A line that takes so long, as a graph of so many iterations."""

    def __init__(self, line, count):
        self.count = count

    def start(self, *arguments):
        pass

    def iterate(self, count):
        return self.count


@pytest.mark.parametrize(("quick", "wanted"), [(1, 1), (200, 200)])
def test_the_quicker_graph_is_taken(monkeypatch, quick, wanted):
    monkeypatch.setattr(stock, "Graphed", Graph)
    given = cases.problem(32)
    found = gpu.quicker(lambda: stock.Loop(np), given, lambda work: 1.0 if work() == quick else 2.0)
    assert found.count == wanted


def test_a_line_that_cannot_be_made_is_told(monkeypatch):
    lines, missing, said = {}, {}, []

    def broken():
        raise RuntimeError("no capture")

    gpu._add(lines, missing, gpu.HAND, broken)
    gpu._add(lines, missing, gpu.STOCK, lambda: "a line")
    assert lines == {gpu.STOCK: "a line"} and missing == {gpu.HAND: "RuntimeError: no capture"}
    monkeypatch.setitem(sys.modules, "torch", None)
    with gpu._torch_on(None, lines, missing, cases.problem(32)):
        assert set(missing) == {gpu.HAND, gpu.EAGER, gpu.TORCH}
    taken = {"median": 2.0, "min": 1.0, "max": 3.0, "ratio": {"median": 4.0}}
    gpu.tell({"case": "32×32", "batch": 4, "lines": {gpu.OURS: taken, gpu.STOCK: taken},
              "graphs": {gpu.STOCK: 200}, "missing": missing}, said.append)  # fmt: skip
    told = "\n".join(said)
    assert "0.5000 an image" in told and "4.00 × ours" in told and "(200 in a graph)" in told
    assert f"{gpu.HAND} is left out: RuntimeError: no capture" in told


@pytest.mark.usefixtures("signals")
@pytest.mark.parametrize("method", ["mia", "fft"])
def test_the_commands(capsys, monkeypatch, method):
    def measured(repeats, say, **options):
        say("a line")
        return {"benchmark": method, "repeats": repeats, **options}

    monkeypatch.setattr(f"snellen.bench.{method}.run.run", measured)
    assert command("bench", method, "--json", "--device", "cpu", "--quick", "--repeats", 2) == 0
    out, err = capsys.readouterr()
    wanted = {"benchmark": method, "repeats": 2, "device": "cpu", "quick": True}
    assert json.loads(out) == wanted | ({"levin": False} if method == "mia" else {})
    assert err == "a line\n"
