"""Reports about the result of a job: the source is shown as it went into the enlargement."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

import snellen
from snellen.errors import InputError
from snellen.jobs import UpscaleJob
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.options.options import VideoOptions
from snellen.jobs.reports.source import Shown, moved
from snellen.video.clip import Clip
from support.cli import names
from support.jobs import planes
from support.video.clips import make, read


@pytest.fixture
def film(tmp_path):
    return make(tmp_path / "in.mkv", codec="ffv1", rate=Fraction(10), frames=12)


def job(film, tmp_path, clip=None, **enhancement):
    return UpscaleJob(
        source=film, target=tmp_path / "out.mkv", device="cpu", scale=2,
        enhancement=Enhancement(**enhancement), video=VideoOptions(clip=clip or Clip()),
    )  # fmt: skip


def test_a_report_about_a_film_that_was_cropped_turned_and_retimed(tmp_path, film, small_model):
    """Its scores are those of a film that needs none of these."""
    how = {"model": small_model, "device": "cpu", "crf": 1, "frames": 3}
    plain = tmp_path / "plain.html"
    snellen.upscale_file(film, tmp_path / "a.mkv", report=plain, **how)
    moved = tmp_path / "moved.html"
    snellen.upscale_file(film, tmp_path / "b.mkv", crop="48:40:8:4", vf="hflip,transpose,fps=5",
                         start=0.3, report=moved, **how)  # fmt: skip
    one, other = (data_of(file) for file in (plain, moved))
    assert len(other["scores"][0]["psnr"]) == 2  # of 3 frames at half the rate
    assert min(other["scores"][0]["psnr"]) > min(one["scores"][0]["psnr"]) - 3
    assert other["moments"][0]["size"] == [40, 48]
    text = moved.read_text()
    assert "start=0.3, crop=48:40:8:4, vf=hflip,transpose,fps=5" in text
    assert "shown with" not in plain.read_text()


def data_of(file):
    return json.loads(re.search(r'id="data">(.*?)</script>', file.read_text())[1])


def test_the_source_as_it_is_shown(tmp_path, film):
    """Cropped, flipped and at half the rate; filters that leave pixels in place do not count."""
    given = planes(film)
    shown = Shown(job(film, tmp_path, vf="negate,unsharp")).opened()
    frames = [item.frame for item in shown.items() if item.frame is not None]
    shown.close()
    assert all((one.planes[0] == other[0]).all() for one, other in zip(frames, given, strict=True))
    clip = Clip(start=Fraction(3, 10), frames=8)
    turned = Shown(job(film, tmp_path, clip, crop="32:16:4:8", vf="vflip,fps=5")).opened()
    info = turned.info
    frames = [item.frame for item in turned.items() if item.frame is not None]
    turned.close()
    assert (info.picture.format.width, info.picture.format.height, info.rate) == (32, 16, 5)
    assert [float(one.pts * info.time_base) for one in frames] == pytest.approx(
        [number / 5 for number in range(4)]
    )
    parts = [one[0][8:24, 4:36][::-1] for one in given]
    numbers = [[(frame.planes[0] == part).all() for part in parts].index(True) for frame in frames]
    assert numbers[0] in (3, 4) and [one - numbers[0] for one in numbers] == [0, 2, 4, 6]


@pytest.mark.parametrize("chain", ["hflip", "negate,fps=5", "minterpolate"])
def test_filters_after_enlarging_that_move_pixels_are_refused(tmp_path, film, chain):
    with pytest.raises(InputError, match="post_vf: source and result") as caught:
        snellen.upscale_file(
            film, tmp_path / "b.mkv", post_vf=chain, report=tmp_path / "b.html", device="cpu"
        )
    assert caught.value.parameter == "report" and names(tmp_path) == ["in.mkv"]
    assert moved(job(film, tmp_path, post_vf="hue=s=0,unsharp"), "report") == Enhancement()


def test_pictures_with_other_edges_are_refused(tmp_path, film, saved, picture):
    for source, end in ((film, ".mkv"), (saved("a.png", picture((48, 64))), ".png")):
        with pytest.raises(InputError, match="other places"):
            snellen.upscale_file(source, tmp_path / f"b{end}", size="200x100", fit="pad",
                                 report=tmp_path / "b.html", device="cpu")  # fmt: skip
    assert names(tmp_path) == ["a.png", "in.mkv"]


def test_fields_are_compared_with_fields(tmp_path, small_model):
    film = make(tmp_path / "tape.mkv", codec="ffv1", frames=4, fields="woven", interlaced=True)
    snellen.upscale_file(film, tmp_path / "b.mkv", deinterlace="field", model=small_model,
                         device="cpu", report=tmp_path / "b.html", crf=1)  # fmt: skip
    found = data_of(tmp_path / "b.html")
    assert len(found["scores"][0]["psnr"]) == len(read(tmp_path / "b.mkv").frames) == 8
    assert "deinterlace=field" in (tmp_path / "b.html").read_text()
