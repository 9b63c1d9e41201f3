"""The command line as a whole: help, exit codes, one line of error and no traceback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib import import_module

import click
import pytest

import snellen
from snellen import errors
from snellen.cli import groups
from snellen.cli.commands import COMMANDS
from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


def outside(*words, **options):
    """The same in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "snellen", *map(str, words)],
        capture_output=True, text=True, timeout=100, **options,
    )  # fmt: skip


def test_help_names_every_command(capsys):
    assert run("--help") == 0
    out, err = capsys.readouterr()
    assert all(name in out for name in COMMANDS) and err == ""
    assert re.search(r"train +Learn a model of A\+, or a compact network", out)


@pytest.mark.cases(9)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_each_command(capsys, name, flag):
    assert run(name, flag) == 0
    out, err = capsys.readouterr()
    assert f"snellen {name}" in out and err == ""


@pytest.mark.parametrize("name", ["upscale", "deblur", "score", "train"])
def test_help_has_groups_and_examples(capsys, name):
    command = getattr(import_module(f"snellen.cli.{name}"), name)
    assert run(name, "--help") == 0
    out = capsys.readouterr().out
    titles = re.findall(r"^(\w[\w ]+):$", out, re.MULTILINE)
    assert titles[0] == groups.FILES and titles[-1] == "Examples"
    assert titles.index(groups.MACHINE) < titles.index(groups.REPORT)
    options = [one.opts[-1] for one in command.params if isinstance(one, click.Option)]
    assert all(re.search(rf"^  (-\w, )?{one}\b", out, re.MULTILINE) for one in options)
    assert "--help" in out.split(f"{groups.OTHER}:")[1] and out.count("\n  snellen ") in (2, 3)
    assert "RANGE" not in out
    assert not re.search(r"\w-$", out, re.MULTILINE) and "\x01" not in out  # no name is broken


def test_version(capsys):
    assert run("--version") == 0
    assert snellen.__version__ in capsys.readouterr().out


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    "words",
    [
        ["nothing-such"],
        ["--nothing-such"],
        ["upscale"],
        ["upscale", "in.png"],
        ["upscale", "-o", "out.png"],
        ["upscale", "in.png", "-o", "out.png", "--scale", "0.5"],
        ["upscale", "in.png", "-o", "out.png", "--scale", "two"],
        ["upscale", "in.png", "-o", "out.png", "--frames", "0"],
        ["upscale", "in.png", "-o", "out.png", "--nothing-such"],
        ["upscale", "in.mkv", "-o", "out.mkv", "--decoder", "gpu"],
        ["upscale", "in.mkv", "-o", "out.mkv", "--chroma", "nvdec"],
        ["bench", "nothing-such"],
        ["bench", "aplus", "--repeats", "0"],
        ["doctor", "extra"],
    ],
)
def test_wrong_use(capsys, words):
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.cases
@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (errors.InputError("what came"), 2, "error: what came\n"),
        (errors.ModelError("what came"), 2, "error: what came\n"),
        (errors.DeviceError("what came"), 2, "error: what came\n"),
        (errors.OutputError("what came"), 1, "error: what came\n"),
        (errors.IncompleteError("what came"), 3, "error: what came\n"),
        (MemoryError(), 1, "error: not enough memory"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (click.Abort(), 130, "error: interrupted"),
        (PermissionError(13, "Permission denied", "/secret/a.png"), 1, "/secret/a.png"),
    ],
)
def test_exit_codes(capsys, monkeypatch, error, code, words):
    @click.command()
    def doctor():
        raise error

    monkeypatch.setattr("snellen.cli.doctor.doctor", doctor)
    assert run("doctor") == code
    out, err = capsys.readouterr()
    assert out == "" and words in err and "Traceback" not in err


def test_a_request_to_end_is_an_interrupt(capsys, monkeypatch):
    @click.command()
    def doctor():
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("snellen.cli.doctor.doctor", doctor)
    assert run("doctor") == 130


def test_as_a_program(tmp_path):
    done = outside("upscale", tmp_path / "none.png", "-o", tmp_path / "out.png")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path / 'none.png'}: no such file\n"


def test_without_arguments_help_is_shown():
    done = outside()
    assert done.returncode == 2 and "upscale" in done.stderr + done.stdout


@pytest.mark.parametrize(("before", "code"), [(signal.SIG_DFL, 130), (signal.SIG_IGN, 0)])
def test_a_lost_terminal_is_an_interrupt_but_under_nohup(capsys, monkeypatch, before, code):
    @click.command()
    def doctor():
        os.kill(os.getpid(), signal.SIGHUP)

    monkeypatch.setattr("snellen.cli.doctor.doctor", doctor)
    ours = signal.signal(signal.SIGHUP, before)
    try:
        assert run("doctor") == code
    finally:
        signal.signal(signal.SIGHUP, ours)
    assert ("interrupted" in capsys.readouterr().err) == (code == 130)


@pytest.mark.parametrize("name", ["upscale", "deblur", "score"])
def test_help_calls_what_no_hardware_has_run_experimental(capsys, name):
    assert run(name, "--help") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "nvdec, experimental" in text and "--profile" in text and "cuda:0,cuda:1" in text
    assert name == "score" or "NVENC and QSV are experimental" in text
