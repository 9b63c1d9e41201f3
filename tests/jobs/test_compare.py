"""Reports of comparisons: which frames they show, with which pictures, maps and crops."""

from __future__ import annotations

import base64
import io
import json
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import snellen
from snellen import compare_files, score_files
from snellen.errors import InputError, OutputError
from snellen.jobs import CompareJob
from snellen.jobs.reports.choice import choose
from snellen.jobs.reports.pictures import worst_place
from snellen.jobs.reports.run import names
from snellen.jobs.steps.score_table import ScoreRow, ScoreTable
from snellen.stills.still import Still, write
from support.scores import FRAMES
from support.video.clips import HEIGHT, WIDTH, make


def data_of(path):
    html = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html)
    return SimpleNamespace(**json.loads(found[1]))


def pixels(address):
    text = address.partition(",")[2]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def table(*mads):
    return ScoreTable(
        tuple(ScoreRow({"mad": mad, "hi": 0.0, "lo": 0.0}, at) for at, mad in enumerate(mads))
    )


@pytest.mark.slow
def test_films(films, tmp_path):
    target = tmp_path / "report.html"
    result = compare_files(films[0], films[1:], target, pictures=3, device="cpu")
    assert (result.kind, result.pictures, result.size) == ("a video", 3, target.stat().st_size)
    data = data_of(target)
    assert data.labels == ["film.mkv", "good.mp4", "bad.mp4"]
    for scores, film in zip(data.scores, films[1:], strict=True):
        rows = score_files(films[0], film, metrics="mad,psnr", device="cpu").table.rows
        for name in ("mad", "hi", "lo", "psnr"):
            assert scores[name] == pytest.approx([getattr(row, name) for row in rows], rel=1e-5)
    worst = max(range(FRAMES), key=lambda at: data.scores[1]["mad"][at])
    assert data.worst[0] == [worst, 1] and worst in [one["row"] for one in data.moments]
    assert len(data.moments) == 3 and data.numbers == list(range(FRAMES))
    for one in data.moments:
        assert one["size"] == [WIDTH, HEIGHT] and one["aspect"] == WIDTH / HEIGHT
        assert [pixels(picture).shape for picture in one["pictures"]] == [(HEIGHT, WIDTH, 3)] * 3
        # The pictures are those of that frame: luma of full range is what the film has.
        luma = pixels(one["pictures"][0]) @ np.array([0.2126, 0.7152, 0.0722])
        assert luma.std() > 5 and len(one["maps"]) == 2
    html = target.read_text("utf-8")
    assert "h264" in html and "frames by number" in html and "25 a second" in html
    with pytest.raises(InputError, match="exists"):
        compare_files(films[0], films[1], target, device="cpu")


@pytest.mark.gpu
def test_a_gpu_draws_the_same_maps(films, tmp_path):
    paths = [tmp_path / f"{device}.html" for device in ("cpu", "cuda")]
    for path in paths:
        compare_files(films[0], films[2], path, device=path.stem, pictures=2)
    for one, other in zip(*(data_of(path).moments for path in paths), strict=True):
        assert one["pictures"] == other["pictures"]
        for name in ("detection", "appearance"):
            both = [pixels(each["maps"][0][name]).astype(int) for each in (one, other)]
            assert np.abs(both[0] - both[1]).max() <= 2  # of 255 steps of the logarithm


def test_which_frames_are_shown():
    choice = choose([table(*range(100)), table(*[50] * 99)], 8)
    assert len(choice.rows) == 99 and len(choice.shown) == 8 == len(set(choice.shown))
    # The worst three, which lie apart, come first; the others are all over the film.
    assert choice.worst == ((98, 0), (91, 0), (84, 0)) and choice.shown[:3] == (98, 91, 84)
    assert min(choice.shown) < 12 and max(np.diff(sorted(choice.shown))) < 30
    assert choose([table(3.0)], 8).shown == (0,)
    assert choose([table(0, 0, 3, 0, 0, 0)], 4).worst == ((2, 0),)  # the others are equal
    assert choose([table(0, 0)], 4).worst == ()
    # Where MAD sees nothing, LO may: noise that was removed, for example.
    rows = tuple(
        ScoreRow({"mad": 0.0, "hi": 0.0, "lo": lo}, at) for at, lo in enumerate((1.0, 0.0, 3.0))
    )
    faint = choose([ScoreTable(rows)], 2)
    assert (faint.worst, faint.by) == (((2, 0),), "lo")
    many = choose([table(*range(9000))], 64)
    assert len(many.shown) == 64 == len(set(many.shown))


