"""snellen train: the file it writes, its report, what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from snellen.cli.train import train as command
from snellen.cnn.definition import SIZES
from snellen.errors import IncompleteError, InputError, OutputError
from snellen.jobs import lab
from snellen.upscaling.models import load
from support.aplus.drawings import drawing
from support.cli import run as main

SMALL = ["--anchors", "12", "--iterations", "2", "--samples", "2000", "--neighbours", "40"]


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "drawings"
    found.mkdir()
    for k in range(5):
        Image.fromarray(np.uint8(drawing(k) * 255 + 0.5)).save(found / f"d{k}.png")
    return found


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_help_names_the_networks():
    (fast, narrow), (fine, wide) = SIZES["fast"], SIZES["fine"]
    text = " ".join(run("--help").stdout.split())
    assert f"{fast} layers of {narrow} channels, or {fine} of {wide}" in text


def test_the_command_writes_a_model(folder, tmp_path):
    output = tmp_path / "m.safetensors"
    words = ["--images", folder, "-o", output, "--seeds", 2, "--hold-out", 2, *SMALL]
    done = run(*words, "--validate", folder, "--about", "licence=none given", "--json")
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["scale"] == 2 and len(facts["candidates"]) == 2
    assert len(facts["validation"]["drawings"]["images"]) == 5
    model = load(output, 2)
    assert model.about["data"] == "drawings" and model.about["licence"] == "none given"
    assert "--images drawings --output m.safetensors --validate drawings" in model.about["command"]
    assert not any(str(tmp_path) in value for value in model.about.values())
    psnr = float(model.about["psnr_drawings"])
    assert psnr == pytest.approx(facts["validation"]["drawings"]["psnr"], abs=1e-4)
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["m.safetensors"]

    again = run(*words, "--overwrite", "--validate", folder)
    assert again.exit_code == 0 and "drawings: " in again.stdout
    assert model.projections.tobytes() == load(output, 2).projections.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--images", "none", "-o", "m.safetensors"], "no folder 'none'"),
        (["--images", "empty", "-o", "m.safetensors"], "no image in 'empty'"),
        (
            ["--images", "broken", "-o", "m.safetensors"],
            "broken.png: not an image that can be read",
        ),
        (["--images", "small", "-o", "m.safetensors"], "small.png is 8×8 pixels"),
        (["--images", "drawings", "-o", "there.safetensors"], "exists"),
        (["--images", "drawings", "-o", "there.safetensors/m.safetensors"], "not exist"),
        (["--images", "drawings", "-o", "m.bin"], "ends in .safetensors"),
        (["--images", "drawings", "-o", "m.safetensors", "--validate", "empty"], "no image"),
        (["--images", "drawings", "-o", "m.safetensors", "--validate", "speck"], "validation"),
        (["--images", "drawings", "-o", "m.safetensors", "--neighbours", "99999"], "samples, but"),
        (["--images", "drawings", "-o", "m.safetensors"], "1024 anchors are asked for"),
        (["--images", "drawings", "-o", "m.safetensors", "--about", "licence"], "KEY=VALUE"),
    ],
)
def test_the_command_refuses(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "broken", "small", "speck"):
        Path(name).mkdir()
    Path("broken/broken.png").write_bytes(b"no image")
    Image.new("L", (8, 8)).save("small/small.png")
    Image.new("L", (5, 5)).save("speck/speck.png")
    Path("there.safetensors").write_bytes(b"mine")
    before = sorted(tmp_path.rglob("*"))
    done = run(*words)
    assert isinstance(done.exception, InputError) and message in str(done.exception)
    assert sorted(tmp_path.rglob("*")) == before
    assert Path("there.safetensors").read_bytes() == b"mine"


class Absent:
    """Finds nothing of the second package, as if it were not installed."""

    def find_spec(self, name, path=None, target=None):
        if name == "snellen_lab":
            raise ModuleNotFoundError(name=name)


@pytest.mark.parametrize(
    "words", [["train", "--images", "drawings", "-o", "m.safetensors"], ["bench", "calls"],
              ["bench", "scale"], ["bench", "quality", "-o", "q.json"]],
)  # fmt: skip
def test_without_the_second_package(folder, tmp_path, monkeypatch, capsys, words):
    for name in [name for name in sys.modules if name.split(".")[0] == "snellen_lab"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Absent(), *sys.meta_path])
    monkeypatch.chdir(tmp_path)
    assert main(*words) == 2
    said = capsys.readouterr().err
    assert "needs the package snellen-lab" in said and 'pip install "snellen[train]"' in said
    assert [path.name for path in tmp_path.iterdir()] == ["drawings"]


def test_another_module_that_is_missing_is_not_hidden():
    with pytest.raises(ModuleNotFoundError, match=r"snellen_lab\.absent"):
        lab.module("absent", "it")


def test_a_network_needs_pytorch(folder, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    done = run("--method", "cnn", "--images", folder, "-o", tmp_path / "m.safetensors")
    assert isinstance(done.exception, InputError)
    assert "PyTorch" in str(done.exception) and "snellen[train]" in done.exception.advice
    assert [path.name for path in tmp_path.iterdir()] == ["drawings"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "cnn", "--anchors", "9"], "`anchors`=9, which `method`=cnn does not have"),
        (["--steps", "9"], "`steps`=9, which `method`=aplus does not have"),
        (["--device", "cuda"], "A+ is learnt on the CPU"),
        (["--method", "cnn", "--batch", "0"], "`batch`=0; expected a whole number, 1 to 1024"),
        (["--method", "cnn", "--patch", "7"], "`patch`=7; expected a whole number, 8 to 256"),
    ],
)
def test_options_of_the_other_method(folder, tmp_path, words, message):
    done = run("--images", folder, "-o", tmp_path / "m.safetensors", *words)
    assert isinstance(done.exception, InputError) and message in done.exception.message


@pytest.mark.slow
def test_nothing_is_left_of_a_model_that_cannot_be_written(folder, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = run("--images", folder, "-o", tmp_path / "m.safetensors", *SMALL)
    assert isinstance(done.exception, OutputError) and "no space" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["drawings"]


def test_a_damaged_image_is_said_when_the_model_is_written(folder, tmp_path):
    path = folder / "d1.png"
    path.write_bytes(path.read_bytes()[:-6])  # within the end chunk: Pillow reads it all the same
    with pytest.raises(IncompleteError, match=r"d1\.png is damaged: it ends before its last chunk"):
        command.main(
            [f"--images={folder}", f"--output={tmp_path / 'm.safetensors'}", *SMALL],
            standalone_mode=False,
        )
    assert load(tmp_path / "m.safetensors", 2).scale == 2


def test_a_command_by_itself_has_both_names_of_help():
    assert run("-h").exit_code == run("--help").exit_code == 0
