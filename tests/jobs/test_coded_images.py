"""Image files that look coded: jobs and commands say it, and a film of most of them is film."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from snellen.jobs import UpscaleJob, VideoOptions, dry_run, run
from snellen.jobs.kinds.choice import Models
from snellen.upscaling import doubt
from support.cli import run as command
from support.heard import Heard

SIZE = (96, 128)
SAID = "clean: it looks coded, and film is mostly better then"


def picture(number=0):
    """A smooth picture in RGB."""
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    x = x + 3 * number
    plain = 120 + 60 * np.sin(x / 9 + y / 23) + 40 * np.cos(y / 7 - x / 31)
    return np.stack([plain, 0.8 * plain, plain[::-1]], -1).astype(np.uint8)


@pytest.fixture
def files(tmp_path):
    """A picture that was never coded, a JPEG of it, and this one as PNG and deep TIFF."""
    Image.fromarray(picture()).save(tmp_path / "plain.png")
    Image.fromarray(picture()).save(tmp_path / "coded.jpg", quality=60)
    with Image.open(tmp_path / "coded.jpg") as image:
        image.save(tmp_path / "coded.png")
        deep = np.asarray(image.convert("L")).astype(np.uint16) * 257
    Image.fromarray(deep).save(tmp_path / "coded.tif")
    return tmp_path


@pytest.mark.cases
@pytest.mark.parametrize("name", ["plain.png", "coded.jpg", "coded.png", "coded.tif"])
@pytest.mark.parametrize("kind", [None, "auto", "film", "clean"])
def test_a_job_says_it_unless_the_kind_is_given(files, name, kind):
    job = UpscaleJob(
        source=files / name, target=files / "large.png", method="cnn-fast", device="cpu",
        source_kind=kind, strict=name == "coded.png",
    )  # fmt: skip
    for work in (dry_run, run):
        found = work(job, listener := Heard())
        expected = name != "plain.png" and kind in (None, "auto")
        assert (doubt.TEXT in listener.notices) == expected
        assert found.source_kind == (SAID if expected else "film" if kind == "film" else "clean")


def test_the_command_names_its_option(files, capsys):
    words = ("--method", "cnn-fast", "--device", "cpu", "-o", files / "large.png")
    assert command("upscale", files / "coded.png", *words) == 0
    done = capsys.readouterr()
    assert "coded.png: this picture looks as if it had been coded" in done.err
    assert "--source film is mostly better" in done.err and f"for {SAID}" in done.out + done.err
    assert command("upscale", files / "coded.png", *words, "--json", "--overwrite") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["source_kind"] for one in lines if one["event"] == "done"] == [SAID]
    assert any("--source film" in one["message"] for one in lines if one["event"] == "notice")


@pytest.mark.slow
@pytest.mark.cases
@pytest.mark.parametrize(("suffix", "coded", "kind"), [
    ("png", 0, "clean: pictures in files of their own"),
    ("png", 5, "clean: pictures in files of their own"),
    ("png", 10, "film: 8 of 8 pictures look coded"),
    ("jpg", 7, "film: 6 of 8 pictures look coded"),
])  # fmt: skip
def test_a_film_of_pictures_is_film_if_most_look_coded(tmp_path, suffix, coded, kind):
    """Ten pictures, of which eight are looked at: all but those of number 2 and 7."""
    for number in range(10):
        one = Image.fromarray(picture(number))
        if number < coded:
            one.save(tmp_path / "one.jpg", quality=60)
            one = Image.open(tmp_path / "one.jpg")
        one.save(tmp_path / f"{number:03d}.png")
        one.close()
    (tmp_path / "one.jpg").unlink(missing_ok=True)
    for source in (tmp_path, tmp_path / "%03d.png", tmp_path / "*.png"):
        found = Models(None, "cnn-fast", None, source)
        found(2)
        assert found.said()["source_kind"] == kind


@pytest.mark.cases
@pytest.mark.parametrize("harm", ["float", "NaN", "text", "none"])
def test_pictures_that_no_film_is_made_of_are_left_to_the_run(tmp_path, harm):
    """Whatever they are, the choice of a model tells nothing of them."""
    samples = picture()[..., 0].astype(np.float32) / 255
    samples[3, 3] = np.nan if harm == "NaN" else 1.2
    if harm == "text":
        (tmp_path / "0.png").write_text("no picture", encoding="utf-8")
    elif harm != "none":
        Image.fromarray(samples).save(tmp_path / "0.tif")
    found = Models(None, "cnn-fast", None, tmp_path)
    found(2)
    assert found.said()["source_kind"] == "clean: pictures in files of their own"


def test_a_job_of_a_sequence_says_what_it_took(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(2):
        Image.fromarray(picture(number)).save(tmp_path / "in" / f"{number}.jpg", quality=60)
    job = UpscaleJob(
        source=tmp_path / "in", target=tmp_path / "out.mkv", method="cnn-fast", device="cpu",
        video=VideoOptions(fps=Fraction(25)),
    )  # fmt: skip
    for work in (dry_run, run):
        assert work(job, Heard()).source_kind == "film: 2 of 2 pictures look coded"
