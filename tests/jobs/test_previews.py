"""Previews: excerpts of a film by several jobs, in one report."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from snellen.errors import InputError
from snellen.jobs import DeblurJob, MiaSettings, UpscaleJob
from snellen.jobs.calls import previews
from snellen.jobs.calls.previews import preview
from snellen.jobs.kinds.enhance import Enhancement
from snellen.jobs.kinds.excerpts import Excerpt, excerpts, reel, source_parts
from snellen.jobs.options.options import VideoOptions
from snellen.video.clip import Clip
from snellen.video.sink.encoding import Encoding
from support.cli import names
from support.jobs import planes, write_y4m
from support.video.clips import SRT, make, read

KEYS = {"g": "12", "keyint_min": "12", "sc_threshold": "0", "preset": "veryfast"}


@pytest.fixture
def film(tmp_path):
    return make(tmp_path / "in.mkv", rate=Fraction(12), frames=60, options=KEYS, audio="aac")


@pytest.fixture
def job(film, tmp_path, small_model):
    return UpscaleJob(source=film, target=tmp_path / "out.mp4", model=small_model, device="cpu")


@pytest.mark.slow
def test_a_report_of_two_settings(tmp_path, job, monkeypatch, heard):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    coarse = replace(job, video=VideoOptions(encoding=Encoding(crf=40)))
    jobs = {"as given": job, "--crf 40": coarse}
    found = preview(jobs, tmp_path / "new/p.html", count=2, length=0.5, events=heard)
    assert names(tmp_path) == ["in.mkv", "new", "scratch"] and names(scratch) == []
    html = found.target.read_text()
    assert "--crf 40" in html and "as given" in html and str(scratch) not in html
    assert found.size == len(html.encode()) and found.pictures == 8
    one, other = found.variants
    assert (one.label, one.frames, other.frames) == ("as given", 12, 12)
    assert other.size < one.size and other.mean > one.mean
    # Half a second each, one in each half of the film.
    assert found.seconds == (0.5, 0.5) and found.starts[0] < 2.5 < found.starts[1]
    assert heard.warnings == [] and found.warnings == ()
    # Frames are called by their times in the film.
    last = found.starts[1] + 5 / 12
    assert f"0:{last:06.3f}"[:6] in html
    with pytest.raises(InputError, match="exists"):
        preview(jobs, found.target, count=1)


def test_nothing_is_said_of_what_excerpts_would_lose(tmp_path, job, heard):
    """They are thrown away: a time code that cannot be moved, and streams, concern nobody."""
    make(job.source, frames=12, tags={"TIMECODE": "noon"}, audio="aac", subtitles=SRT)
    found = preview(job, tmp_path / "p.html", count=1, length=0.2, events=heard)
    assert heard.warnings == [] and found.warnings == () and found.starts[0] > 0


def test_nor_of_the_repetitions_of_an_animation(tmp_path, job, heard):
    frames = [Image.new("L", (64, 48), 20 * n) for n in range(12)]
    source = tmp_path / "a.gif"
    frames[0].save(source, save_all=True, append_images=frames[1:], duration=40, loop=0)
    preview(replace(job, source=source), tmp_path / "p.html", count=1, length=0.2, events=heard)
    assert not any("repetitions" in text for _, text in heard.warnings)


def test_excerpts_are_where_something_is_to_be_seen(tmp_path, small_model, random):
    noise = random.integers(0, 256, (20, 24), np.uint8)
    black, chroma = np.full((20, 24), 16, np.uint8), np.full((10, 12), 128, np.uint8)
    lumas = [noise if 55 <= number < 75 else black for number in range(100)]
    film = write_y4m(tmp_path / "f.y4m", [[luma, chroma, chroma] for luma in lumas])
    job = UpscaleJob(source=film, target=tmp_path / "o.mkv", model=small_model, device="cpu")
    half = Fraction(1, 2)
    (one,) = excerpts(job, 1, [], half)
    assert one.start in (Fraction(7, 12), Fraction(7, 4), Fraction(35, 12))
    first, second = excerpts(job, 2, [], half)
    assert 55 <= second.start * 25 < 75 and first.start < 2
    # What is named begins there, and ends where the next one begins.
    found = excerpts(job, 0, [Fraction(1), Fraction(1), Fraction(5, 4)], half)
    assert found == (Excerpt(Fraction(1), Fraction(1, 4)), Excerpt(Fraction(5, 4), half))
    part = replace(job, video=VideoOptions(clip=Clip(start=2, duration=1)))
    assert all(2 <= one.start < 3 for one in excerpts(part, 3, [], half))
    # A film that is shorter than the excerpts gives fewer, and shorter ones.
    two = write_y4m(tmp_path / "two.y4m", [[noise, chroma, chroma]] * 2)
    assert excerpts(replace(job, source=two), 9, [], half)[0].start == 0
    with pytest.raises(InputError, match="no frame at or after 9 s") as error:
        excerpts(job, 0, [Fraction(9)], half)
    assert error.value.parameter == "preview_at"


@pytest.mark.slow
def test_a_reel_has_the_sources_samples_and_times(tmp_path, job):
    found = [Excerpt(Fraction(1, 2), Fraction(1, 4)), Excerpt(Fraction(3), Fraction(1, 4))]
    reel(source_parts(job, found), tmp_path / "r.mkv")
    source, made = read(job.source), read(tmp_path / "r.mkv")
    numbers = [6, 7, 8, 36, 37, 38]
    assert [round(float(time), 2) for time in made.times] == [
        round(number / 12, 2) for number in numbers
    ]
    for number, frame in zip(numbers, planes(tmp_path / "r.mkv"), strict=True):
        for one, other in zip(frame, planes(job.source)[number], strict=True):
            assert (one == other).all()
    assert len(source.frames) == 60
    reel(source_parts(job, found), tmp_path / "c.mkv", before=Enhancement(crop="32:16:4:8"))
    cropped = planes(tmp_path / "c.mkv")[0]
    assert (cropped[0][:, :32] == planes(job.source)[6][0][8:24, 4:36]).all()


def test_the_source_is_shown_without_its_bars(tmp_path, small_model, random, monkeypatch):
    """As the result is, also where they are found: the two are compared pixel by pixel."""
    bar, chroma = np.full((10, 48), 16, np.uint8), np.full((30, 24), 128, np.uint8)
    lumas = [np.vstack([bar, random.integers(60, 256, (40, 48), np.uint8), bar]) for _ in range(9)]
    film = write_y4m(tmp_path / "f.y4m", [[luma, chroma, chroma] for luma in lumas])
    job = UpscaleJob(source=film, target=tmp_path / "o.mkv", model=small_model, device="cpu",
                     enhancement=Enhancement(crop="auto"))  # fmt: skip
    shapes = []

    def watched(*args):
        count = reel(*args)
        shapes.append(planes(args[1])[0][0].shape)
        return count

    monkeypatch.setattr("snellen.jobs.kinds.excerpts.reel", watched)
    preview(job, tmp_path / "p.html", count=1, length=0.1)
    assert shapes == [(40, 48), (80, 96)]


class Broken(dict):
    def items(self):
        raise RuntimeError("no answer")


def test_what_has_no_preview(tmp_path, job, saved, picture):
    image = saved("a.png", picture((20, 24)))
    wrong = (
        ({}, {"jobs": {}}, "1 to 9"),
        ({}, {"jobs": 3}, "expected a job"),
        ({}, {"jobs": {1: job}}, "expected a job"),
        ({}, {"jobs": {"\ud800": job}}, "expected a job"),
        ({}, {"jobs": Broken()}, "expected a job"),
        ({}, {"at": 3}, "expected a sequence"),
        ({"source": image, "target": tmp_path / "b.png"}, {}, "about one video"),
        ({"source": "-"}, {}, "about one video"),
        ({}, {"count": 0}, "one or more"),
        ({}, {"length": 0}, "one or more"),
        ({}, {"target": "p.txt"}, "html"),
        ({"source": tmp_path / "none.mkv"}, {}, "none.mkv"),
    )
    for change, how, words in wrong:
        given = {"jobs": replace(job, **change), "target": tmp_path / "p.html", **how}
        with pytest.raises(InputError, match=words):
            preview(**given)
    assert names(tmp_path) == ["a.png", "in.mkv"]


@pytest.mark.slow
def test_deblurring_and_enhancement(tmp_path, job):
    sharp = DeblurJob(source=job.source, target=tmp_path / "o.mkv", device="cpu",
                      mia=MiaSettings(psf_size=3, iterations=2))  # fmt: skip
    found = preview(sharp, tmp_path / "d.html", count=1, length=0.25)
    assert found.variants[0].frames == 3 and found.variants[0].model == ""
    crop = replace(job, enhancement=Enhancement(crop="48:40:8:4"))
    found = preview(crop, tmp_path / "c.html", count=1, length=0.25)
    assert "48×40" in found.target.read_text()
    bars = replace(job, enhancement=Enhancement(crop="auto"))
    found = preview(bars, tmp_path / "b.html", count=2, length=0.25)
    assert found.variants[0].frames == 6
    half = replace(job, enhancement=Enhancement(vf="fps=6,hflip"))
    found = preview(half, tmp_path / "h.html", count=1, length=0.5)
    assert found.variants[0].frames == 3 and found.variants[0].mean < 10
    assert previews.SECONDS == 2


def test_variants_show_the_same(tmp_path, job):
    """What moves pixels is the same in all of them; what does not may differ."""
    for change in ({"crop": "32:32:0:0"}, {"vf": "hflip"}):
        other = replace(job, enhancement=Enhancement(**change))
        with pytest.raises(InputError, match="show the same") as caught:
            preview({"a": job, "b": other}, tmp_path / "p.html", count=1)
        assert caught.value.parameter == "preview_with"
    after = replace(job, enhancement=Enhancement(post_vf="hflip"))
    with pytest.raises(InputError, match="hflip in post_vf"):
        preview(after, tmp_path / "p.html", count=1)
    assert names(tmp_path) == ["in.mkv"]
