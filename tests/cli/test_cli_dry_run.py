"""--dry-run on the command line."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from snellen.video import estimate
from snellen.video.segments import cuts
from support.cli import names, run
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")


def test_what_would_be_done(capsys, clip, tmp_path, small_model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["upscale", "clip.y4m", "--model", small_model, "--device", "cpu", "--dry-run"]
    assert run(*words, "-o", "new/o.mkv") == 0
    out, err = capsys.readouterr()
    assert err == "" and names(tmp_path) == ["clip.y4m"]
    rows = dict(line.split(":", 1) for line in out.splitlines())
    assert list(rows) == ["would make", "stream", "chain", "model", "device", "encoder",
                          "segments", "frames", "estimate", "disk"]  # fmt: skip
    assert rows["would make"].strip() == "clip.y4m → new/o.mkv"
    assert rows["chain"].strip() == "24×20 4:2:0 8 bit → 48×40 4:2:0 8 bit"
    assert "from 4 frames at 1 place" in rows["estimate"]
    assert rows["segments"].strip() == "none, it is made in one piece"
    assert "crf=16" in rows["encoder"] and "free" in rows["disk"]
    assert run(*words, "-o", "-", "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    facts = json.loads(line)
    assert facts["event"] == "dry_run" and facts["estimate"]["frames"] == 4
    assert facts["encoder"] == "wrapped_avframe" and facts["free"] is None
    assert facts["segments"]["folder"] is None and facts["streams"][0]["outcome"] == "worked on"
    # 4 frames of 48 × 40 samples and half as many of chroma, with 6 bytes each before them.
    assert facts["needed"] == 4 * (48 * 40 * 3 // 2 + 6)


@pytest.mark.slow
def test_workers_and_their_cores_are_said(capsys, tmp_path, small_model, monkeypatch):
    monkeypatch.setattr(cuts, "LONG", 1)
    monkeypatch.setattr(cuts, "SECONDS", {"cpu": 1})
    monkeypatch.setattr(estimate, "FEWEST", 2)
    monkeypatch.setattr(estimate, "MOST", 2)
    keys = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "preset": "veryfast"}
    film = make(tmp_path / "in.mkv", rate=Fraction(12), frames=50, options=keys)
    words = ["upscale", film, "-o", tmp_path / "o.mkv", "--model", small_model, "--device", "cpu",
             "--threads", "6", "--workers", "3", "--dry-run"]  # fmt: skip
    assert run(*words) == 0
    rows = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    expected = "3 on cpu; each gets 2 cores, and its encoder has 6 threads"
    assert rows["workers"].strip() == expected
    assert re.search(
        ", by one worker; .* by all of them, about, on these cores; from", rows["estimate"]
    )
    assert run(*words, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["workers"] == ["cpu"] * 3 and facts["cores"] == 2
    assert facts["segments"]["encoder_threads"] == 6
    assert 0 < facts["seconds_by_all"] <= facts["estimate"]["seconds"]
    far = [one for one in words if one not in ("--workers", "3")]
    assert run(*far, "--cluster", "10.0.0.1:6379") == 0
    rows = dict(line.split(":", 1) for line in capsys.readouterr().out.splitlines())
    assert rows["cluster"].strip() == "10.0.0.1:6379 makes the segments; it was not asked"
    assert ", by this machine alone; from" in rows["estimate"]
    assert "workers" not in rows


def test_wrong_inputs_and_clashes(capsys, clip, saved, picture, tmp_path, small_model, monkeypatch):
    monkeypatch.chdir(tmp_path)
    saved("a.png", picture((8, 9)))
    saved("a.jpg", picture((8, 9)))
    saved("b.png", picture((8, 9)))
    Path("no.mkv").write_bytes(b"x" * 5000)
    how = ["--model", small_model, "--device", "cpu", "--dry-run"]
    assert run("upscale", "no.mkv", *how) == 2
    assert "no.mkv is text; expected" in capsys.readouterr().err
    assert run("upscale", "a.png", "b.png", "-o", "b.png", *how) == 2
    assert "several inputs need a folder" in capsys.readouterr().err
    assert run("upscale", "b.png", "no.mkv", "-o", "new", "-q", *how) == 2
    out, err = capsys.readouterr()
    assert "b.png → new/b.png" in out and "18×16" in out and "no.mkv" in err
    assert not Path("new").exists()


def test_the_name_of_a_codec_is_that_of_its_encoder(capsys, clip, tmp_path, small_model):
    """Of enlarging and of restoring, and with a target."""
    enlarged = ["upscale", clip, "--model", small_model, "--target-mad", "3"]
    restored = ["deblur", clip, "--psf-size", 5, "--iterations", 1, "--prior", "none"]
    for words in (enlarged, restored):
        more = ["--codec", "hevc", "-o", tmp_path / "o.mkv", "--device", "cpu"]
        assert run(*words, *more, "--dry-run", "--json") == 0
        facts = json.loads(capsys.readouterr().out.splitlines()[-1])
        assert facts["encoder"] == "libx265" and facts["encoder_options"]["preset"] == "medium"
        assert facts["encoder_options"]["crf"] == ("24" if "--target-mad" in words else "16")
