"""A signal ends the command with 130 wherever it arrives, and what was begun cleans up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import click
import pytest

from snellen.cli import interrupts
from snellen.cli.report import Report
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


def command(monkeypatch, function):
    """Make a function what `snellen doctor` does."""
    monkeypatch.setattr("snellen.cli.doctor.doctor", click.command("doctor")(function))


def kill(name="SIGTERM"):
    os.kill(os.getpid(), getattr(signal, name))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal(monkeypatch, capsys, name):
    command(monkeypatch, lambda: (kill(name), time.sleep(10)))
    assert run("doctor") == 130
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: interrupted") and err.count("\n") == 1


def test_another_signal_does_not_disturb_the_clean_up(monkeypatch):
    done = []

    def work():
        try:
            kill()
        finally:
            kill()
            kill("SIGINT")
            done.append("cleaned")

    command(monkeypatch, work)
    assert run("doctor") == 130 and done == ["cleaned"]


def test_a_signal_that_a_library_swallowed_ends_the_command_after_it(monkeypatch):
    def work():
        try:
            kill()
            time.sleep(10)
        except KeyboardInterrupt:
            pass

    command(monkeypatch, work)
    assert run("doctor") == 130


def test_a_signal_that_became_an_error_is_a_signal(monkeypatch, capsys):
    def work():
        try:
            kill()
        except KeyboardInterrupt:
            raise OSError(4, "Interrupted system call", "a.fifo") from None

    command(monkeypatch, work)
    assert run("doctor") == 130
    assert "Interrupted system" not in capsys.readouterr().err


def test_events_raise_a_signal_that_was_swallowed(monkeypatch):
    steps = []

    def work():
        try:
            kill()
        except KeyboardInterrupt:
            steps.append("swallowed")
        Report(as_json=False).warning("a", "b")
        steps.append("went on")

    command(monkeypatch, work)
    assert run("doctor") == 130 and steps == ["swallowed"]


def test_nothing_is_left_of_a_signal(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    command(monkeypatch, kill)
    assert run("doctor") == 130
    assert signal.getsignal(signal.SIGTERM) is before and not interrupts.arrived()
    interrupts.check()


LOST = """
import os, signal, sys, time, weakref
import click
import snellen.cli.doctor
from snellen.cli import main

class Thing:
    pass

@click.command()
def doctor():
    thing = Thing()
    watch = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGTERM))
    del thing
    for _ in range(1000):
        time.sleep(0.01)
    print("was not interrupted")

snellen.cli.doctor.doctor = doctor
sys.argv = ["snellen", "doctor"]
main()
"""


def program(text):
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60
    )  # fmt: skip


def test_a_signal_in_a_finalizer_is_raised_again():
    done = program(LOST)
    assert done.returncode == 130 and done.stdout == ""
    assert done.stderr.startswith("error: interrupted") and done.stderr.count("\n") == 1


def test_a_signal_during_an_import_or_at_the_end():
    for where in ("import click", "main(['--version'])"):
        done = program(
            "import os, signal, sys\nfrom snellen import cli\n"
            f"where = {where!r}\n"
            "def _run(words, program):\n    os.kill(os.getpid(), signal.SIGINT)\n    exec(where)\n"
            "cli._run = _run\ncli.main()"
        )
        assert done.returncode == 130 and done.stderr.count("\n") == 1


def test_the_library_leaves_signals_alone():
    done = program(
        "import signal\nbefore = [signal.getsignal(n) for n in (2, 15)]\n"
        "import snellen, snellen.jobs, snellen.cli, snellen.cli.commands, snellen.cli.report\n"
        "snellen.upscale, snellen.upscale_file\n"
        "assert before == [signal.getsignal(n) for n in (2, 15)]"
    )
    assert done.returncode == 0, done.stderr


def test_an_interrupt_that_a_library_raises_for_want_of_threads_is_none(monkeypatch):
    """OpenBLAS does so while it is loaded; a user's Ctrl-C in the same moment is one."""
    monkeypatch.setattr(interrupts._State, "first", None)
    monkeypatch.setattr(interrupts._State, "end", None)
    create_module = compile(
        "def create_module(go):\n    go(2, __import__('sys')._getframe())",
        "<frozen importlib._bootstrap_external>",
        "exec",
    )
    space = {}
    exec(create_module, space)
    with pytest.raises(KeyboardInterrupt):
        space["create_module"](interrupts._handle)
    monkeypatch.setattr(interrupts._State, "first", None)
    monkeypatch.setattr(interrupts, "_can_start_threads", lambda: False)
    with pytest.raises(MemoryError):
        space["create_module"](interrupts._handle)
    with pytest.raises(KeyboardInterrupt):
        interrupts._handle(2, None)
    monkeypatch.setattr(interrupts._State, "first", None)