def test_the_worst_place(random):
    amount = random.random((40, 60))
    amount[22:27, 31:36] += 5
    assert worst_place(amount, 5) == (31 / 60, 22 / 40, 5 / 60, 5 / 40)
    assert worst_place(amount, 99) == (0, 0, 1, 1)


def test_names_differ(tmp_path):
    one, other = tmp_path / "a" / "film.mkv", tmp_path / "b" / "film.mkv"
    assert names((one, tmp_path / "x.mp4")) == ("film.mkv", "x.mp4")
    assert names((one, other)) == (str(one), str(other))
    assert names((one, one)) == (str(one), f"{one} (2)")


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"variants": ()}, "got 0 files to compare with a; expected 1 to 9"),
        ({"variants": ("b",) * 10}, "got 10 files"),
        ({"variants": ("-",)}, "standard input can be read once"),
        ({"target": "report.pdf"}, "ends in .html"),
        ({"target": "-"}, "ends in .html"),
        ({"pictures": 0}, "`?pictures"),
        ({"pictures": 65}, "`?pictures"),
        ({"report_size": 0.5}, "report_size=0.5; expected 1 to 2000"),
        ({"report_size": Fraction(1, 10**300)}, "expected 1 to 2000 million bytes"),
        ({"metrics": ("vmf",)}, "vmf"),
        ({"every": 0}, "every"),
    ],
)
def test_what_is_refused(fields, match):
    given = {"reference": "a", "variants": ("b",), "target": "report.html"} | fields
    with pytest.raises(InputError, match=match):
        CompareJob(**given)


@pytest.mark.slow
def test_images_are_kept_as_they_are(images, tmp_path):
    reference, distorted, _ = images[0]
    target = tmp_path / "report.html"
    result = compare_files(reference, distorted, target, device="cpu")
    (one,) = data_of(target).moments
    assert result.kept.startswith("Pictures are kept without loss")
    for address, path in zip(one["pictures"], (reference, distorted), strict=True):
        found = pixels(address)
        wanted = np.asarray(Image.open(path))
        assert np.array_equal(found[..., 0] if wanted.ndim == 2 else found, wanted)
    # The crop shows the place that it names, of both.
    left, top = one["box"][0] * one["size"][0], one["box"][1] * one["size"][1]
    crop = pixels(one["crops"][1])
    at = (
        slice(round(top), round(top) + crop.shape[0]),
        slice(round(left), round(left) + crop.shape[1]),
    )
    assert np.array_equal(crop, pixels(one["pictures"][1])[at])
    same = tmp_path / "same.html"
    compare_files(reference, reference, same, device="cpu")
    (one,) = data_of(same).moments
    assert one["crops"] == [] and data_of(same).scores[0]["psnr"] == [None]  # which is infinite


@pytest.mark.slow
def test_folders_and_deep_images(folders, random, tmp_path):
    samples = random.integers(0, 65536, (40, 44, 3), np.uint16)
    for folder in folders:
        write(folder / "deep.png", Still(samples))
    target = tmp_path / "report.html"
    result = compare_files(*folders, target, device="cpu")
    data = data_of(target)
    assert (result.kind, data.names) == ("a folder", ["a", "b", "c", "deep"])
    deep = next(one for one in data.moments if one["row"] == 3)
    assert np.abs(pixels(deep["pictures"][0]) - samples / 257).max() <= 0.5


@pytest.mark.slow
def test_films_of_other_sizes_depths_and_shapes(tmp_path):
    film = make(tmp_path / "film.mp4", frames=4, aspect=Fraction(4, 3), rotation=90)
    large = make(tmp_path / "large.mkv", codec="ffv1", frames=4, size=(2 * WIDTH, 2 * HEIGHT))
    deep = make(tmp_path / "deep.mkv", codec="ffv1", frames=3, pix_fmt="yuv420p10le")
    grey = make(tmp_path / "grey.mkv", codec="ffv1", frames=4, pix_fmt="gray")
    target = tmp_path / "report.html"
    result = compare_files(film, [large, deep, grey], target, device="cpu", metrics="mad,ssim")
    data = data_of(target)
    assert len(data.moments) == 3  # what all have
    one = data.moments[0]
    assert one["aspect"] == pytest.approx(HEIGHT / (WIDTH * 4 / 3))
    shapes = [pixels(picture).shape[:2] for picture in one["pictures"]]
    assert shapes == [(WIDTH, HEIGHT), (2 * WIDTH, 2 * HEIGHT), (WIDTH, HEIGHT), (WIDTH, HEIGHT)]
    assert any("scaled from 128×96" in text for text in result.warnings)


