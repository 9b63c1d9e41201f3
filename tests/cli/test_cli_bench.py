"""snellen bench: the report goes where it is wanted, whole; a wrong result is an error."""

from __future__ import annotations

import json

import pytest

from snellen.bench import runner
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def measured(monkeypatch):
    """Stands in for the runner; returns the report, which tests may change."""
    report = {"cells": [{}, {}], "failed": 0}

    def work(method, repeats, say, **options):
        say("a line — with ×")
        return report | {"benchmark": method, "repeats": repeats, **options}

    monkeypatch.setattr(runner, "run", work)
    return report


@pytest.mark.parametrize("method", [*runner.METHODS, "fft"])
def test_text(capsys, measured, method):
    assert run("bench", method) == 0
    assert capsys.readouterr() == ("a line — with ×\n", "")


def test_json(capsys, measured):
    assert run("bench", "mad", "--json", "--repeats", 2, "--device", "cpu", "--quick") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == measured | {
        "benchmark": "mad", "repeats": 2, "device": "cpu", "quick": True
    }  # fmt: skip
    assert err == "a line — with ×\n"


def test_into_a_file(capsys, measured, tmp_path):
    goal = tmp_path / "report.json"
    assert run("bench", "aplus", "-o", goal) == 0
    assert json.loads(goal.read_text())["repeats"] == 5
    assert run("bench", "aplus", "-o", goal) == 2
    assert "exists" in capsys.readouterr().err
    assert run("bench", "aplus", "-o", goal, "--overwrite", "--repeats", 1) == 0
    assert json.loads(goal.read_text())["repeats"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_models_of_ones_own(capsys, measured):
    assert run("bench", "aplus", "--json", "--model", "t91-x2", "--model", "my.safetensors") == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["t91-x2", "my.safetensors"]


@pytest.mark.parametrize("name", ["no/report.json", "x" * 300])
def test_a_target_that_cannot_be_is_refused_first(capsys, monkeypatch, tmp_path, name):
    monkeypatch.setattr(runner, "run", None)  # a call would be a TypeError
    assert run("bench", "aplus", "-o", tmp_path / name) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_wrong_result_is_written_without_a_time_and_the_status_is_1(capsys, measured, tmp_path):
    measured["failed"] = 1
    assert run("bench", "aplus", "-o", tmp_path / "report.json") == 1
    assert "1 of 2 results are wrong" in capsys.readouterr().err
    assert json.loads((tmp_path / "report.json").read_text())["failed"] == 1


@pytest.mark.parametrize(
    ("method", "said"), [("calls", "Timed calls after the first"), ("mad", "Timed rounds on the")]
)
def test_help_says_what_is_repeated(capsys, method, said):
    assert run("bench", method, "--help") == 0
    assert said in " ".join(capsys.readouterr().out.split())
