"""Every option of every command with values that nobody would give: an error of ours, or done."""

from __future__ import annotations

from importlib import import_module

import click
import numpy as np
import pytest
from PIL import Image

from snellen.cli.commands import cli
from snellen.cli.groups import Written
from support.cli import names, run

pytestmark = pytest.mark.usefixtures("signals")

VALUES = [
    "", "0", "-0", "-1", "nan", "inf", "-inf", "1e400", "1e-400", "1e30", "9223372036854775808",
    "1" + "0" * 400, "1" + "0" * 5000, "٣", "²", "x" * 5000, "a\0b", "\udcff\udc80", "\ud800",
    "\x1b[31m\n", "%d", "{}", "0x10", "1_000", " 2 ", "True", "None", "cuda:9", "=", "=x", "x=",
    "k=\0", "k=\udcff", "..", "/", "*", "~", "http://x/", "1:2:3", "1,2,3,4", "1e9,0,1,1",
    "-9999999999,1,1,1", "x" * 100_000, "a:" + "9" * 100_000,
]  # fmt: skip
ARGUMENTS = {
    "upscale": ["a.png", "-o", "out.png"],
    "deblur": ["a.png", "-o", "out.png", "--iterations", "1", "--psf-size", "3"],
    "score": ["a.png", "b.png"],
    "train": ["--images", "none", "-o", "out.safetensors"],
}
LONG = {"--iterations", "--tile"}
"""Options of which a great value is allowed and takes long."""


def options(name):
    command = getattr(import_module(f"snellen.cli.{name}"), name)
    return [
        one.opts[-1]
        for one in command.params
        if isinstance(one, click.Option) and not one.is_flag and one.opts[-1] not in LONG
    ]


def check(capsys, words, monkeypatch):
    code = run(*words)
    out, err = capsys.readouterr()
    assert code in (0, 1, 2), (words, err)
    assert err.isprintable() or all(line.isprintable() for line in err.split("\n")), (words, err)
    assert all(len(line) < 4000 for line in err.split("\n")), (words, err)
    assert (code == 0) or (err.count("\n") >= 1 and "error: " in err), (words, err)
    assert ("Traceback" not in err and out.isascii()) or "×" in out or out == "", (words, out)


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(1).integers(9, 200, (34, 35), np.uint8)
    for name in ("a.png", "b.png"):
        Image.fromarray(numbers).save(tmp_path / name)


@pytest.mark.cases
@pytest.mark.parametrize("name", ARGUMENTS)
def test_some_values(capsys, pictures, monkeypatch, name):
    """Another value for each option; the slow test takes all."""
    for number, option in enumerate(options(name)):
        for value in (VALUES * 2)[number % len(VALUES) :][::11][:1]:
            check(capsys, [name, *ARGUMENTS[name], option, value], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARGUMENTS)
def test_all_values(capsys, pictures, monkeypatch, name):
    for option in options(name):
        for value in VALUES:
            check(capsys, [name, *ARGUMENTS[name], option, value], monkeypatch)


@pytest.mark.cases(5)
@pytest.mark.parametrize("value", ["", "\ud800", "a\0b", "\x1b[31m\n", "x" * 5000, "ftp://x/"])
def test_names_of_files(capsys, pictures, monkeypatch, value):
    for words in (["upscale", value, "-o", "o.png"], ["score", "a.png", value]):
        if value not in ("..", "/", "~"):
            check(capsys, words, monkeypatch)


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    ("words", "value", "inputs"),
    [
        (["--deinterlace", "a.mkv"], "frame", ["a.mkv"]),
        (["--deinterlace", "field", "a.mkv"], "field", ["a.mkv"]),
        (["a.mkv", "--deinterlace"], "frame", ["a.mkv"]),
        (["--deinterlace", "--ivtc", "a.mkv"], "frame", ["a.mkv"]),
        (["--deinterlace=field", "a.mkv"], "field", ["a.mkv"]),
        (["a.mkv", "--", "--deinterlace"], None, ["a.mkv", "--deinterlace"]),
    ],
)
def test_an_option_whose_value_may_be_left_out(words, value, inputs):
    """Older releases had the flag alone: the name of a file behind it is no value."""
    from snellen.cli.upscale import upscale

    found = upscale.make_context("upscale", ["-o", "b.mkv", *words]).params
    assert found["deinterlace"] == value
    assert [str(one) for one in found["inputs"]] == inputs


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--fit", "wrong"], "'wrong' is not one of 'pad', 'crop', 'stretch'"),
        (["--fit"], "Option '--fit' requires an argument; snellen upscale --help"),
    ],
)
def test_a_wrong_value_is_named(capsys, words, said):
    """It is not taken for one that was left out, which only some options may be."""
    assert run("upscale", "a.mkv", *words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("upscale", ["--scale", "0"]), ("upscale", ["--crf", "99"]),
        ("score", ["--data-range", "0"]), ("score", ["--hi-scale", "-1"]),
        ("upscale", ["--scale", "1e+300"]),
    ],
)  # fmt: skip
def test_a_number_is_told_as_it_was_typed(capsys, pictures, command, words):
    assert run(command, "a.png", *(["a.png"] if command == "score" else []), *words) == 2
    assert f"{words[0]} {words[1]};" in capsys.readouterr().err


def outputs(command=cli, words=()):
    """Each command, and its options that name an output."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from outputs(command.get_command(context, name), (*words, name))
        return
    for one in command.params:
        if isinstance(one.type, Written) and not one.multiple:
            yield words, one.opts


def test_which_options_name_an_output():
    wanted = {
        "upscale": "--deblur-psf-out --log --output --plan --report",
        "deblur": "--log --output --plan --psf-out --report",
        "score": "--csv --log --map-out --report",
        "compare": "--log --output",
        "train": "--output",
        "bench quality": "--output --page",
    }
    found = {}
    for words, options in outputs():
        found.setdefault(" ".join(words), []).append(options[-1])
    assert {name: " ".join(sorted(found[name])) for name in wanted} == wanted


@pytest.mark.parametrize(("words", "options"), [(a, b) for a, b in outputs()])
def test_an_output_that_is_named_twice_is_refused(capsys, tmp_path, monkeypatch, words, options):
    """One of them would not be made; whatever spelling it has, and wherever it stands."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.full((34, 35), 9, np.uint8)).save("a.png")
    assert run(*words, options[0], "x.png", "a.png", "a.png", f"{options[-1]}=y.png") == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"error: got {options[0]} 2 times; expected it once")
    assert names(tmp_path) == ["a.png"]


def test_what_reads_may_be_given_again_and_help_helps(capsys, pictures):
    """The last of options that make nothing counts, as of an alias and what follows it."""
    words = ["upscale", "a.png", "--method", "cnn-fast", "--scale", "3", "--scale", "2"]
    assert run(*words, "-o", "b2.png") == 0
    with Image.open("b2.png") as made:
        assert made.size == (70, 68)
    assert run(*words, "-o", "b3.png", "-o", "b4.png", "--help") == 0
    assert "Inputs and outputs" in capsys.readouterr().out