@pytest.mark.slow
def test_parts_offsets_and_metrics(films, tmp_path):
    target = tmp_path / "report.html"
    compare_files(
        films[0], films[2], target, metrics="psnr", start="0.04", frames=4, every=2, device="cpu"
    )
    data = data_of(target)
    assert data.numbers == [2, 4] and data.scales == []
    assert [sorted(one["maps"][0]) for one in data.moments] == [[], []]
    assert all(one["crops"] for one in data.moments)


@pytest.mark.slow
def test_nothing_is_left_where_it_fails(films, tmp_path, monkeypatch):
    target = tmp_path / "report.html"

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("snellen.jobs.reports.run.fitted", full)
    with pytest.raises((OutputError, OSError)):
        compare_files(films[0], films[1], target, device="cpu")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="is a video"):
        snellen.compare_files(films[0], tmp_path, target)


def test_reports_of_functions_for_files(tmp_path, saved, picture, small_model):
    source = saved("a.png", picture((48, 64)))
    how = {"model": small_model, "device": "cpu"}
    snellen.upscale_file(source, tmp_path / "b.png", report=tmp_path / "b.html", **how)
    snellen.deblur_file(
        source, tmp_path / "c.png", psf_size=3, iterations=1, prior=None, report=tmp_path / "c.html"
    )
    found = snellen.score_files(
        source, tmp_path / "c.png", report=tmp_path / "d.html", report_size=2, device="cpu"
    )
    for name in "bcd":
        assert (tmp_path / f"{name}.html").read_bytes().startswith(b"<!doctype html>")
    assert f"{found.table.rows[0].mad:.3f}" in (tmp_path / "d.html").read_text()
    assert "made of, and no original" in (tmp_path / "b.html").read_text()
    with pytest.raises(InputError, match="report"):
        snellen.upscale_file(source, tmp_path / "e.png", report=tmp_path / "e.txt", **how)
    with pytest.raises(InputError, match="2 files"):
        snellen.upscale_files(
            [source, tmp_path / "c.png"], tmp_path / "new", report="r.html", **how
        )
    assert not (tmp_path / "e.png").exists() and not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_result_that_is_larger_than_its_source_is_no_warning(
    tmp_path, saved, picture, small_model, heard
):
    source = saved("a.png", picture((48, 64)))
    snellen.upscale_file(source, tmp_path / "b.png", model=small_model, device="cpu", events=heard,
                         report=tmp_path / "b.html")  # fmt: skip
    assert heard.warnings == []
    assert "Lanczos" in (tmp_path / "b.html").read_text()


def test_vmaf_of_films(tmp_path, monkeypatch):
    """By a stand-in, which returns how many pairs it was given before each; alone, too."""
    from snellen.video import vmaf

    a, b = (make(tmp_path / f"{name}.mkv", frames=12, size=(64, 64)) for name in "ab")
    how = {"metrics": "psnr,vmaf", "every": 4, "device": "cpu"}
    monkeypatch.setattr(vmaf, "is_there", lambda: False)
    with pytest.raises(InputError, match="vmaf"):
        compare_files(a, b, tmp_path / "r.html", **how)
    monkeypatch.setattr(vmaf, "is_there", lambda: True)
    monkeypatch.setattr(vmaf, "Stream", Counting)
    for metrics in ("psnr,vmaf", "vmaf"):
        compare_files(a, b, tmp_path / "r.html", **how | {"metrics": metrics}, overwrite=True)
        text = (tmp_path / "r.html").read_text()
        # Frames 0, 4 and 8 are scored; 0 1 3 4 5 7 8 9 11 are given.
        assert re.search(r'"vmaf": ?\[70(\.0)?, ?73(\.0)?, ?76(\.0)?\]', text)
        assert ">VMAF<" in text


class Counting:
    """Scores that count pairs, in place of VMAF."""

    def __init__(self, format, rate, model):
        self.count = 0

    def push(self, one, other):
        self.count += 1

    def finish(self):
        return [{"vmaf": 70.0 + n} for n in range(self.count)]

    def close(self):
        pass
