"""Jobs on damaged images: the result is written, and then the damage is an error."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from snellen import deblur_file, score_files, upscale_file
from snellen.errors import IncompleteError, InputError
from snellen.stills.still import header
from support.cli import run


@pytest.fixture
def pictures(tmp_path):
    """A whole JPEG and a damaged one of the same picture."""
    noise = np.random.default_rng(5).integers(0, 90, (96, 112, 3))
    image = Image.fromarray((noise + np.linspace(0, 160, 112)[None, :, None]).astype(np.uint8))
    whole, broken = tmp_path / "whole.jpg", tmp_path / "broken.jpg"
    image.save(whole, quality=95)
    data = bytearray(whole.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 300] = bytes(300)
    broken.write_bytes(data)
    return whole, broken


@pytest.mark.slow
def test_upscale(pictures, tmp_path):
    whole, broken = pictures
    assert upscale_file(whole, tmp_path / "a.png", device="cpu").error is None
    with pytest.raises(IncompleteError, match=r"broken\.jpg is damaged: libjpeg: ") as raised:
        upscale_file(broken, tmp_path / "b.png", device="cpu")
    assert raised.value.result.target == tmp_path / "b.png"
    assert header(tmp_path / "b.png").width == 224


@pytest.mark.slow
def test_command(pictures, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    assert run("upscale", *pictures, "-o", out, "--device", "cpu", "--json") == 3
    said = map(json.loads, "".join(capsys.readouterr()).splitlines())
    errors = [one for one in said if one["event"] == "error"]
    assert [one["exit_code"] for one in errors] == [3]
    assert {path.name for path in out.iterdir()} == {"whole.jpg", "broken.jpg"}


def test_deblur_of_a_burst(pictures, tmp_path):
    with pytest.raises(IncompleteError, match=r"broken\.jpg is damaged"):
        deblur_file(pictures, tmp_path / "b.png", psf_size=5, iterations=2,
                    device="cpu")  # fmt: skip
    assert (tmp_path / "b.png").exists()


def test_score(pictures, tmp_path):
    whole, broken = pictures
    with pytest.raises(IncompleteError, match=r"broken\.jpg is damaged.*was scored") as raised:
        score_files(whole, broken, device="cpu")
    assert len(raised.value.result.table.rows) == 1
    for folder, path in (("a", whole), ("b", broken)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.jpg").write_bytes(path.read_bytes())
    with pytest.raises(IncompleteError, match=r"b/x\.jpg is damaged"):
        score_files(tmp_path / "a", tmp_path / "b", device="cpu")


def test_a_damaged_psf_is_refused(pictures, tmp_path):
    whole, broken = pictures
    with pytest.raises(InputError, match="is damaged"):
        deblur_file(whole, tmp_path / "b.png", psf=broken, device="cpu")
    assert not (tmp_path / "b.png").exists()
