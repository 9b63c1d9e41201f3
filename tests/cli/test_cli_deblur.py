"""snellen deblur with images: options, texts, refusals, JSON."""

from __future__ import annotations

import json
import sys
from functools import partial

import numpy as np
import pytest

from snellen.cli.report import Report
from snellen.gpu import device
from snellen.jobs.events import Progress
from snellen.mia import cpu
from snellen.stills.still import read
from support import cli
from support.cli import names, run
from support.mia.plain import deblur

pytestmark = pytest.mark.usefixtures("signals")

refused = partial(cli.refused, "deblur")

QUICK = {"psf_size": 5, "iterations": 3}
WORDS = ["--psf-size", 5, "--iterations", 3, "--prior", "none", "--device", "cpu"]
PSF = np.array([[1, 2, 1], [2, 9, 4], [1, 4, 2]], float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shape", "white"),
    [("a.png", (20, 24), 255), ("a.png", (21, 17, 3), 255), ("a.tif", (20, 24), 65535),
     ("a.png", (20, 24, 3), 65535)],
)  # fmt: skip
def test_one_image(capsys, picture, saved, tmp_path, name, shape, white):
    source = saved(f"in-{name}", picture(shape, white))
    goal = tmp_path / name
    assert run("deblur", source, "-o", goal, *WORDS) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{goal}: {shape[1]}×{shape[0]}, 3 iterations, fit ") and err == ""
    assert out.endswith(" s on cpu\n") and out.count("\n") == 1
    wanted = deblur(read(source).pixels, **QUICK, device="cpu").image
    found = read(goal).pixels
    assert found.dtype == wanted.dtype and (found == wanted).all()
    assert (found != read(source).pixels).any()


@pytest.mark.gpu
def test_one_image_on_the_gpu(capsys, picture, saved, tmp_path):
    """Its name is reported."""
    source, goal = saved("in.png", picture((20, 24, 3))), tmp_path / "out.png"
    assert run("deblur", source, "-o", goal, *WORDS[:6], "--device", "cuda") == 0
    assert capsys.readouterr().out.endswith(f" s on {device.name('cuda:0')}\n")
    wanted = deblur(read(source).pixels, **QUICK, device="cuda").image
    assert (read(goal).pixels == wanted).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "settings", "iterations"),
    [
        (["--psf-size", 8], {"psf_size": 8}, 3),
        (["--psf-start", "0.7"], {"start": 0.7}, 3),
        (["--iterations", 7], {"iterations": 7}, 3),
        (["--tolerance", "0.05"], {"tolerance": 0.05}, 300),
        (["--noise", "gaussian"], {"noise": "gaussian"}, 3),
        (["--read-noise", "0.1"], {"read_noise": 0.1}, 3),
        (["--tv", "0.02"], {"tv": 0.02}, 3),
        (["--edges", "taper"], {"edges": "taper"}, 3),
        (["--edges", "circular"], {"edges": "circular"}, 3),
        (["--tile", 14], {"tile": 14}, 3),
        (["--dtype", "float64"], {"dtype": "float64"}, 100),
    ],
)
def test_every_option_reaches_the_function(picture, saved, tmp_path, words, settings, iterations):
    source = saved("in.tif", picture((20, 24)).astype(np.float32) / 255)
    goal, pixels = tmp_path / "out.tif", read(source).pixels
    plain = {"psf_size": 5, "iterations": iterations, "device": "cpu"}
    given = ["--psf-size", 5, "--iterations", iterations, "--prior", "none", "--device", "cpu"]
    assert run("deblur", source, "-o", goal, *given, *words) == 0
    assert (read(goal).pixels == deblur(pixels, **{**plain, **settings}).image).all()
    assert (read(goal).pixels != deblur(pixels, **plain).image).any()


@pytest.mark.slow
def test_defaults_are_those_of_the_function(capsys, picture, saved, tmp_path):
    source = saved("in.png", picture((36, 40)))
    words = ["-o", tmp_path / "out.png", "--prior", "none", "--device", "cpu", "--json"]
    assert run("deblur", source, *words) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["event"] == "progress" and first["iterations"] == 200
    wanted = deblur(read(source).pixels, device="cpu")
    assert wanted.iterations == 200 and wanted.psf.shape == (31, 31)
    assert (read(tmp_path / "out.png").pixels == wanted.image).all()


