"""snellen bench: the report goes where it is told, whole or not at all."""

from __future__ import annotations

import json

import pytest

from snellen.bench import aplus
from snellen.bench.mad import run as mad
from snellen.errors import SnellenError
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def quick(monkeypatch):
    def measured(repeats, say, **options):
        say("a line — with ×")
        return {"benchmark": "aplus", "repeats": repeats}

    monkeypatch.setattr(aplus, "run", measured)


def test_text(capsys, quick):
    assert run("bench", "aplus") == 0
    assert capsys.readouterr() == ("a line — with ×\n", "")


def test_json(capsys, quick):
    assert run("bench", "aplus", "--json", "--repeats", 2) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"benchmark": "aplus", "repeats": 2}
    assert err == "a line — with ×\n"


def test_mad(capsys, monkeypatch):
    def measured(repeats, say, *, device, quick):
        say("a line")
        return {"benchmark": "mad", "device": device, "quick": quick}

    monkeypatch.setattr(mad, "run", measured)
    assert run("bench", "mad", "--json", "--device", "cpu", "--quick") == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == {"benchmark": "mad", "device": "cpu", "quick": True}
    assert err == "a line\n"


def test_into_a_file(capsys, quick, tmp_path):
    goal = tmp_path / "report.json"
    assert run("bench", "aplus", "-o", goal) == 0
    assert json.loads(goal.read_text())["repeats"] == 5
    assert run("bench", "aplus", "-o", goal) == 2
    assert "exists" in capsys.readouterr().err
    assert run("bench", "aplus", "-o", goal, "--overwrite", "--repeats", 1) == 0
    assert json.loads(goal.read_text())["repeats"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize("name", ["no/report.json", "x" * 300])
def test_a_target_that_cannot_be_is_refused_first(capsys, monkeypatch, tmp_path, name):
    monkeypatch.setattr(aplus, "run", None)  # a call would be a TypeError
    assert run("bench", "aplus", "-o", tmp_path / name) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_wrong_result_is_no_report(capsys, monkeypatch, tmp_path):
    def wrong(repeats, say, **options):
        raise SnellenError("fast and plain arm differ")

    monkeypatch.setattr(aplus, "run", wrong)
    assert run("bench", "aplus", "-o", tmp_path / "report.json") == 1
    assert "differ" in capsys.readouterr().err and not list(tmp_path.iterdir())
