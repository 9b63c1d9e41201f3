"""snellen upscale with images: files, folders, refusals, JSON, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from snellen import upscale
from snellen.aplus import cpu
from snellen.gpu import device
from snellen.stills.still import Still, write
from snellen.upscaling import shipped
from support import cli
from support.cli import names, run

pytestmark = pytest.mark.usefixtures("signals")

refused = partial(cli.refused, "upscale")


@pytest.fixture
def folder(random, tmp_path):
    found = tmp_path / "in"
    found.mkdir()
    for name, shape in [("a.png", (9, 8, 3)), ("b.tif", (7, 7)), ("c.jpg", (8, 12, 3))]:
        Image.fromarray(random.integers(0, 256, shape, np.uint8)).save(found / name)
    (tmp_path / "out").mkdir()
    return found


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.mark.slow
def test_one_image(capsys, folder, tmp_path, small_model):
    goal = tmp_path / "large.png"
    words = ["--model", small_model, "--device", "cpu"]
    assert run("upscale", folder / "a.png", "-o", goal, *words) == 0
    out, err = capsys.readouterr()
    assert out == f"{goal}: 16×18, A+ (small.safetensors)\n" and err == ""
    assert (pixels(goal) == upscale(pixels(folder / "a.png"), 2, small_model, "cpu")).all()


@pytest.mark.gpu
def test_one_image_on_the_gpu(capsys, folder, tmp_path, small_model):
    """Its name is reported, also where it was not asked for."""
    goal = tmp_path / "large.png"
    name = device.name("cuda:0")
    for words in ([], ["--device", "cuda"]):
        words += ["--model", small_model, "--overwrite"]
        assert run("upscale", folder / "a.png", "-o", goal, *words) == 0
        out, err = capsys.readouterr()
        assert out == f"{goal}: 16×18 on {name}, A+ (small.safetensors)\n"
        assert all(line.startswith("first use: ") for line in err.splitlines()), err
        assert (pixels(goal) == upscale(pixels(folder / "a.png"), 2, small_model, "cuda")).all()
        assert run("upscale", folder / "a.png", "-o", goal, *words, "--json") == 0
        assert json.loads(capsys.readouterr().out)["device"] == name


@pytest.mark.slow
def test_why_auto_takes_the_cpu_where_there_is_a_driver(
    capsys, folder, tmp_path, small_model, monkeypatch
):
    """Once, not for each picture; and not where the CPU is asked for."""
    monkeypatch.setattr("snellen.gpu.driver.version", lambda: 12040)
    monkeypatch.setattr(device, "why_not", lambda number=0: "update the driver")
    words = ["upscale", folder, "-o", tmp_path / "out", "--model", small_model, "--overwrite"]
    assert run(*words) == 0
    line = "warning: --device auto: the CPU is used: update the driver\n"
    assert capsys.readouterr().err == line
    assert run(*words, "--device", "cpu") == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("snellen.gpu.driver.version", lambda: 0)
    assert run(*words) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_scales_and_shipped_models(capsys, folder, tmp_path, scale):
    goal = tmp_path / "large.png"
    words = ["upscale", folder / "b.tif", "-o", goal, "--scale", scale]
    assert run(*words) == 0
    assert (pixels(goal) == upscale(pixels(folder / "b.tif"), scale)).all()
    by_name = [*words, "--overwrite", "--model", shipped.choose(scale), "--device", "cpu"]
    before = goal.read_bytes()
    assert run(*by_name) == 0 and goal.read_bytes() == before


def test_sixteen_bits_stay(random, tmp_path, small_model):
    from snellen.stills.still import Still, read, write

    image = random.integers(0, 65536, (8, 9, 3)).astype(np.uint16)
    write(tmp_path / "in.png", Still(image))
    assert (
        run("upscale", tmp_path / "in.png", "-o", tmp_path / "out.tif", "--model", small_model) == 0
    )
    assert (read(tmp_path / "out.tif").pixels == upscale(image, 2, small_model)).all()


@pytest.mark.slow
def test_a_folder_into_a_folder(capsys, folder, tmp_path, small_model):
    (folder / "notes.txt").write_text("no image")
    (folder / ".hidden.png").write_bytes(b"")
    (folder / "deeper").mkdir()
    assert run("upscale", folder, "-o", tmp_path / "out", "--model", small_model) == 0
    assert names(tmp_path / "out") == ["a.png", "b.tif", "c.jpg"]
    assert pixels(tmp_path / "out" / "c.jpg").shape == (16, 24, 3)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[-1] == "3 done, 0 failed, 0 skipped"


def test_one_input_into_a_folder(folder, tmp_path, small_model):
    assert run("upscale", folder / "a.png", "-o", tmp_path / "out", "--model", small_model) == 0
    assert names(tmp_path / "out") == ["a.png"]


@pytest.mark.slow
def test_existing_output(capsys, folder, tmp_path, small_model):
    goal = tmp_path / "large.png"
    goal.write_bytes(b"mine")
    words = [folder / "a.png", "-o", goal, "--model", small_model]
    refused(capsys, words, "large.png exists", "--overwrite")
    assert goal.read_bytes() == b"mine"
    assert run("upscale", *words, "--overwrite") == 0
    assert pixels(goal).shape == (18, 16, 3)


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_the_input_itself(capsys, folder, tmp_path, overwrite):
    source = folder / "a.png"
    before = source.read_bytes()
    link = tmp_path / "link.png"
    link.symlink_to(source)
    for goal in (source, folder, link):
        refused(capsys, [source, "-o", goal, *overwrite], "is the input itself")
    assert source.read_bytes() == before


def test_refusals(capsys, folder, tmp_path):
    source, out = folder / "a.png", tmp_path / "out"
    (folder / "text.png").write_text("no image")
    (tmp_path / "empty").mkdir()
    refused(capsys, [tmp_path / "none.png", "-o", out], "none.png: no such file")
    refused(capsys, [folder / "text.png", "-o", out], "text.png: not an image")
    refused(capsys, [source, "-o", source / "b" / "a.png"], "cannot be made: Not a directory")
    refused(capsys, [source, folder / "b.tif", "-o", source], "is a file; several inputs")
    refused(capsys, [folder, "-o", tmp_path / "no.png"], "no.png names a file; name a folder")
    refused(capsys, [tmp_path / "empty", "-o", out], "holds no video and no image")
    refused(capsys, [source, "-o", "-"], "cannot go to standard output")
    refused(capsys, [source, folder / "b.tif", "-o", "-"], "takes one input")
    refused(capsys, [source, "-", "-o", out], "standard input needs a file name")
    refused(capsys, [source, "-o", out / "a.png", "--model", "no-such"], "neither a file")
    refused(capsys, [source, "-o", out / "a.png", "--device", "cuda:99"], "cannot be used")
    refused(capsys, [source, "-o", out / "a.png", "--device", "tpu"], "expected auto")
    assert names(out) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("a.gif", "is read only"), ("a", "a/ if it is to be a folder"), ("a.mp4", "no image format")],
)
def test_an_output_that_is_no_image_is_refused_before_any_work(
    capsys, folder, tmp_path, monkeypatch, name, said
):
    monkeypatch.setattr("snellen.upscaling.image.enlarged", None)  # a call would be a TypeError
    refused(capsys, [folder / "a.png", "-o", tmp_path / "out" / name], said)


@pytest.mark.parametrize("long", ["input", "output"])
def test_a_name_too_long(capsys, folder, tmp_path, long):
    """What the system refuses even to look at is reported like everything else."""
    name = "x" * 300 + ".png"
    source = folder / (name if long == "input" else "a.png")
    goal = tmp_path / (name if long == "output" else "o.png")
    assert run("upscale", source, "-o", goal) in (1, 2)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and "too long" in err and err.count("\n") == 1


def test_options_that_mean_nothing_for_an_image_are_refused_or_warned_of(
    capsys, folder, tmp_path, small_model
):
    """Silence would let `--frames 1` or `--crf 3` look as if they had an effect."""
    words = ["upscale", folder / "a.png", "-o", tmp_path / "o.png", "--model", small_model]
    code = run(*words, "--crf", "0")
    assert code == 2 or "crf" in capsys.readouterr().err


@pytest.mark.slow
def test_an_odd_file_among_several_does_not_stop_the_others(capsys, folder, tmp_path, small_model):
    (folder / "aa.png").write_text("no image")
    assert run("upscale", folder, "-o", tmp_path / "out", "--model", small_model) == 2
    out, err = capsys.readouterr()
    assert names(tmp_path / "out") == ["a.png", "b.tif", "c.jpg"]
    assert out.splitlines()[3:] == ["3 done, 1 failed, 0 skipped"]
    assert err.count("\n") == 1 and "aa.png: not an image" in err


@pytest.mark.slow
def test_json(capsys, folder, tmp_path, small_model):
    (folder / "aa.png").write_text("no image")
    assert run("upscale", folder, "-o", tmp_path / "out", "--model", small_model, "--json") == 2
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert err == ""
    assert [line["event"] for line in lines] == ["done", "error", "done", "done", "summary"]
    assert lines[-1] == {"event": "summary", "done": 3, "damaged": 0, "failed": 1, "skipped": 0}
    assert lines[0] == {
        "event": "done", "input": str(folder / "a.png"),
        "output": str(tmp_path / "out" / "a.png"), "width": 16, "height": 18,
        "device": device.name(device.resolve("auto")), "warnings": [],
        "model": str(small_model), "method": "aplus", "source_kind": None,
    }  # fmt: skip
    assert lines[1]["exit_code"] == 2 and "not an image" in lines[1]["message"]


def test_json_of_a_single_failure(capsys, folder, tmp_path):
    words = ["upscale", folder / "none.png", "-o", tmp_path / "o.png", "--json"]
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert err == "" and json.loads(out)["event"] == "error"


@pytest.mark.parametrize("there", [False, True])
def test_an_interrupt_leaves_nothing(capsys, folder, tmp_path, small_model, monkeypatch, there):
    goal = tmp_path / "out" / "a.png"
    if there:
        goal.write_bytes(b"before")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cpu, "overlap", interrupted)
    words = [folder / "a.png", "-o", goal, "--model", small_model, "--overwrite"]
    words += ["--device", "cpu"]
    assert run("upscale", *words) == 130
    out, err = capsys.readouterr()
    assert out == "" and "interrupted" in err and "Traceback" not in err
    assert names(tmp_path / "out") == (["a.png"] if there else [])
    assert not there or goal.read_bytes() == b"before"


def test_an_interrupt_during_the_write_leaves_nothing(
    capsys, folder, tmp_path, small_model, monkeypatch
):
    def interrupted(file, *_):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr("snellen.stills.still_write._save", interrupted)
    goal = tmp_path / "out" / "a.png"
    assert run("upscale", folder / "a.png", "-o", goal, "--model", small_model) == 130
    assert names(tmp_path / "out") == []


def test_a_full_disk(capsys, folder, tmp_path, small_model, monkeypatch):
    def full(file, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("snellen.stills.still_write._save", full)
    goal = tmp_path / "out" / "a.png"
    assert run("upscale", folder / "a.png", "-o", goal, "--model", small_model) == 1
    err = capsys.readouterr().err
    assert err == f"error: {goal} could not be written: No space left on device\n"
    assert names(tmp_path / "out") == []


def test_a_name_that_is_no_text(capsys, folder, tmp_path, small_model):
    """File names are bytes; one that is not UTF-8 must not spoil the report of a finished file."""
    goal = Path(os.fsdecode(os.fsencode(tmp_path / "out") + b"/caf\xe9.png"))
    assert run("upscale", folder / "a.png", "-o", goal, "--model", small_model) == 0
    assert pixels(goal).shape == (18, 16, 3)


def test_as_a_program(folder, tmp_path, small_model):
    goal = tmp_path / "large.png"
    command = [sys.executable, "-m", "snellen", "upscale", folder / "a.png", "-o", goal]
    command += ["--model", small_model, "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    said = done.stderr.splitlines()
    assert done.returncode == 0 and all(line.startswith("first use: ") for line in said)
    assert done.stdout == f"{goal}: 16×18, A+ (small.safetensors)\n"
    assert (pixels(goal) == upscale(pixels(folder / "a.png"), 2, small_model, "cpu")).all()


def test_what_a_format_cannot_hold_is_warned_of_or_refused(capsys, random, tmp_path, small_model):
    pixels = random.integers(0, 256, (8, 9, 3)).astype(np.uint8)
    exif = Image.Exif()
    exif[ExifTags.Base.Artist] = "somebody"
    write(tmp_path / "a.jpg", Still(pixels, profile=b"profile", exif=exif.tobytes()))
    words = ["upscale", tmp_path / "a.jpg", "-o", tmp_path / "b.bmp", "--model", small_model]
    assert run(*words, "--strict") == 2
    assert "colour profile" in capsys.readouterr().err and not (tmp_path / "b.bmp").exists()
    assert run(*words) == 0
    err = capsys.readouterr().err
    assert "colour profile: it is lost" in err and "EXIF: it is lost" in err


def test_a_closed_standard_error(folder, tmp_path, small_model, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    goal = tmp_path / "o.png"
    assert run("upscale", folder / "a.png", "-o", goal, "--model", small_model) == 0
    assert goal.exists()


def test_errors_before_any_work_are_json_too(capsys, folder, tmp_path):
    words = ["upscale", folder / "a.png", folder / "b.tif", "-o", folder / "a.png", "--json"]
    assert run(*words) == 2
    line = json.loads(capsys.readouterr().out)
    assert line["event"] == "error" and line["exit_code"] == 2 and "folder" in line["message"]


@pytest.mark.parametrize("empty", ["input", "output"])
def test_an_empty_name_is_not_this_folder(capsys, folder, monkeypatch, empty):
    monkeypatch.chdir(folder)
    words = ["", "-o", "o.png"] if empty == "input" else [folder / "a.png", "-o", ""]
    assert run("upscale", *words) == 2
    assert "empty name" in capsys.readouterr().err
    assert names(folder) == ["a.png", "b.tif", "c.jpg"]


@pytest.mark.cases
@pytest.mark.parametrize("suffix", [".jpg", ".webp", ".avif"])
def test_quality(random, tmp_path, small_model, suffix):
    source = tmp_path / "a.png"
    write(source, Still(random.integers(0, 256, (24, 30, 3), np.uint8)))
    sizes = []
    for quality in (30, 90):
        goal = tmp_path / f"{quality}{suffix}"
        options = ["--model", small_model, "--device", "cpu", "--quality", quality]
        assert run("upscale", source, "-o", goal, *options) == 0
        sizes.append(goal.stat().st_size)
    assert sizes[0] < sizes[1]


def test_quality_without_effect_is_said(capsys, random, tmp_path, small_model):
    write(tmp_path / "a.png", Still(random.integers(0, 256, (24, 30, 3), np.uint8)))
    options = ["-o", tmp_path / "b.png", "--model", small_model, "--device", "cpu"]
    assert run("upscale", tmp_path / "a.png", *options, "--quality", 50) == 0
    assert "--quality is for .jpg" in capsys.readouterr().err
    assert run("upscale", tmp_path / "a.png", *options, "-y", "--quality", 101) == 2
    assert "--quality" in capsys.readouterr().err