@pytest.mark.parametrize(
    ("value", "said"), [(np.nan, "NaN"), (np.inf, "infinity"), (-0.1, "negative samples")]
)
def test_samples_that_no_picture_has(capsys, picture, saved, tmp_path, value, said):
    pixels = picture().astype(np.float32) / 255
    pixels[3, 4] = value
    source = saved("in.tif", pixels)
    assert run("deblur", source, "-o", tmp_path / "out.tif", *WORDS) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {source}: ") and said in err and err.count("\n") == 1
    assert "np." not in err and "image." not in err
    assert names(tmp_path) == ["in.tif"]


# Regions


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--roi", "5,2,16"], "expected whole numbers X,Y,W,H"),
        (["--roi", "16,16"], "; W,H alone goes with --roi-file"),
        (["--roi", "5,2,16,x"], "expected whole numbers"),
        (["--roi", "5,2,1.5,4"], "expected whole numbers"),
        (["--roi", "5,2,0,4"], "the region is empty"),
        (["--roi", "9,0,16,11"], "leaves the frame"),
        (["--roi", "-1,0,16,11"], "leaves the frame"),
        (["--roi", "0,0,25,11"], "got a region of 25×11 for frames of 24×20"),
        (["--roi", "0,0,24,4"], "got a PSF of 5×5 for a picture of 24×4"),
        (["--paste-back"], "add --roi"),
        (["--roi-file", "at.txt"], "add --roi W,H"),
        (["--psf-size", 21], "take a smaller --psf-size or --psf"),
        (["--tile", 4], "--tile 4 with a PSF"),
    ],
)
def test_wrong_regions(capsys, picture, saved, tmp_path, words, said):
    source = saved("in.png", picture())
    refused(capsys, [source, "-o", tmp_path / "out.png", *WORDS, *words], said)
    assert names(tmp_path) == ["in.png"]


def test_positions_are_for_video(capsys, picture, saved, tmp_path):
    """An image has no frames that they could be of."""
    source = saved("in.png", picture())
    (tmp_path / "at.txt").write_text("1,2\n")
    words = ["--roi", "16,11", "--roi-file", tmp_path / "at.txt"]
    refused(
        capsys, [source, "-o", tmp_path / "out.png", *WORDS, *words],
        f"{source}: --roi-file is for video", "--roi X,Y,W,H",
    )  # fmt: skip


# What white is


def test_the_value_of_white_of_floats(capsys, picture, saved, tmp_path):
    pixels = picture().astype(np.float32) * 235
    source, goal = saved("in.tif", pixels), tmp_path / "out.tif"
    words = [source, "-o", goal, *WORDS, "--read-noise", "0.1"]
    refused(capsys, words, "state the value of white as --data-range")
    assert run("deblur", *words, "--data-range", 60000) == 0
    assert capsys.readouterr().err == ""
    wanted = deblur(pixels, **QUICK, read_noise=0.1, data_range=60000, device="cpu").image
    assert (read(goal).pixels == wanted).all()
    refused(capsys, [*words, "--overwrite", "--data-range", "0"], "--data-range 0; expected")


# Bursts


def test_a_burst_of_a_folder(picture, saved, tmp_path):
    (tmp_path / "in").mkdir()
    frames = np.stack([picture() for _ in range(2)])
    for n, frame in enumerate(frames):
        saved(f"in/{n}.png", frame)
    assert run("deblur", tmp_path / "in", "-o", tmp_path / "out.png", "--burst", *WORDS) == 0
    wanted = deblur(frames, **QUICK, multiframe=True, device="cpu").image
    assert (read(tmp_path / "out.png").pixels == wanted).all()


# PSFs as files


def test_psfs_of_several_inputs_go_to_a_folder(capsys, picture, saved, tmp_path):
    sources = [saved(name, picture()) for name in ("a.png", "b.tif")]
    for folder in ("out", "psfs"):
        (tmp_path / folder).mkdir()
    words = [*sources, "-o", tmp_path / "out", *WORDS]
    assert run("deblur", *words, "--psf-out", tmp_path / "psfs") == 0
    assert names(tmp_path / "psfs") == ["a.png.npy", "b.tif.npy"]
    assert np.load(tmp_path / "psfs" / "b.tif.npy").shape == (5, 5)
    capsys.readouterr()
    refused(capsys, [*words, "--overwrite", "--psf-out", tmp_path / "p.npy"], "need a folder")


