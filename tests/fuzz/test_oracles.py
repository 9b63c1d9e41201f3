"""Each oracle fails on a fault that is planted, and is content without it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from fuzz import oracles, tracing
from fuzz.case import Case
from fuzz.oracles import Outcome, faults, state
from fuzz.process import Worker, traced

WORDS = ["upscale", "in/a.png", "-o", "out/b.png"]
GOOD = {"frames": 1, "size": (2, 2), "errors": [], "times": [0.0]}


@pytest.fixture
def ran(tmp_path):
    """A maker of outcomes of a run: it failed in the right way, unless something else is said."""
    folder = tmp_path / "case"
    folder.mkdir()
    case = Case(list(WORDS), {"in/a.png": b"input"}, ("out/b.png",))
    case.place(folder)

    def make(code=2, err=b"error: in/a.png: no picture\n", read=GOOD, **settings):
        for name in ("words", "outputs", "whole", "film", "note", "original", "codes"):
            if name in settings:
                setattr(case, name, settings.pop(name))
        settings.setdefault("before", before)
        return Outcome(case, folder, code, err=err, witness=lambda path: read, **settings)

    before = state(folder)
    return make


def named(run):
    """Return the names of the oracles that found a fault."""
    return {name for name, _ in faults(run)}


def finished(run, data=b"result"):
    """Write the result."""
    (run.folder / "out" / "b.png").write_bytes(data)
    return run


def test_no_oracle_blames_a_right_refusal_or_a_right_result(ran):
    assert faults(ran()) == []
    notice = b"in/a.png: no blur found: left as it is\n"
    assert faults(finished(ran(0, notice, out=b"out/b.png: 2x2\n"))) == []


@pytest.mark.parametrize(
    "planted",
    [{"code": None, "ended": "SIGSEGV"}, {"code": 4}, {"code": -11}, {"code": 130},
     {"code": None, "err": b"Traceback\n  File x\nValueError: y\n"}],
)  # fmt: skip
def test_an_end_that_is_not_documented(ran, planted):
    assert "ended" in named(ran(**planted))


@pytest.mark.parametrize(
    "code, err",
    [(2, b""), (2, b"error: a\nerror: b\n"), (3, b""), (0, b"error: a\n"),
     (2, b"error: a\nTraceback (most recent call last):\n  File\nValueError\n"),
     (2, b"libtiff: odd\nerror: a\n"), (2, b"error: a\nb\n")],
)  # fmt: skip
def test_lines_of_error(ran, code, err):
    assert "said" in named(ran(code, err))


def test_a_notice_about_all_pairs(ran):
    line = b"pairs: 2 workers on cpu share 4 pairs\n"
    assert "said" in named(ran(0, line))
    pairs = ["score", "--pairs", "in/list.csv", "--workers", "2"]
    assert "said" not in named(ran(0, line, words=pairs))


@pytest.mark.parametrize("text", ["\x1b[31m", "\r", "\x9b", "\u202e", "\u2028", "\x7f"])
def test_foreign_characters(ran, text):
    assert named(ran(err=f"error: a{text}b\n".encode())) & {"clean"}


def test_bytes_that_are_no_text(ran):
    assert named(ran(err=b"error: a\xffb\n")) == {"clean"}


@pytest.mark.parametrize("name", ["out/.b-xyz.png", "in/c.png", "b.png", "out/maps/"])
def test_leftovers(ran, name):
    run = ran()
    (run.folder / name).mkdir() if name.endswith("/") else (run.folder / name).write_bytes(b"")
    assert named(run) == {"leftovers"}


@pytest.mark.parametrize("how", ["written", "touched", "removed"])
def test_a_changed_input(ran, how):
    run = ran()
    path = run.folder / "in" / "a.png"
    if how == "removed":
        path.unlink()
    elif how == "touched":
        path.touch()
        time.sleep(0.01)
        path.touch()
    else:
        path.write_bytes(b"INPUT")
    assert named(run) == {"inputs"}


def test_a_result_after_a_refusal_and_none_after_success(ran):
    assert named(ran(0, b"")) == {"outputs"}
    assert named(finished(ran())) == {"outputs"}


def test_a_result_that_cannot_be_read_or_is_short(ran):
    broken = {"frames": 0, "size": (0, 0), "errors": ["x"], "times": []}
    run = finished(ran(0, b"", read=broken))
    assert named(run) == {"outputs"}
    (run.folder / "out" / "b.png").unlink()
    film = ran(0, b"", out=b"out/b.mkv: 5 frames, x\n", outputs=("out/b.mkv",))
    (film.folder / "out" / "b.mkv").write_bytes(b"")
    assert named(film) == {"outputs"}


def test_memory_and_time(ran):
    assert named(ran(memory=oracles.BASE + 1)) == {"memory"}
    assert named(ran(cpu=oracles.SLOW + 1)) == {"time"}


def test_damage(ran):
    bad = {**GOOD, "errors": ["h264: error while decoding"]}
    assert "damage" in named(finished(ran(0, b"", read=bad, film="in/a.png")))
    assert named(ran(3, b"error: damaged\n", whole=True)) >= {"damage"}


def test_what_ffmpeg_does_not_know_is_no_damage(ran):
    known = {**GOOD, "errors": ["h264: data partitioning is not implemented"]}
    run = finished(ran(0, b"", film="in/a.png"))
    run.witness = lambda path: GOOD if "out" in path else known
    assert faults(run) == []


def test_frames_that_are_lost_inside_a_film(ran):
    run = finished(ran(0, b"", film="in/a.png", original=b"film", note="h264: zero_block"))
    lost, whole = ({**GOOD, "times": times, "frames": len(times)} for times in (
        [0.0, 0.04, 0.08, 0.2, 0.24], [0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24]))  # fmt: skip
    run.witness = lambda path: GOOD if "out" in path else whole if "whole" in path else lost
    assert named(run) == {"damage"}


def test_another_result_under_another_name(ran):
    run = finished(ran(0, b"", outputs=("out/b.png", "out/twin.png")))
    (run.folder / "out" / "twin.png").write_bytes(b"other")
    run.twin = ran(0)
    assert named(run) == {"twins"}
    run.twin = ran(2)
    assert named(run) == {"twins"}


@pytest.mark.parametrize(
    "code, ended",
    [("import os; os.abort()", "SIGABRT"), ("import time; time.sleep(60)", "hung"),
     ("import time; x = bytearray(300 << 20); time.sleep(60)", "drowned")],
)  # fmt: skip
def test_the_watchdog(tmp_path, code, ended):
    worker = Worker(tmp_path, ("-c", code), hung=1.5 if ended == "hung" else 30, drowned=200)
    answer = worker.ask(words=[])
    assert answer.ended == ended and not answer.facts


def test_what_is_named():
    files = {"in/concat:in/b.png": b"", "in/b.png": b""}
    for words in (["--vf", "null,lut3d=in/a.cube"], ["--post-vf=lut3d=in/a.cube"]):
        named = tracing._named(Case([*WORDS, "in/concat:in/b.png", *words], files))
        assert {"in/a.cube", "in/concat:in/b.png"} < named and "in/b.png" not in named


@pytest.mark.parametrize("workers", [True, False])
def test_a_worker_is_no_stranger(tmp_path, workers):
    name = "".join(f"\\x{byte:02x}" for byte in os.fsencode(sys.executable))
    log = f'1 execve("{name}", [], 0x1) = 0\n' * 2
    case = Case([*WORDS, *(["--workers", "2"] if workers else [])], {})
    assert bool(list(tracing.judged(log, case, tmp_path))) is not workers


@pytest.mark.parametrize(
    "code, found",
    [("open('in/b.png')", "b.png"), ("open('../beside')", "beside"),
     ("open('in/a.png', 'r+')", "a.png"), ("import socket; socket.socket()", "socket"),
     ("import os; os.execv('/bin/true', ['true'])", "starts"), ("open('in/a.png')", None),
     ("open('out/b.png', 'w')", None)],
)  # fmt: skip
def test_what_is_opened(tmp_path, monkeypatch, code, found):
    if traced() is None:
        pytest.skip("strace is not here")
    folder = tmp_path / "case"
    folder.mkdir()
    case = Case(list(WORDS), {"in/a.png": b"", "in/b.png": b""})
    case.place(folder)
    (tmp_path / "beside").write_text("")
    monkeypatch.setattr(tracing, "command", lambda: [sys.executable, "-S", "-c", code])
    works = subprocess.run([traced(), "-qq", "-o", str(tmp_path / "log"), "true"], check=False)
    if works.returncode:
        pytest.skip("strace may not trace here")
    strangers = tracing.strangers(case, folder)[1]
    assert (not strangers) if found is None else any(found in one for one in strangers), strangers
