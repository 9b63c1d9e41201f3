"""Images without a name that says so: from pipes and standard input, and files without a suffix."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from snellen import deblur_file, upscale_file
from snellen.errors import InputError
from snellen.jobs.inputs.sequence import makes_film
from snellen.jobs.runs import stills

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@pytest.mark.parametrize(
    ("source", "target", "film"),
    [
        ("-", "a.png", False), ("-", "a.mkv", True), ("-", "a.webp", True), ("-", "f%d.png", True),
        ("-", "-", True), ("pipe", "a.tif", False), ("film.mkv", "a.png", True),
        ("a.png", "b.png", False), ("a.gif", "b.png", False),
    ],
)  # fmt: skip
def test_the_output_says_what_it_is(source, target, film):
    assert makes_film(Path(source), Path(target), None) == film


@pytest.mark.slow
def test_a_pipe_and_a_file_without_suffix(saved, picture, tmp_path, small_model):
    image = saved("a.png", picture())
    how = {"model": small_model, "device": "cpu"}
    upscale_file(image, tmp_path / "wanted.png", **how)
    wanted = (tmp_path / "wanted.png").read_bytes()
    plain, pipe = tmp_path / "plain", tmp_path / "pipe"
    plain.write_bytes(image.read_bytes())
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(image.read_bytes()))
    writer.start()
    for source in (plain, pipe):
        out = tmp_path / f"{source.name}.png"
        upscale_file(source, out, **how)
        assert out.read_bytes() == wanted
    writer.join()


def test_standard_input(saved, picture, tmp_path, small_model, monkeypatch):
    monkeypatch.setattr(stills, "STANDARD_INPUT", saved("a.png", picture()))
    upscale_file("-", tmp_path / "x2.png", model=small_model, device="cpu")
    deblur_file("-", tmp_path / "sharp.png", prior=None, psf_size=3, iterations=1, device="cpu")
    assert (tmp_path / "x2.png").exists() and (tmp_path / "sharp.png").exists()
    monkeypatch.setattr(stills, "STANDARD_INPUT", Path(os.devnull))
    with pytest.raises(InputError, match="not an image that can be read"):
        upscale_file("-", tmp_path / "no.png", device="cpu")