@pytest.mark.parametrize("option", ["--psf", "--psf-start"])
def test_a_wrong_psf_is_reported_once_and_by_its_own_name(capsys, picture, saved, tmp_path, option):
    sources = [saved(name, picture()) for name in ("a.png", "b.png")]
    (tmp_path / "out").mkdir()
    words = [*sources, "-o", tmp_path / "out", "--device", "cpu", option]
    np.save(tmp_path / "psf.npy", np.zeros((3, 3)))
    refused(
        capsys, [*words, tmp_path / "psf.npy"], f"error: {tmp_path / 'psf.npy'} is 0 everywhere"
    )
    black = saved("psf.png", np.zeros((3, 3), np.uint8))
    refused(capsys, [*words, black], f"error: {black} is 0 everywhere")
    np.save(tmp_path / "odd.npy", np.array([{}]), allow_pickle=True)
    assert run("deblur", *words, tmp_path / "odd.npy") == 2
    assert "pickle" not in capsys.readouterr().err
    np.save(tmp_path / "large.npy", np.ones((9, 9)))
    if option == "--psf-start":
        refused(
            capsys, [sources[0], *words[2:], tmp_path / "large.npy", "--psf-size", 5],
            "--psf-start has shape (9, 9)", "--psf-size 5; take a larger --psf-size",
        )  # fmt: skip


# What is refused, reported, left


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--psf", "p.npy", "--psf-size", 5], "got --psf with --psf-size"),
        (["--psf", "p.npy", "--psf-start", 1], "got --psf with --psf-start"),
        (["--prior", "l0", "--psf-start", 1], "got --prior with --psf-start"),
        (["--psf-start", "0"], "got --psf-start 0; expected a Gaussian's σ in pixels"),
        (["--psf-start", "abc"], "got --psf-start abc; expected a Gaussian's σ in pixels"),
        (["--psf-start", "2,5"], "got --psf-start 2,5; expected a Gaussian's σ in pixels"),
        (["--psf-start", "nan"], "above 0 as 2.5, or a PSF's file"),
        (["--psf-start", "none.npy"], "none.npy: no such file"),
        (["--psf", "p.npy", "--prior", "l0"], "got --psf with --prior"),
        (["--psf", "p.npy", "--warm"], "got --psf with --warm"),
        (["--prior", "l0", "--warm"], "got --prior with --warm"),
        (["--tile", 64, "--warm"], "got --tile with --warm"),
        (["--burst", "--prior", "l0"], "got --burst with --prior"),
        (["--window", 2, "--prior", "l0"], "got --window with --prior"),
        (["--noise", "gaussian", "--read-noise", "0.1"], "--read-noise 0.1 with --noise"),
        (["--read-noise", "1e20"], "--read-noise 1e+20; expected"),
        (["--read-noise", "1e200"], "--read-noise 1e+200; expected"),
        (["--tv", "1e39"], "--tv 1e+39; expected"),
        (["--tolerance", "inf"], "--tolerance inf; expected"),
        (["--device", "tpu"], "expected auto"),
    ],
)
def test_options_that_do_not_go_together(capsys, picture, saved, tmp_path, words, said):
    source = saved("in.png", picture())
    refused(capsys, [source, "-o", tmp_path / "out.png", *words], said)
    assert names(tmp_path) == ["in.png"]


@pytest.mark.slow
def test_outputs(capsys, picture, saved, tmp_path):
    source, goal = saved("in.png", picture()), tmp_path / "out.png"
    words = [source, "-o", goal, *WORDS]
    goal.write_bytes(b"mine")
    refused(capsys, words, "out.png exists", "--overwrite")
    words.append("--overwrite")
    (tmp_path / "psf.npy").write_bytes(b"mine")
    refused(capsys, [*words[:-1], "--psf-out", tmp_path / "psf.npy"], "psf.npy exists")
    refused(capsys, [*words, "--psf-out", tmp_path / "psf.txt"], "written as .npy or .png")
    refused(capsys, [*words, "--psf-out", source], "is the input itself")
    refused(capsys, [*words, "--psf-out", goal], "choose another file for one")
    refused(capsys, [*words, "--psf-out", source / "no" / "psf.npy"], "cannot be made")
    refused(capsys, [source, "-o", source, *WORDS, "--overwrite"], "is the input itself")
    refused(capsys, [source, "-o", "-", *WORDS], "cannot go to standard output")
    assert goal.read_bytes() == (tmp_path / "psf.npy").read_bytes() == b"mine"
    assert run("deblur", *words, "--psf-out", tmp_path / "psf.npy") == 0
    assert read(goal).pixels.shape == (20, 24) and np.load(tmp_path / "psf.npy").shape == (5, 5)


def test_an_odd_file_among_several_does_not_stop_the_others(capsys, picture, saved, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for name in ("in/a.png", "in/c.png"):
        saved(name, picture())
    (tmp_path / "in" / "b.png").write_text("no image")
    words = [tmp_path / "in", "-o", tmp_path / "out", *WORDS, "--json"]
    assert run("deblur", *words) == 2
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["event"] for line in lines] == ["done", "error", "done", "summary"] and err == ""
    assert lines[1]["exit_code"] == 2 and "not an image" in lines[1]["message"]
    assert names(tmp_path / "out") == ["a.png", "c.png"]


