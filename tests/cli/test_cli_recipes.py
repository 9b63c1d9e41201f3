"""snellen.toml: defaults and recipes, where the file is, and slips in it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.cli import config_file
from support.cli import refused, run

pytestmark = pytest.mark.usefixtures("signals")

WHOLE = """
[upscale]
quality = 40
verbose = true
deinterlace = true
[recipe.large.upscale]
scale = 3
encoder-option = ["tune=film", "aq-mode=3"]
[recipe.large.score]
every = 2
[bench.aplus]
repeats = 2
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SNELLEN_CONFIG", str(tmp_path))
    Image.fromarray(np.full((9, 8), 77, np.uint8)).save(tmp_path / "a.png")
    return tmp_path


def jobs(capsys):
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [one for one in events if one["event"] == "begin"], events


@pytest.mark.slow
def test_the_command_line_wins_over_the_recipe_and_that_over_defaults(folder, capsys):
    (folder / "snellen.toml").write_text(WHOLE)
    words = ("upscale", folder / "a.png", "--json", "-y", "--device", "cpu")
    both = {"tune": "film", "aq-mode": "3"}
    for more, scale, quality, film in (
        ((), None, 40, {}),
        (("--recipe", "large"), 3, 40, both),
        (("--recipe=large", "--scale", "2", "--quality", "50"), 2, 50, both),
        (("--recipe", "large", "-e", "a=b"), 3, 40, {"a": "b"}),
        (("--no-config", "-v"), None, None, {}),
    ):  # fmt: skip
        target = folder / "out.png"
        assert run(*words, "-o", target, *more) == 0
        (begun,), _ = jobs(capsys)
        job = json.dumps(begun["job"])
        assert begun["job"].get("scale") == scale and begun["job"].get("quality") == quality
        assert all(f'"{key}": "{value}"' in job for key, value in film.items())
        assert ('"frame"' in job) == ("--no-config" not in more)


def test_verbose_log_and_doctor_say_what_came_from_where(folder, capsys, monkeypatch):
    file = folder / "snellen.toml"
    file.write_text(WHOLE)
    log = folder / "log.txt"
    words = ("upscale", folder / "a.png", "-o", folder / "b.png", "--device", "cpu", "--log", log)
    assert run(*words, "--recipe", "large", "--scale", "2") == 0
    err = capsys.readouterr().err
    assert f"recipe large in {file}: --encoder-option tune=film --encoder-option aq-mode=3\n" in err
    assert f"defaults in {file}: --deinterlace frame --quality 40 --verbose\n" in err
    assert "--scale 3" not in err and f"defaults in {file}" in log.read_text()
    assert run(*words, "--recipe", "large", "--size", "4k") == 2
    assert f"--scale is of the recipe large in {file}" in capsys.readouterr().err
    monkeypatch.setattr("snellen.jobs.checkup.checkup", dict)
    assert run("doctor", "--json") == 0
    (state,) = json.loads(capsys.readouterr().out)["configuration"].values()
    assert state == "defaults of upscale, bench; recipe large (upscale, score)"
    file.write_text("[upscale]\nx = 1\n")
    assert run("doctor") == 0
    assert "not used: " in capsys.readouterr().out
    file.unlink()
    assert run("doctor") == 0
    assert f"{file} not there" in capsys.readouterr().out


@pytest.mark.cases(23)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[upscal]", "upscal: there is no such command; did you mean upscale?"),
        ("upscale = 3", "upscale: got 3; expected a table [upscale]"),
        ("[upscale]\npix_fmt = 'x'", "no such option; did you mean pix-fmt?"),
        ("[deblur]\nlog = 'run.log'", "deblur.log: got 'run.log'; expected a path that begins"),
        ("[upscale]\nmodel = 'a.safetensors'", "upscale.model: got 'a.safetensors'; expected a p"),
        ("[upscale]\ncrf = 'x'", "upscale.crf: got 'x'; expected a number"),
        ("[upscale]\ncrf = true", "upscale.crf: got True; expected a number"),
        ("[upscale]\nthreads = 1.5", "upscale.threads: got 1.5; expected a whole number"),
        ("[upscale]\nthreads = 0", "upscale.threads: got 0; expected a whole number, 1 to 1024"),
        ("[upscale]\noverwrite = 1", "upscale.overwrite: got 1; expected true or false"),
        ("[upscale]\ncodec = ['x']", "upscale.codec: got ['x']; expected a text in quotes"),
        ("[upscale]\nencoder-option = 'a=b'", "got 'a=b'; expected a list of texts"),
        ("[upscale]\naudio = 'loud'", "upscale.audio: 'loud' is not one of"),
        ("[recipe.r.upscale]\ndebug = true", "recipe.r.upscale.debug: is for the command line"),
        ("[upscale]\nrecipe = 'r'", "upscale.recipe: is for the command line only"),
        ("[upscale]\njoin = true", "upscale.join: is for the command line only"),
        ("[recipe]\nr = 1", "recipe.r: got 1; expected a table"),
        ("[recipe.r.recipe]", "recipe.r.recipe: there is no such command"),
        ("[bench.x]", "bench.x: there is no such command"),
        ("[doctor]\nwarm = true", "doctor: this command has no settings"),
        ("a = [", "no TOML: "),
        ("a = " + "[" * 9999, "no TOML: "),
        ("a = " + "9" * 9999, "no TOML: "),
        ("\udcff", "expected UTF-8"),
    ],
)
def test_a_slip_is_an_error_with_file_and_key(folder, capsys, text, said):
    file = folder / "mine.toml"
    file.write_text(text, errors="surrogateescape")
    refused("upscale", capsys, (folder / "a.png", "--config", file), f"{file}: ", said)


