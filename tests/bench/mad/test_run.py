"""The benchmark of MAD tells no time of a wrong score."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from snellen.bench import host as machines
from snellen.bench.mad import exact, host, run, steps, throughput
from snellen.bench.mad.cases import Case, pair
from snellen.errors import DeviceError, SnellenError
from snellen.mad import cpu
from snellen.mad.result import Score


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(run, "CASES", (Case(64, 48), Case(50, 44), Case(40, 70)))
    monkeypatch.setattr(exact, "SMALL", Case(70, 61))
    for name in ("SMALL", "LARGE", "LARGEST"):
        monkeypatch.setattr(throughput, name, Case(64, 48))
    monkeypatch.setattr(machines, "sgemm", lambda: 12.5)


def test_run_is_json(tiny):
    lines = []
    report = json.loads(json.dumps(run.run(2, lines.append, device="cpu"), allow_nan=False))
    assert report["benchmark"] == "mad" and report["device"] == "cpu" and report["commit"]
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    assert [case["case"] for case in report["cases"]] == ["64×48", "50×44"]
    for case in report["cases"]:
        assert {"float64", "float32", host.PORT} <= set(case["lines"])
        assert case["lines"]["float64"]["ratio"] == 1
        for line in case["lines"].values():
            assert 0 < line["min"] <= line["median"] <= line["max"]
    assert [row["case"] for row in report["memory"]] == ["40×70"] * 2
    assert all(row["peak_mb"] >= row["before_mb"] > 0 for row in report["memory"])
    assert set(report["cpu_steps"][0]["steps"]) == set(steps.STEPS)
    assert len(report["exactness"]) == 2 * 2 * len(exact.KINDS) * len(exact.BITS)
    assert any("64×48" in line for line in lines)


def test_quick_has_fewer_cases(tiny):
    report = run.run(1, lambda line: None, device="cpu", quick=True)
    assert len(report["cases"]) == 1 and report["memory"][0]["case"] == "64×48"
    assert len(report["exactness"]) == 4


@pytest.mark.gpu
@pytest.mark.parametrize("quick", [False, True])
def test_run_on_a_gpu_is_json(tiny, quick):
    report = run.run(1, lambda line: None, device="cuda", quick=quick)
    report = json.loads(json.dumps(report, allow_nan=False))
    assert report["device"] == "cuda:0" and "cases" not in report
    assert len(report["gpu_cases"]) == (1 if quick else 3)
    for case in report["gpu_cases"]:
        assert {"bank", "statistics", "difference", "seen"} <= set(case["stages"])
        assert case["graph"]["median"] > 0 and "no_graph" not in case
        assert case["kernels"]["statistics"]["local_bytes"] == 0
        assert case["transfers_share"] > 0 and case["memory_mb"]["pool"] > 0
    assert report["batch"]["rates"]["pairs"] > 0
    assert report.get("several") or report["no_several"]


def grown(stage):
    """The stage, and after it its last argument a little larger."""

    def broken(*arguments):
        made = stage(*arguments)
        arguments[-1][...] *= 1.001
        return made

    return broken


@pytest.mark.parametrize("name", ["statistics", "difference", "local_mse"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_wrong_stage_stops_the_report(monkeypatch, tiny, name, dtype):
    monkeypatch.setattr(cpu, name, grown(getattr(cpu, name)))
    with pytest.raises(SnellenError, match=r"off by .*: nothing is timed"):
        exact.examine([Case(64, 48)], [("cpu", dtype)], True, lambda line: None)


def test_nothing_and_a_picture_that_differs_from_itself_stop_it(monkeypatch, tiny):
    wanted = exact.scored(given := pair(Case(64, 48)), *exact.CPU)
    nothing = replace(wanted[0], mad=float("nan"))
    for spoilt in ((nothing, wanted[1]), (wanted[0], Score(0.1, 0.0, 0.0))):
        monkeypatch.setattr(exact, "scored", lambda *arguments, spoilt=spoilt: spoilt)
        with pytest.raises(SnellenError, match="nothing is timed"):
            exact.one(given, exact.CPU, wanted[0], "a pair")


def test_no_time_after_a_failed_check(monkeypatch, tiny):
    def failed(*arguments):
        raise SnellenError("nothing is timed")

    monkeypatch.setattr(exact, "examine", failed)
    monkeypatch.setattr(host, "timed", None)  # a call would be a TypeError
    with pytest.raises(SnellenError, match="nothing is timed"):
        run.run(1, lambda line: None, device="cpu")


def test_without_a_gpu_asking_for_it_is_an_error(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda ordinal=0: "there is none")
    with pytest.raises(DeviceError, match="there is none"):
        run.run(1, lambda line: None, device="cuda")


def test_several_gpus_are_left_out_where_there_is_one(monkeypatch):
    lines = []
    monkeypatch.setattr(throughput, "gpus", lambda: 1)
    assert "no_several" in throughput.several(1, False, lines.append)
    assert "left out" in lines[0]


def test_several_gpus_give_the_same_scores_or_no_time():
    def make(device, repeats):
        count = device.count(",") + 1
        return "a pair", 0.8 / count, [Score(20.0 + off * count, 250.0, 1.6)]

    off = 0.0
    rows = throughput.along(make, 3, 1, lambda line: None)
    assert [(row["gpus"], row["ratio"]) for row in rows] == [(1, 1.0), (2, pytest.approx(2.0))]
    off = 1e-4
    with pytest.raises(SnellenError, match="a pair on 2 GPUs: mad is off by"):
        throughput.along(make, 4, 1, lambda line: None)


def test_a_batch_is_of_different_pairs():
    references, distorted = throughput.drawn(Case(64, 48))
    assert references.shape == distorted.shape == (throughput.PAIRS, 48, 64)
    assert (references[0] != references[1]).any() and (references != distorted).any()