def test_json_of_an_image(capsys, picture, saved, tmp_path):
    pixels = picture()
    source, goal = saved("in.png", pixels), tmp_path / "out.png"
    words = [*WORDS[:2], "--iterations", 20, *WORDS[4:], "--json", "--crf", 3]
    assert run("deblur", source, "-o", goal, *words) == 0
    out, err = capsys.readouterr()
    warning, *steps, done = [json.loads(line) for line in out.splitlines()]
    assert "--crf is for video" in warning["message"] and err == ""
    # The first is written at once, and then once a second.
    assert {line["event"] for line in steps} == {"progress"}
    assert steps[0] == {**steps[0], "input": str(source), "stage": "picture", "iteration": 10}
    assert steps[0]["iterations"] == 20
    wanted = deblur(pixels, psf_size=5, iterations=20, device="cpu")
    ms = done.pop("ms")
    assert ms > 0 and done == {
        "event": "done", "input": str(source), "output": str(goal), "width": 24, "height": 20,
        "device": "cpu", "fit": wanted.fit, "iterations": 20, "outcome": None, "psf": None,
        "warnings": [warning["message"]],
    }  # fmt: skip


def test_the_bar_begins_anew_with_each_stage(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Report(False) as report:
        report.progress(Progress("[b]a.png", 20, 20, 1.0, 0.0, "iteration", "picture"))
        report.progress(Progress("[b]a.png", 10, 20, 1.0, 1.0, "iteration", "channels"))
        (task,) = report._bar.tasks
        assert (task.completed, task.total, task.finished) == (10, 20, False)
        assert task.description == "[b]a.png: channels"


def test_an_interrupt_leaves_nothing(capsys, picture, saved, tmp_path, monkeypatch):
    def interrupted(self, count):
        raise KeyboardInterrupt

    monkeypatch.setattr(cpu.Backend, "iterate", interrupted)
    words = [saved("in.png", picture()), "-o", tmp_path / "out.png", *WORDS]
    assert run("deblur", *words, "--psf-out", tmp_path / "psf.npy") == 130
    out, err = capsys.readouterr()
    assert out == "" and "interrupted" in err and "Traceback" not in err
    assert names(tmp_path) == ["in.png"]


@pytest.mark.slow
def test_a_picture_without_blur_is_the_answer(capsys, picture, saved, tmp_path):
    """By default, with a notice; with --quiet without one; --prior none is plain MIA."""
    source, goal = saved("in.png", picture((40, 44, 3))), tmp_path / "out.png"
    words = ["deblur", source, "-o", goal, "-y", "--psf-size", 5, "--device", "cpu"]
    assert run(*words, "--json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == {"event": "notice", "input": str(source),
                        "message": "no blur found that could be undone: left as it is"}  # fmt: skip
    assert (lines[-1]["outcome"], lines[-1]["iterations"]) == ("no blur", 0)
    assert (read(goal).pixels == read(source).pixels).all()
    said = f"{source}: no blur found that could be undone: left as it is\n"
    assert run(*words) == 0
    out, err = capsys.readouterr()
    assert err == said and out.startswith(f"{goal}: 44×40, as the source, ")
    assert run(*words, "--quiet") == 0 and capsys.readouterr().err == ""
    assert run(*words, "--prior", "none", "--iterations", 3) == 0
    assert (read(goal).pixels != read(source).pixels).any()


def test_a_blur_that_is_not_plausible(capsys, picture, saved, tmp_path, monkeypatch):
    monkeypatch.setattr("snellen.mia.l0.judge.before", lambda *_: "restored")
    monkeypatch.setattr("snellen.mia.l0.judge.after", lambda *_: "implausible")
    source, goal = saved("in.png", picture((40, 44))), tmp_path / "out.png"
    words = ["deblur", source, "-o", goal, "-y", "--psf-size", 5, "--device", "cpu"]
    assert run(*words) == 0
    assert capsys.readouterr().err == (
        f"warning: {source}: the blur that was found is not plausible, or the noise too strong: "
        "left as it is; with --prior l0 it is restored\n"
    )
    assert (read(goal).pixels == read(source).pixels).all()
    assert run(*words, "--tile", 22, "--json") == 0
    *steps, done = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (said,) = (step for step in steps if step["event"] == "warning")
    assert said["message"].startswith("in 9 of 9 tiles the blur that was found is not plausible")
    assert done["outcome"] == "implausible" and done["warnings"] == [said["message"]]
