"""What segments add to a film, measured."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import overhead


@pytest.mark.slow
def test_the_command(monkeypatch, capsys, tmp_path):
    out = tmp_path / "o.json"
    words = ["overhead", "--segments", "16", "--folder", tmp_path, "--out", out]
    monkeypatch.setattr(sys, "argv", list(map(str, words)))
    monkeypatch.setattr(overhead, "WORKERS", (1, 2))
    assert overhead.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(out.read_text())
    assert [one["workers"] for one in found["pool"]] == [1, 2]
    assert [(one["segments"], one["workers"]) for one in found["noted"]] == [
        (2, 1), (2, 2), (16, 1), (16, 2),
    ]  # fmt: skip
    assert [one["in_segments"] for one in found["film"][1]["runs"]] == [False, True, True]
    assert [one.name for one in tmp_path.iterdir()] == ["o.json"]
