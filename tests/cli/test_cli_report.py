"""What a command says: JSON lines, text, and which stream."""

from __future__ import annotations

import json

import pytest

from snellen.cli import report as module
from snellen.cli.report import Report


def test_json_lines(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    with Report(as_json=True) as report:
        report.progress("a", 1, 10, 2.0, 4.5)
        clock[0] += 0.5
        report.progress("a", 2, 10, 2.0, 4.0)
        clock[0] += 0.6
        report.progress("a", 3, None, 2.0, None)
        report.warning("a", "dropped")
        report.failure("a", "broken", 3)
        report.result("text", output="b")
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert err == "" and [line["event"] for line in lines] == [
        "progress", "progress", "warning", "error", "done",
    ]  # fmt: skip
    assert lines[0] == {
        "event": "progress", "input": "a", "frame": 1, "frames": 10, "fps": 2.0, "eta": 4.5
    }  # fmt: skip
    assert (lines[1]["frame"], lines[1]["frames"], lines[1]["eta"]) == (3, None, None)
    assert lines[3]["exit_code"] == 3 and lines[4]["output"] == "b"


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_stdout_stays_clean_when_the_video_goes_there(capsys, piped, as_json):
    with Report(as_json, output_is_stdout=piped) as report:
        report.result("done", output="-")
    out, err = capsys.readouterr()
    assert bool(err) == piped and bool(out) != piped


def test_text(capsys):
    with Report(as_json=False) as report:
        report.progress("a", 1, 10, 2.0, 4.5)  # no terminal: no bar
        report.warning("a [b]", "dropped")
        report.failure("a", "broken", 3)
        report.result("done")
    out, err = capsys.readouterr()
    assert out == "done\n" and err == "warning: a [b]: dropped\nerror: broken\n"


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Report(as_json=False) as report:
        report.progress("name [with] brackets", 1, 10, 2.0, 4.5)
        report.warning("a [b]", "dropped")
        report.progress("name [with] brackets", 10, 10, 2.0, 0.0)
        report.result("done")
    out, err = capsys.readouterr()
    assert out == "done\n"
    assert "name [with] brackets" in err and "a [b]: dropped" in err and "10/10" in err
