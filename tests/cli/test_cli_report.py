"""What a command says: JSON lines, text, and which stream."""

from __future__ import annotations

import json
import threading

import pytest

from snellen.cli import report as module
from snellen.cli.report import Report
from snellen.errors import IncompleteError, InputError
from snellen.jobs.events import Progress
from snellen.jobs.options.profile import StageTimes


def json_lines(capsys):
    out, err = capsys.readouterr()
    assert err == ""
    return [json.loads(line) for line in out.splitlines()]


def test_json_lines(capsys):
    with Report(as_json=True) as report:
        report.warning("a", "dropped")
        report.progress(Progress("a", 1, 10, 2.0, 4.5))
        report.failure("a", IncompleteError("broken"))
        report.progress(Progress("b", 2, None, 2.0, None))
        report.result("text", output="b")
    lines = json_lines(capsys)
    events = ["warning", "progress", "error", "progress", "done"]
    assert [line["event"] for line in lines] == events
    assert lines[1] == {
        "event": "progress", "input": "a", "frame": 1, "frames": 10, "fps": 2.0, "eta": 4.5
    }  # fmt: skip
    assert (lines[3]["frame"], lines[3]["frames"], lines[3]["eta"]) == (2, None, None)
    assert lines[2]["exit_code"] == 3 and lines[4]["output"] == "b"


def test_one_line_a_second_however_long_a_frame_takes(capsys, monkeypatch):
    monkeypatch.setattr(module, "SECOND", 0.01)
    written = threading.Semaphore(0)
    with Report(as_json=True) as report:
        line = report._line
        report._line = lambda *words, **facts: (line(*words, **facts), written.release())
        report.progress(Progress("a", 1, 2, 2.0, 4.5))
        for _ in range(3):
            assert written.acquire(timeout=10)
    lines = json_lines(capsys)
    assert len(lines) >= 3 and all(line == lines[0] for line in lines)
    assert report._beat is None


def test_many_frames_a_second_are_one_line(capsys):
    with Report(as_json=True) as report:
        for frame in range(1, 500):
            report.progress(Progress("a", frame, 500, 2.0, 4.5))
    assert 1 <= len(json_lines(capsys)) <= 20  # a machine that stalls may take some seconds


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("as_json", [False, True])
def test_stdout_stays_clean_when_the_video_goes_there(capsys, piped, as_json):
    with Report(as_json, output_is_stdout=piped) as report:
        report.result("done", output="-")
    out, err = capsys.readouterr()
    assert bool(err) == piped and bool(out) != piped


def test_text(capsys):
    with Report(as_json=False) as report:
        report.progress(Progress("a", 1, 10, 2.0, 4.5))  # no terminal: no bar
        report.warning("a [b]", "dropped")
        report.failure("a", IncompleteError("broken"))
        report.result("done")
    out, err = capsys.readouterr()
    assert out == "done\n" and err == "warning: a [b]: dropped\nerror: broken\n"


def test_a_bar_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Report(as_json=False) as report:
        report.progress(Progress("name [with] brackets", 1, 10, 2.0, 4.5))
        report.warning("a [b]", "dropped")
        report.progress(Progress("name [with] brackets", 10, 10, 2.0, 0.0))
        report.result("done")
    out, err = capsys.readouterr()
    assert out == "done\n"
    assert "name [with] brackets" in err and "a [b]: dropped" in err and "10/10" in err


PROFILE = (StageTimes("features", (1.0, 2.0, 6.0)), StageTimes("match", ()))


def test_a_profile_is_a_table_on_stderr(capsys):
    with Report(as_json=False) as report:
        report.profile("a", None)
        report.profile("a", PROFILE)
        report.profile("a", ())
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split() for line in err.splitlines()] == [
        ["stage", "runs", "total", "ms", "median", "ms"],
        ["features", "3", "9.00", "2.000"],
        ["match", "0", "0.00", "0.000"],
        ["no", "stage", "was", "timed"],
    ]


def test_a_profile_is_an_event_of_json(capsys):
    with Report(as_json=True) as report:
        report.profile("a", None)
        report.profile("a", PROFILE)
    (line,) = json_lines(capsys)
    features = {"runs": 3, "total_ms": 9.0, "median_ms": 2.0}
    assert line["event"] == "profile" and line["input"] == "a"
    assert line["stages"]["features"] == features and list(line["stages"]) == ["features", "match"]


def test_parameters_become_options(capsys):
    with Report(as_json=False) as report:
        report.warning("`device`=auto", "`psf_size`=3, `region`, `start`, `bits`=9")
        report.failure("a", InputError("`table` and `maps`", advice="leave `encoder_options` out"))
    assert capsys.readouterr().err.splitlines() == [
        "warning: --device auto: --psf-size 3, --roi, --start, bits=9",
        "error: --csv and --map-out; leave --encoder-option out",
    ]
