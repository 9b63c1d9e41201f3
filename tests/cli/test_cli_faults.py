"""Exceptions that nobody expected: one line, exit code 4, a traceback for those who ask."""

from __future__ import annotations

import subprocess
import sys
import threading
import types
import warnings

import click
import pytest

from snellen.cli import faults
from snellen.errors import (
    InputError,
    InternalError,
    OutputError,
    SnellenError,
    quoted,
    unexpected,
)
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def failing(monkeypatch):
    def fail():
        raise KeyError("a\x1b[31m\nb")

    monkeypatch.delenv("SNELLEN_DEBUG", raising=False)
    monkeypatch.setattr("snellen.cli.doctor.doctor", click.command("doctor")(fail))


def test_one_line_and_code_4(capsys, failing):
    assert run("doctor") == 4
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: a fault of Snellen: KeyError: ")
    assert err.count("\n") == 1 and err[:-1].isprintable() and "report" in err and "--debug" in err


@pytest.mark.parametrize("words", [["--debug", "doctor"], ["doctor", "--debug"]])
def test_debug_shows_the_traceback(capsys, failing, words):
    assert run(*words) == 4
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "debug: Traceback (most recent call last):"
    assert all(line.startswith("debug: ") and line.isprintable() for line in lines[1:])


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_environment_asks_for_it_too(capsys, monkeypatch, failing, value, shown):
    monkeypatch.setenv("SNELLEN_DEBUG", value)
    assert run("doctor") == 4
    assert ("Traceback" in capsys.readouterr().err) == shown


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (InputError("x"), InputError, 2),
        (MemoryError(), SnellenError, 1),
        (RuntimeError("can't start new thread"), SnellenError, 1),
        (ImportError("libx.so: failed to map segment from shared object"), SnellenError, 1),
        (OSError(28, "No space left", "a.png"), OutputError, 1),
        (RecursionError("deep"), InternalError, 4),
        (TypeError(), InternalError, 4),
    ],
)
def test_what_becomes_of_an_exception(error, kind, code):
    ours = unexpected(error)
    assert type(ours) is kind and ours.exit_code == code
    assert ours is error or ours.__cause__ is error


def test_one_job_with_a_fault_does_not_stop_the_others(monkeypatch, tmp_path, capsys):
    def fail(job, events):
        raise ZeroDivisionError("oh" if "a" in job.source.name else "no")

    monkeypatch.setattr("snellen.jobs.calls.execute.run_upscale", fail)
    for name in ("a.png", "b.png"):
        (tmp_path / name).touch()
    (tmp_path / "out").mkdir()
    assert run("upscale", tmp_path / "a.png", tmp_path / "b.png", "-o", tmp_path / "out") == 4
    err = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in err and "ZeroDivisionError: no" in err
    assert err.count("\n") == 2


class Odd:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "value",
    [Odd(), [Odd()], 10**5000, "x" * 10**6, ["\n"] * 10**6, b"\0"],
    ids=["odd", "list", "digits", "text", "texts", "bytes"],
)
def test_a_value_in_a_message_is_short_and_in_one_line(value):
    assert 0 < len(quoted(value)) <= 120 and "\n" not in quoted(value)


def test_hooks(capsys, monkeypatch):
    """What Python itself would print: of threads, finalizers and libraries."""
    faults.watch([])
    error = ValueError("of a thread")
    faults._in_thread(threading.ExceptHookArgs((ValueError, error, None, None)))
    assert faults.found() == 4
    faults.watch([])
    assert faults.found() == 0
    faults._dropped(types.SimpleNamespace(exc_value=ValueError("in a finalizer")))
    faults._dropped(types.SimpleNamespace(exc_value=BrokenPipeError()))
    faults._warned("of a\nlibrary", RuntimeWarning, "x.py", 3)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "warning", "warning"]
    assert lines[2] == "warning: RuntimeWarning: of a\\nlibrary"


def test_an_interrupt_that_a_callback_prints_is_raised_again(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(faults.interrupts, "again", lambda: seen.append(1))
    faults._printed(KeyboardInterrupt, KeyboardInterrupt(), None)
    faults._printed(ValueError, ValueError(), None)
    assert seen == [1] and capsys.readouterr() == ("", "")


def test_a_program_routes_warnings_and_logs():
    code = (
        "import logging, sys, threading, warnings\nimport click, snellen.cli.doctor\n"
        "from snellen.cli import main\n"
        "@click.command()\ndef doctor():\n"
        "    warnings.warn('one', RuntimeWarning)\n"
        "    logging.getLogger('libav.x').warning('two\\nlines')\n"
        "    thread = threading.Thread(target=lambda: 1 / 0)\n    thread.start()\n"
        "    thread.join()\n"
        "snellen.cli.doctor.doctor = doctor\nsys.argv = ['snellen', 'doctor']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    lines = done.stderr.splitlines()
    assert done.returncode == 4 and done.stdout == ""
    assert lines[:2] == ["warning: RuntimeWarning: one", "warning: libav.x: two\\nlines"]
    assert lines[2].startswith("error: a fault of Snellen: ZeroDivisionError")
    assert len(lines) == 3 and warnings.showwarning is not faults._warned
