"""snellen completion: what shells run, and what they then ask for."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from support.cli import run

pytestmark = pytest.mark.usefixtures("signals")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_writes_what_the_shell_runs(shell, capsys):
    assert run("completion", shell) == 0
    out = capsys.readouterr().out
    assert f"_SNELLEN_COMPLETE={shell}_complete" in out
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n"], input=out, text=True, check=True)  # it only parses


def test_a_shell_of_another_name(capsys):
    assert run("completion", "cmd") == 2
    assert "'cmd' is not one of" in capsys.readouterr().err


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("snellen comp", {"compare", "completion"}),
        ("snellen upscale --reci", {"--recipe"}),
        ("snellen upscale --recipe ", {"archive", "web"}),
        ("snellen upscale --audio o", {"opus"}),
        ("snellen bench a", {"aplus"}),
    ],
)
def test_what_a_shell_asks_for(line, wanted, capsys, monkeypatch, tmp_path):
    (tmp_path / "snellen.toml").write_text("[recipe.archive.upscale]\n[recipe.web.upscale]\n")
    monkeypatch.setenv("SNELLEN_CONFIG", str(tmp_path))
    monkeypatch.setenv("_SNELLEN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert run() == 0
    found = {one.partition(",")[2] for one in capsys.readouterr().out.splitlines()}
    assert found == wanted


def test_a_damaged_file_completes_to_nothing(capsys, monkeypatch, tmp_path):
    (tmp_path / "snellen.toml").write_text("[")
    monkeypatch.setenv("SNELLEN_CONFIG", str(tmp_path))
    for name, value in {"_SNELLEN_COMPLETE": "bash_complete", "COMP_CWORD": "3",
                        "COMP_WORDS": "snellen upscale --recipe "}.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert run() == 0
    out, err = capsys.readouterr()
    assert out.strip() == err == ""


@pytest.mark.parametrize("given", [{}, {"COMP_WORDS": "snellen", "COMP_CWORD": "x"}])
def test_what_no_shell_has_asked(given, capsys, monkeypatch):
    monkeypatch.setenv("_SNELLEN_COMPLETE", "bash_complete")
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert run() == 1
    assert "fault of Snellen" not in capsys.readouterr().err
