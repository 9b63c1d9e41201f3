"""--max-pixels of every command, and its error."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.still import Still, write
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
