"""--max-pixels of every command, and its error."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from snellen.stills.still import Still, write
from support.cli import refused


@pytest.mark.parametrize("command", ["upscale", "deblur", "score", "train"])
def test_max_pixels(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.png", Still(np.zeros((80, 90, 3), np.uint8)))
    words = {
        "score": ["a.png", "a.png"],
        "train": ["--images", ".", "-o", "m.safetensors"],
    }.get(command, ["a.png", "-o", "b.png"])
    options = [*words, "--max-pixels", "7199"]
    refused(command, capsys, options, "90×80, 7,200 pixels", "at most 7,199 (--max-pixels)")


def test_a_pattern_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("x1.png", "x2.png"):
        write(tmp_path / name, Still(np.zeros((8, 9), np.uint8)))
    refused("upscale", capsys, ["x%d.png", "-o", "b.png"], "need a folder")
    refused("upscale", capsys, ["z%d.png", "-o", "b.png"], "none matches it as a pattern")
    refused("score", capsys, ["x%d.png", "x1.png"], "matches 2 files; expected one")
    refused("upscale", capsys, ["a.png", "--size"], "snellen upscale --help lists")
    refused("upscale", capsys, ["ftp://a/b.png", "-o", "b.png"], "got the scheme ftp")


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux only")
@pytest.mark.parametrize("megabytes", [60, 240, 330])
@pytest.mark.parametrize("command", ["upscale", pytest.param("score", marks=pytest.mark.slow)])
def test_too_little_address_space_is_one_line(tmp_path, command, megabytes):
    """NumPy, llvmlite and others cannot even be loaded then, and blame the installation."""
    resource = pytest.importorskip("resource")
    write(tmp_path / "a.png", Still(np.zeros((48, 64), np.uint8)))
    words = ["a.png", "a.png"] if command == "score" else ["a.png", "-o", "b.png"]

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20,) * 2)

    run = subprocess.run(
        [sys.executable, "-m", "snellen", command, *words], cwd=tmp_path, capture_output=True,
        text=True, preexec_fn=limit,
    )  # fmt: skip
    assert run.returncode == 1 and not (tmp_path / "b.png").exists()
    others = ("OpenBLAS", "first use: ")
    ours = [line for line in run.stderr.splitlines() if not line.startswith(others)]
    assert len(ours) <= 1 and len(run.stderr.splitlines()) >= 1
    assert all(line.startswith("error: not enough memory") for line in ours)