def test_recipes_that_are_not_there(folder, capsys):
    source = folder / "a.png"
    refused(
        "upscale", capsys, (source, "--recipe", "x"), "--recipe x, but there is no", "snellen.toml"
    )
    (folder / "snellen.toml").write_text(WHOLE)
    refused("upscale", capsys, (source, "--recipe", "x"), "there are large")
    refused("deblur", capsys, (source, "--recipe", "large"), "no settings of deblur; it is for ups")
    refused(
        "upscale", capsys, (source, "--recipe", "large", "--no-config"), "--no-config with --rec"
    )
    refused("upscale", capsys, (source, "--config", folder / "none.toml"), "no such file")
    refused("upscale", capsys, (source, "--config", folder), "is a folder")


def test_the_variable_names_an_absolute_path(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SNELLEN_CONFIG", ".")
    refused("upscale", capsys, (folder / "a.png",), "SNELLEN_CONFIG=.: expected the absolute path")
    monkeypatch.setattr("snellen.jobs.checkup.checkup", dict)
    assert run("doctor") == 0 and "not used: SNELLEN_CONFIG=." in capsys.readouterr().out


def test_neither_the_current_folder_nor_that_of_an_input_is_read(folder, capsys, monkeypatch):
    (folder / "snellen.toml").write_text("[upscale]\nx = 1\n")
    monkeypatch.setenv("SNELLEN_CONFIG", os.devnull)
    monkeypatch.chdir(folder)
    assert run("upscale", folder / "a.png", "-o", folder / "b.png", "--device", "cpu") == 0


@pytest.mark.skipif(sys.platform == "win32", reason="folders of users are private there")
def test_a_file_that_others_can_write_is_refused_unless_it_is_named(folder, capsys):
    file = folder / "snellen.toml"
    file.write_text(WHOLE)
    file.chmod(0o666)
    words = (folder / "a.png", "-o", folder / "b.png", "--device", "cpu")
    refused("upscale", capsys, words, str(file), "can be written by all", "--no-config")
    assert run("upscale", *words, "--config", file) == 0


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {}, "/home/u/.config/snellen/snellen.toml"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/snellen/snellen.toml"),
        ("linux", {"XDG_CONFIG_HOME": "x"}, "/home/u/.config/snellen/snellen.toml"),
        ("linux", {"SNELLEN_CONFIG": "/y"}, "/y/snellen.toml"),
        ("darwin", {}, "/home/u/Library/Application Support/snellen/snellen.toml"),
        ("win32", {"APPDATA": "/a"}, "/a/snellen/snellen.toml"),
        ("win32", {}, None),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths are of another kind there")
def test_where_the_file_is(monkeypatch, platform, variables, place):
    for name in ("XDG_CONFIG_HOME", "SNELLEN_CONFIG", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/u", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert config_file.place() == (None if place is None else Path(place))


def test_paths_and_subcommands(folder, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    (folder / "snellen.toml").write_text(
        "[upscale]\nlog = '~/x/'\n[recipe.r.upscale]\nlog = '~/run.log'\n"
    )
    words = (
        "upscale",
        folder / "a.png",
        "-o",
        folder / "b.png",
        "--device",
        "cpu",
        "--recipe",
        "r",
    )
    assert run(*words) == 0 and (folder / "run.log").is_file()


def test_training_notes_the_settings_of_the_file(folder):
    text = f"[train]\nimages = '{folder}/images'\nanchors = 4\nsamples = 400\niterations = 1\n"
    (folder / "snellen.toml").write_text(text + "neighbours = 16\n")
    (folder / "images").mkdir()
    noise = np.random.default_rng(1).integers(0, 256, (48, 40), dtype=np.uint8)
    Image.fromarray(noise).save(folder / "images" / "a.png")
    assert run("train", "-o", folder / "m.safetensors") == 0
    from safetensors import safe_open

    with safe_open(folder / "m.safetensors", "np") as file:
        command = file.metadata()["command"]
    assert command.startswith("snellen train --images images --output m.safetensors --anchors 4 ")
    assert command.endswith("--iterations 1 --samples 400 --neighbours 16")


@pytest.mark.parametrize("text", ["[upscale]\nno-such = 3\n", "no TOML", "[score]\nevery = true\n"])
@pytest.mark.parametrize("words", ["upscale --help", "score -h", "train --help", "bench mad -h"])
def test_help_always_helps(folder, capsys, text, words):
    """What is wrong in the file is said beside it."""
    (folder / "snellen.toml").write_text(text)
    assert run(*words.split()) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Usage: snellen ") and "Options" not in err
    assert err.startswith(f"warning: {folder / 'snellen.toml'}: ") and err.count("\n") == 1
    refused("score", capsys, ["a", "b"], "snellen.toml")


def test_help_tells_the_defaults_of_the_program(folder, capsys):
    assert run("score", "--help") == 0
    plain = capsys.readouterr().out
    (folder / "snellen.toml").write_text("[score]\nworst = 7\n")
    assert run("score", "--help", "--recipe", "none") == 0
    out, err = capsys.readouterr()
    assert out == plain and "--recipe none, which is not in" in err
