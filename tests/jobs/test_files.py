"""Functions for files: what the commands do, from Python, with typed results."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

import snellen
from snellen.errors import IncompleteError, InputError, OutputError
from snellen.jobs.steps.deblur_step import FrameFit
from snellen.jobs.steps.score_table import ScoreRow, ScoreTable
from snellen.stills.still import Still, read, write
from support.cli import names, run
from support.mad.pairs import authors
from support.video.clips import make

QUICK = {"psf_size": 5, "iterations": 3}
PSF = np.array([[1, 2, 1], [2, 9, 4], [1, 4, 2]], float)


def lumas(path):
    """Decoded luma of every frame."""
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="gray") for frame in container.decode(video=0)]


def test_an_image_enlarged(picture, saved, tmp_path, small_model):
    source = saved("in.png", picture((20, 24, 3)))
    target = tmp_path / "out.png"
    result = snellen.upscale_file(str(source), target, model=small_model, device="cpu")
    assert (result.width, result.height, result.device) == (48, 40, "cpu")
    assert result.target == target and result.summary is None
    assert result.error is None and result.warnings == () and result.profile is None
    wanted = snellen.upscale(read(source).pixels, 2, small_model, "cpu")
    assert (read(result.target).pixels == wanted).all()


@pytest.mark.slow
def test_a_film_enlarged_as_the_command_does(clip, tmp_path, small_model, heard):
    made = snellen.upscale_file(
        clip, tmp_path / "a.y4m", model=small_model, device="cpu", start=0.04, duration="0:00.08",
        events=heard,
    )  # fmt: skip
    words = ["--model", small_model, "--device", "cpu", "--start", "0.04", "--duration", "0.08"]
    assert run("upscale", clip, "-o", tmp_path / "b.y4m", *words) == 0
    assert made.target.read_bytes() == (tmp_path / "b.y4m").read_bytes()
    assert made.summary.frames == 2 and (made.width, made.height) == (48, 40)
    assert [step.done for step in heard.steps] == [1, 2]
    assert heard.steps[0].unit == "frame" and heard.steps[0].subject == str(clip)


def test_several_files_into_a_folder(picture, saved, clip, tmp_path, small_model):
    (tmp_path / "out").mkdir()
    sources = [saved("a.png", picture()), clip]
    how = {"model": small_model, "device": "cpu"}
    results = snellen.upscale_files(sources, tmp_path / "out", **how)
    assert [result.target.name for result in results] == ["a.png", "clip.y4m"]
    (tmp_path / "b.png").write_text("no image")
    with pytest.raises(InputError, match=r"b\.png: not an image"):
        snellen.upscale_files(
            [tmp_path / "b.png", *sources], tmp_path / "out", overwrite=True, **how
        )
    assert names(tmp_path / "out") == ["a.png", "clip.y4m"]
    with pytest.raises(InputError, match="upscale_files and deblur_files take folders"):
        snellen.upscale_file(tmp_path, tmp_path / "out")


def test_one_of_several_files_that_fails_stops_no_other(picture, saved, tmp_path, small_model):
    """The first error is raised, and names those that followed."""
    broken = tmp_path / "b.png", tmp_path / "c.png"
    for file in broken:
        file.write_bytes(b"no picture")
    sources = [broken[0], saved("d.png", picture()), broken[1]]
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=r"b\.png") as caught:
        snellen.upscale_files(sources, tmp_path / "out", model=small_model, device="cpu")
    (note,) = caught.value.__notes__
    assert "c.png" in note and [p.name for p in (tmp_path / "out").iterdir()] == ["d.png"]


def test_one_file_into_a_folder(picture, saved, tmp_path, small_model):
    (tmp_path / "out").mkdir()
    source = saved("a.png", picture())
    result = snellen.upscale_file(source, tmp_path / "out", model=small_model, device="cpu")
    assert result.target == tmp_path / "out" / "a.png" and result.target.exists()


@pytest.mark.slow
def test_a_damaged_film_is_an_error_with_its_result(tmp_path, small_model):
    source = make(tmp_path / "whole.mp4", frames=20, container={"movflags": "faststart"})
    (tmp_path / "cut.mp4").write_bytes(source.read_bytes()[:-2000])
    with pytest.raises(IncompleteError, match=r"cut\.mp4 is damaged") as caught:
        snellen.upscale_file(
            tmp_path / "cut.mp4", tmp_path / "out.y4m", model=small_model, device="cpu"
        )
    result = caught.value.result
    assert result.error is caught.value and result.summary.lost
    assert 0 < len(lumas(tmp_path / "out.y4m")) == result.summary.frames < 20


def test_an_image_restored(picture, saved, tmp_path, heard):
    source = saved("in.png", picture((40, 44, 3)))
    result = snellen.deblur_file(
        source, tmp_path / "out.png", psf_size=9, iterations=20, psf_start=1.5, device="cpu",
        psf_out=tmp_path / "psf.npy", events=heard,
    )  # fmt: skip
    wanted = snellen.deblur(read(source).pixels, psf_size=9, iterations=20, start=1.5, device="cpu")
    assert (read(result.target).pixels == wanted.image).all()
    assert (result.psf == wanted.psf).all() and (np.load(result.psf_file) == wanted.psf).all()
    assert (result.fit, result.iterations) == (wanted.fit, 20) and result.ms > 0
    assert {step.stage for step in heard.steps} == {"picture", "channels"}


def test_an_array_as_psf(picture, saved, tmp_path):
    source = saved("in.png", picture((30, 32)))
    snellen.deblur_file(source, tmp_path / "out.png", PSF, iterations=4, device="cpu")
    wanted = snellen.deblur(read(source).pixels, PSF, iterations=4, device="cpu").image
    assert (read(tmp_path / "out.png").pixels == wanted).all()


@pytest.mark.slow
def test_a_film_restored_in_a_region_that_moves(clip, frames, tmp_path, heard):
    positions = [(0, 0), (3, 2), (6, 4), (9, 6)]
    result = snellen.deblur_file(
        clip, tmp_path / "a.y4m", **QUICK, region=(12, 10), positions=positions, device="cpu",
        events=heard,
    )  # fmt: skip
    (tmp_path / "at.txt").write_text("".join(f"{x},{y}\n" for x, y in positions))
    words = ["--psf-size", 5, "--iterations", 3, "--device", "cpu", "--roi", "12,10"]
    words += ["--roi-file", tmp_path / "at.txt"]
    assert run("deblur", clip, "-o", tmp_path / "b.y4m", *words) == 0
    assert result.target.read_bytes() == (tmp_path / "b.y4m").read_bytes()
    assert [name for name, _ in heard.frames] == [str(clip)] * 4
    assert all(isinstance(row, FrameFit) for _, row in heard.frames)
    assert tuple(row for _, row in heard.frames) == result.frames
    assert result.fit == pytest.approx(np.mean([row.fit for row in result.frames]))
    assert result.psf.shape == (5, 5) and result.statistics.ms_p50 > 0


def test_a_burst(picture, saved, tmp_path):
    frames = np.stack([picture() for _ in range(3)])
    sources = [saved(f"{n}.png", frame) for n, frame in enumerate(frames)]
    result = snellen.deblur_file(sources, tmp_path / "out.png", **QUICK, device="cpu")
    wanted = snellen.deblur(frames, **QUICK, multiframe=True, device="cpu")
    assert (read(result.target).pixels == wanted.image).all()
    assert result.source == tuple(sources) and result.psf.shape == (3, 5, 5)


def test_several_films_and_images_restored(picture, saved, clip, tmp_path):
    for folder in ("out", "psfs"):
        (tmp_path / folder).mkdir()
    sources = [saved("a.png", picture()), clip]
    how = {**QUICK, "device": "cpu", "psf_out": tmp_path / "psfs"}
    results = snellen.deblur_files(sources, tmp_path / "out", **how)
    assert [result.psf_file.name for result in results] == ["a.png.npy", "clip.y4m.npy"]
    assert np.load(results[1].psf_file).shape == (4, 5, 5)
    with pytest.raises(InputError, match="need a folder for their PSFs"):
        snellen.deblur_files(sources, tmp_path / "out", **{**how, "psf_out": "psf.npy"})


def test_two_images_scored(tmp_path):
    pair = authors()[0]
    for name, pixels in (("one.png", pair.reference), ("two.png", pair.distorted)):
        write(tmp_path / name, Still(pixels))
    result = snellen.score_files(
        tmp_path / "one.png", tmp_path / "two.png", device="cpu", maps=tmp_path / "maps",
        table=tmp_path / "t.csv",
    )  # fmt: skip
    (row,) = result.table.rows
    # 1e-9 relative: what the float64 backend is held to.
    assert row.mad == pytest.approx(pair.scores["MAD"], rel=1e-9)
    assert (row.frame, row.time, row.name) == (None, None, None) and result.kind == "an image"
    assert (result.method.variant, result.method.dtype) == ("2011", "float64")
    assert (tmp_path / "maps" / "index.json").exists() and result.maps == tmp_path / "maps"
    assert (tmp_path / "t.csv").read_text() == f"mad,hi,lo\n{row.mad},{row.hi},{row.lo}\n"


def test_two_films_scored(tmp_path, heard):
    film = make(tmp_path / "film.mkv", codec="ffv1", frames=4)
    bad = make(tmp_path / "bad.mp4", frames=4, options={"crf": "51"})
    result = snellen.score_files(
        film, bad, every=2, start=Fraction(1, 25), device="cpu", events=heard
    )
    assert isinstance(result.table, ScoreTable) and result.kind == "a video"
    assert [(row.frame, row.time) for row in result.table.rows] == [(2, 0.08)]
    assert [row for _, row in heard.frames] == list(result.table.rows)
    assert result.table.pooled()["mad"].mean == result.table.rows[0].mad > 0
    assert result.summary.width == 64 and result.seconds == result.summary.seconds


def test_two_folders_scored(picture, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for name in "ab":
            write(tmp_path / folder / f"{name}.png", Still(picture((40, 44))))
    result = snellen.score_files(tmp_path / "one", str(tmp_path / "two"), device="cpu")
    assert [(row.frame, row.name) for row in result.table.rows] == [(0, "a"), (1, "b")]
    assert result.table.columns == ("frame", "name", "mad", "hi", "lo")
    (worst,) = result.table.worst(1)
    assert worst.mad == max(row.mad for row in result.table.rows)


def test_what_goes_wrong_behind_the_scores_costs_none(picture, saved, tmp_path, monkeypatch):
    one, two = saved("one.png", picture((40, 44))), saved("two.png", picture((40, 44)))

    def refuse(self, path, overwrite):
        raise OutputError("no space left")

    monkeypatch.setattr(ScoreTable, "write", refuse)
    with pytest.raises(OutputError, match="no space left") as caught:
        snellen.score_files(
            one, two, device="cpu", table=tmp_path / "t.csv", maps=tmp_path / "maps"
        )
    assert caught.value.result.table.rows[0].mad > 0
    assert (tmp_path / "maps" / "index.json").exists()


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_name_that_is_none(name, tmp_path):
    with pytest.raises(InputError, match="expected the name of a file") as caught:
        snellen.score_files(name, tmp_path)
    assert caught.value.parameter == "reference"


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("options", "parameter", "said"),
    [
        ({"scale": 0.5}, "scale", "got scale=0.5; expected 2, 3, 4, or any number"),
        ({"chroma": "nvdec"}, "chroma", "got chroma='nvdec'; expected one of auto, cpu, gpu"),
        ({"decoder": "gpu"}, "decoder", "expected one of auto, cpu, nvdec"),
        ({"start": "soon"}, "start", "got start='soon'; expected seconds"),
        ({"duration": float("nan")}, "duration", "got duration=nan; expected seconds"),
    ],
)
def test_errors_name_the_parameter_as_python_has_it(options, parameter, said):
    with pytest.raises(InputError) as caught:
        snellen.upscale_file("a.mkv", Path("b.mkv"), **options)
    assert caught.value.parameter == parameter and said in str(caught.value)


def test_options_of_an_encoder_are_named_as_the_caller_does():
    with pytest.raises(InputError, match="got encoder_options=") as caught:
        snellen.upscale_file("a.mkv", "b.mkv", encoder_options={"crf": 3})
    assert caught.value.parameter == "encoder_options"


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("options", "parameter", "said"),
    [
        ({"psf": PSF, "psf_size": 5}, "psf", "got psf with psf_size: the given PSF has a size"),
        ({"prior": "l0", "warm": True}, "prior", "got prior with warm"),
        ({"paste_back": True}, "paste_back", "add region X,Y,W,H"),
        ({"positions": [(1, 2)]}, "positions", "add region W,H"),
        ({"region": (1, 2, 3)}, "region", "expected whole numbers X,Y,W,H"),
        ({"region": (0, 0, 0, 4)}, "region", "the region is empty"),
        ({"psf_start": 0}, "psf_start", "got psf_start=0; expected a Gaussian's σ"),
        ({"psf": -PSF}, None, "negative"),
        ({"window": 0}, "window", "got window=0; expected a whole number, 1 or more"),
    ],
)
def test_errors_of_deblurring_do_so_too(options, parameter, said):
    with pytest.raises(InputError) as caught:
        snellen.deblur_file("a.mkv", "b.mkv", **options)
    assert said in str(caught.value) and parameter in (None, caught.value.parameter)


def test_an_error_of_the_method_is_worded_for_files(picture, saved, tmp_path):
    """Its `start` is `psf_start` here, and the file is named."""
    source = saved("in.png", picture())
    with pytest.raises(InputError, match="psf_start") as caught:
        snellen.deblur_file(
            source, tmp_path / "o.png", psf_size=3, psf_start=np.ones((9, 9)), device="cpu"
        )
    assert str(caught.value).startswith(f"{source}: ")


def test_rows_are_facts():
    assert ScoreRow({"mad": 1.0, "hi": 2.0, "lo": 3.0}).facts() == {
        "mad": 1.0,
        "hi": 2.0,
        "lo": 3.0,
    }
    row = ScoreRow({"mad": 1.0, "hi": 2.0, "lo": 3.0}, frame=0, time=0.0)
    assert {"mad", "hi", "lo", "frame"} <= {*dir(row)} and "psnr" not in dir(row)
    assert list(row.facts()) == ["frame", "time", "mad", "hi", "lo"]


@pytest.mark.parametrize("function", [snellen.upscale_files, snellen.deblur_files])
def test_overwrite_is_true_or_false(tmp_path, function):
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(InputError, match="expected True or False"):
        function([tmp_path / "a.png"], tmp_path / "out", overwrite=np.ones(2))
