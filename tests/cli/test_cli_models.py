"""What the command says of models, and what it offers where there are several."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from snellen.cli.upscale import _line, choices
from snellen.jobs import UpscaleResult
from support.cli import run as snellen
from support.models import add_models, only_2014


def test_one_model_leaves_no_choice(monkeypatch):
    only_2014(monkeypatch)
    assert choices() == []


def test_several_models_are_offered(monkeypatch, random_model, tmp_path):
    names = ("aplus-film-x2", "cnn-fine-soft-x3")
    add_models(monkeypatch, tmp_path, {name: random_model(int(name[-1])) for name in names})

    def command(**options):
        click.echo(json.dumps(options))

    for option in choices():
        command = option(command)
    command = click.command()(command)
    given = {param.opts[0]: param.type.choices for param in command.params}
    assert {name: list(words) for name, words in given.items()} == {
        "--method": ["auto", "aplus", "cnn-fine"], "--source": ["auto", "clean", "film", "soft"],
    }  # fmt: skip
    words = ["--method", "cnn-fine", "--source", "soft"]
    done = CliRunner().invoke(command, words)
    assert json.loads(done.output) == {"method": "cnn-fine", "source_kind": "soft"}
    done = CliRunner().invoke(command, [])
    assert json.loads(done.output) == {"method": None, "source_kind": None}


@pytest.mark.slow
def test_the_model_is_named(clip, tmp_path, small_model, capsys, monkeypatch):
    only_2014(monkeypatch)
    goal = tmp_path / "large.mkv"
    assert snellen("upscale", clip, "-o", goal, "--device", "cpu") == 0
    assert capsys.readouterr().out.endswith(" s on cpu, A+ (t91-x2)\n")
    words = ["--overwrite", "--json", "--model", small_model]
    assert snellen("upscale", clip, "-o", goal, "--device", "cpu", *words) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["model"], found["method"]) == (str(small_model), "aplus")
    assert found["source_kind"] is None


@pytest.mark.parametrize(
    ("kind", "said"), [(None, ""), ("clean", ""), ("soft: blurred", " for soft: blurred")]
)
def test_why_it_was_chosen(tmp_path, kind, said):
    result = UpscaleResult(
        tmp_path / "a.png", tmp_path / "b.png", 8, 6, "cpu", model="cnn-fast-soft-x2",
        method="cnn", source_kind=kind,
    )  # fmt: skip
    text, facts = _line(result)
    assert text == f"{tmp_path / 'b.png'}: 8×6, compact network (cnn-fast-soft-x2){said}"
    assert facts["source_kind"] == kind and facts["model"] == "cnn-fast-soft-x2"


@pytest.mark.parametrize("method", ["esrgan", "cnn"])
def test_an_unknown_method_is_told_where_files_are_named(tmp_path, capsys, method):
    assert snellen("upscale", tmp_path / "a.png", "--method", method) == 2
    said = capsys.readouterr().err
    assert f"'{method}' is not one of 'auto', 'aplus', 'cnn-fast', 'cnn-fine'; a model of" in said
    assert "name that as --model" in said
