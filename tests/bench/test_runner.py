"""The runner: a result is checked first; what is wrong gets no time."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from snellen.bench import clock, runner
from snellen.bench.clock import Line
from snellen.bench.runner import Case, Kernel
from snellen.errors import DeviceError, SnellenError
from snellen.gpu import profile


class Square(Case):
    """Squares 3; its results may be spoilt."""

    def __init__(self, kernel=9, call=9, batch=1):
        super().__init__("3", "square", batch)
        self.results, self.done = (kernel, call), []

    def check(self, result, device):
        if result != 9:
            raise SnellenError(f"got {result}; expected 9")
        return {"off": 0.0}

    def call(self, device):
        return lambda: self.done.append("call") or self.results[1]

    @contextmanager
    def open(self, device):
        def run():
            with profile.stage("multiply"):
                self.done.append("run")

        self.done.append("open")
        yield Kernel(run, lambda: self.results[0], lambda: self.done.append("before"), 2.0,
                     facts={"registers": 7})  # fmt: skip
        self.done.append("close")


def test_a_right_case_is_timed():
    case, lines = Square(batch=4), []
    cell = runner.measure(case, "cpu", 3, lines.append)
    assert json.loads(json.dumps(cell)) == cell
    assert (cell["size"], cell["batch"], cell["kind"]) == ("3", 4, "square")
    assert cell["check"] == cell["call_check"] == {"off": 0.0} and cell["registers"] == 7
    for spread in (cell["kernel_ms"], cell["call_ms"]["warm"], cell["stages_ms"]["multiply"]):
        assert 0 <= spread["min"] <= spread["median"] <= spread["max"]
    assert cell["call_ms"]["cold"] > 0
    assert case.done[0] == "call" and case.done[1 + runner.CALLS] == "open"
    # One run that is checked, a warm-up, three timed ones, and three for the stages.
    assert case.done[2 + runner.CALLS :] == 8 * ["before", "run"] + ["close"]
    assert lines[0].startswith("  3, 4 at once, square: ")


@pytest.mark.parametrize("spoilt", [{"kernel": 8}, {"call": 8}])
def test_a_wrong_case_gets_no_time_and_the_next_one_goes_on(monkeypatch, spoilt):
    class Module:
        @staticmethod
        def cases(device, quick):
            return [Square(**spoilt), Square()]

    monkeypatch.setattr(runner, "import_module", lambda name: Module)
    lines = []
    report = runner.run("aplus", 1, lines.append, device="cpu")
    wrong, right = report["cells"]
    assert set(wrong) == {"size", "batch", "kind", "error"} and "got 8" in wrong["error"]
    assert "kernel_ms" in right and report["failed"] == 1
    assert "WRONG, nothing is timed" in lines[1]


def test_a_case_that_cannot_run_is_an_error_of_its_own():
    case, lines = Square(), []
    case.call = lambda device: lambda: 1 // 0
    cell = runner.measure(case, "cpu", 1, lines.append)
    assert cell["error"].startswith("ZeroDivisionError") and "kernel_ms" not in cell
    assert "FAILED, nothing is timed" in lines[0] and "Traceback" in lines[0]


@pytest.mark.slow
def test_the_report_names_machine_source_and_run(monkeypatch):
    class Module:
        @staticmethod
        def cases(device, quick):
            return [Square()][: 0 if quick else 1]

    monkeypatch.setattr(runner, "import_module", lambda name: Module)
    report = runner.run("mad", 2, lambda line: None, device="cpu", quick=True)
    assert report["benchmark"] == "mad" and report["format"] == runner.FORMAT
    assert report["machine"]["cpu"] and report["date"].endswith("+00:00")
    assert len(report["digest"]) == 64 and report["commit"] is None
    assert report["device"] == "cpu" and report["quick"] and report["cells"] == []


def test_a_gpu_that_is_asked_for_must_be_there(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda ordinal=0: "there is none")
    with pytest.raises(DeviceError, match="there is none"):
        runner.run("aplus", 1, lambda line: None, device="cuda")


def test_each_line_in_each_round_and_the_first_round_does_not_count():
    done = []
    lines = {
        name: Line(lambda name=name: name, lambda name=name: done.append(f"before {name}"))
        for name in ("a", "b")
    }
    taken = clock.in_rounds(lines, 2, lambda work: done.append(work()) or float(len(done)))
    assert done == ["before a", "a", "before b", "b"] * 3
    assert taken == {"a": [6.0, 10.0], "b": [8.0, 12.0]}


def test_spread_and_milliseconds(monkeypatch):
    assert clock.spread(iter([3.0, 1.0, 2.0])) == {"median": 2.0, "min": 1.0, "max": 3.0}
    ticks = iter((1.0, 1.5))
    monkeypatch.setattr(clock.time, "perf_counter", lambda: next(ticks))
    assert clock.host(lambda: None) == 500


@pytest.mark.gpu
def test_the_clock_of_a_gpu(cuda):
    with cuda.cuda.Stream(non_blocking=True):
        watch, plane = clock.events(), cuda.ones((2048, 2048), cuda.float32)
        taken = clock.in_rounds({"product": Line(lambda: plane @ plane)}, 3, watch)
        assert len(taken["product"]) == 3 and min(taken["product"]) > 0
