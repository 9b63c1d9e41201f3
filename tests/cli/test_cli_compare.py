"""snellen compare: a report as one HTML file."""

from __future__ import annotations

import html
import json

import pytest

from support.cli import refused, run
from support.video.clips import make

pytestmark = pytest.mark.usefixtures("signals")


def test_a_report_of_folders(folders, tmp_path, capsys):
    target = tmp_path / "reports" / "report.html"
    words = (*folders, "-o", target, "--metrics", "psnr", "--json", "--device", "cpu")
    assert run("compare", *words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    done = lines[-1]
    assert done["event"] == "done" and done["output"] == str(target)
    assert done["bytes"] == target.stat().st_size and done["pictures"] == 3
    assert [line["psnr"] for line in lines if line["event"] == "frame"]
    assert done["scores"][0]["pooled"]["psnr"]["mean"] > 0
    page = html.unescape(target.read_text("utf-8"))
    assert f"snellen compare {folders[0]} {folders[1]} -o {target}" in page
    refused("compare", capsys, words[:-3], "report.html exists", "--overwrite")


def test_which_is_the_reference(folders, tmp_path, capsys):
    target, (one, other) = tmp_path / "report.html", folders
    refused("compare", capsys, (one, "-o", target), "alone; expected another file")
    refused("compare", capsys, (one, other, "-o", tmp_path / "report.png"), "-o", ".html")
    refused(
        "compare", capsys, (one, "-", "-o", target), "standard input can be read once",
    )  # fmt: skip
    refused(
        "compare", capsys, (one, other, "-o", target, "--report-size", "0.1"), "--report-size 0.1"
    )
    words = (one, "--reference", other, "-o", target, "--metrics", "psnr", "--device", "cpu")
    assert run("compare", *words) == 0
    assert f"{one}: PSNR" in capsys.readouterr().out


def test_score_writes_it_too(folders, tmp_path, capsys):
    target = tmp_path / "report.html"
    words = (*folders, "--metrics", "psnr", "--report", target)
    assert run("score", *words, "--report-size", "5") == 0
    out = capsys.readouterr().out
    assert "PSNR" in out and "report.html: 0" in out
    assert "What" not in out and "snellen score" in target.read_text("utf-8")
    refused("score", capsys, words, "report.html exists")
    refused("score", capsys, (*folders, "--report-size", "5"), "--report-size without --report")


@pytest.mark.slow
def test_a_result_beside_its_source(saved, picture, tmp_path, capsys, small_model):
    clip = make(tmp_path / "film.mkv", frames=4)
    image, target = saved("one.png", picture((40, 44))), tmp_path / "report.html"
    how = ("--model", small_model, "--device", "cpu", "--report", target)
    assert run("upscale", image, "-o", tmp_path / "large.png", *how) == 0
    page = target.read_text("utf-8")
    assert "one.png is what the others were made of, and no original" in page
    assert "scaled from 88×80 to 44×40" in page
    assert run("upscale", clip, "-o", tmp_path / "large.mkv", *how, "-y", "--frames", "3") == 0
    assert "3 frames scored" in target.read_text("utf-8")
    words = (image, "-o", tmp_path / "sharp.png", "--psf-size", "3", "--iterations", "2")
    assert (
        run("deblur", *words, "--prior", "none", "--report", target, "-y", "--device", "cpu") == 0
    )
    capsys.readouterr()
    other = saved("two.png", picture((40, 44)))
    film = (clip, "-o", tmp_path / "b.mkv", *how, "-y")
    refused("upscale", capsys, (*film, "--post-vf", "hflip"), "--post-vf")
    refused("upscale", capsys, (image, other, *how, "-y"), "with 2 outputs")
    refused("upscale", capsys, (clip, "-o", tmp_path / "b%03d.png", *how, "-y"), "two videos")
    refused("upscale", capsys, (image, "-o", tmp_path / "b.png", *how), "report.html exists")
    assert not (tmp_path / "b.png").exists()
