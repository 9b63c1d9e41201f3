"""--preview on the command line."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from support.cli import names, refused, run
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def here(tmp_path, monkeypatch, small_model):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "in.mkv", rate=Fraction(12), frames=30)
    return ["upscale", "in.mkv", "--model", small_model, "--device", "cpu"]


def test_settings_side_by_side(capsys, here, tmp_path):
    words = [*here, "--preview-at", "0:01", "--preview-seconds", "0.25", "--json"]
    assert run(*words, "--preview-with", "--crf 40") == 0
    facts = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert names(tmp_path) == ["in-preview.html", "in.mkv"]
    assert facts["event"] == "done" and facts["output"] == "in-preview.html"
    assert facts["starts"] == [1.0] and facts["bytes"] > 10_000
    one, other = facts["variants"]
    assert (one["label"], other["label"]) == ("as given", "--crf 40")
    assert other["size"] < one["size"] and one["frames"] == 3
    refused("upscale", capsys, [*here[1:], "--preview", 1], "in-preview.html exists")
    make(tmp_path / "one.mkv", frames=1)
    assert run("upscale", "one.mkv", *here[2:], "--preview", 2) == 0
    said = capsys.readouterr().out
    assert "preview: 1 frame," in said and said.endswith("pictures of 1 frame\n")


def test_options_that_do_not_fit(capsys, here, tmp_path):
    for words, said in (
        (["--preview-with", "--crf 40"], "--preview-with without --preview"),
        (["--preview", 1, "--preview-with", "--no-such"], "No such option"),
        (["--preview", 1, "--preview-with", "-o b.mkv"], "options of the method"),
        (["--preview", 1, "--preview-with", "b.mkv"], "options of the method"),
        (["--preview", 1, "--preview-with", "--help"], "options of the method"),
        (["--preview", 1, "--preview-with", "--json"], "options of the method"),
        (["--preview", 1, "--preview-with", "--log x"], "options of the method"),
        (["--preview", 1, "--preview-with", "'"], "No closing quotation"),
        (["--preview", 1, "--preview-with", "--scale 99"], "--scale 99"),
        (["--preview", 1, "--preview-with", "--config c"], "--preview-with '--config c': c: no"),
        (["--preview-at", "9"], "no frame at or after 9 s"),
        (["in.mkv/../in.mkv", "here.mkv", "--preview", 1], "one video"),
    ):
        assert run(*here, *words) == 2
        assert said in capsys.readouterr().err, words
    assert names(tmp_path) == ["in.mkv"]
