"""What the command says of models, and what it offers where there are several."""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

from snellen.cli.upscale import _line
from snellen.jobs import UpscaleResult
from support.cli import run as snellen
from support.models import only_2014


@pytest.mark.parametrize(
    ("names", "offered"),
    [(["t91-x2"], {}),
     (["aplus-film-x2", "cnn-fine-soft-x3"],
      {"--method": ["auto", "aplus", "cnn-fine"], "--source": ["auto", "film", "soft"]})],
)  # fmt: skip
def test_several_models_are_offered(names, offered):
    """By a package that has these."""
    code = f"""
from pathlib import Path
from snellen.upscaling import shipped
shipped.files = lambda: dict.fromkeys({names}, Path("a.safetensors"))
from snellen.cli.upscale import upscale
given = {{one.opts[0]: one for one in upscale.params}}
found = {{name: given[name].type.choices for name in ("--method", "--source") if name in given}}
print({{name: list(words) for name, words in found.items()}})
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ast.literal_eval(done.stdout) == offered


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
