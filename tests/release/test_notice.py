"""NOTICE names every author whose pictures a model of the package is learnt from."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import notice
from snellen.upscaling import shipped
from support.cnn import reference

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_every_author_is_named():
    text = notice.PATH.read_text(encoding="utf-8")
    models = shipped.files()
    lacking = notice.missing(text, models)
    assert not lacking, f"run python -m benchmarks.notice: {lacking[:5]}"
    # What the generator writes, but for the licences' texts, which come from a folder.
    assert text.startswith(notice.text(models))


def test_it_goes_with_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "NOTICE" in project["license-files"]


def test_what_is_written_of_a_model(random, random_model, tmp_path):
    ana, bob = "Ana (MIT): github.com/ana/zoo@1", "Bob (CC-BY-4.0): github.com/bob/sea@2"
    network = replace(reference.model(random, 2), about={"attribution": f"{ana}\n{bob}"})
    models = {"cnn-fast-film-x2": tmp_path / "network", "t91-x2": tmp_path / "anchors"}
    network.save(models["cnn-fast-film-x2"])
    random_model(2).save(models["t91-x2"])
    licences = [tmp_path / f"{name}__LICENSE.txt" for name in ("ana__zoo", "bob__sea")]
    for path in licences:
        path.write_text(f"Copyright of {path.name[:3]}")
    text = notice.text(models, licences)
    assert not notice.missing(text, models)
    assert "t91-x2:\nlearnt from T91" in text and "Copyright of ana" in text
    assert "Copyright of bob" not in text  # whose licence asks for a name only
    shorter = text.replace(bob, "")
    assert notice.missing(shorter, models) == [bob]
    assert notice.missing(shorter, {"t91-x22": models["t91-x2"]}) == ["t91-x22"]
