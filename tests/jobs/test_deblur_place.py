"""What commands and functions for files restore stays where it is: images, films, bursts, tiles."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mia.centre import centroid
from snellen.stills.still import read
from support.cli import run
from support.jobs import planes, write_y4m
from support.mia.place import BLURS, LOPSIDED, distance, given
from support.mia.plain import deblur_file

HOW = {"psf_size": 15, "psf_start": LOPSIDED, "iterations": 10, "device": "cpu"}
WITHIN = 0.06
"""Pixels of the sharp picture: a tenth of the greatest fraction may stay, and there is noise."""


def apart(sharp, pixels):
    """How far pixels (rows, columns, …) are from the sharp picture, at most."""
    return np.abs(distance(sharp, pixels.reshape(*sharp.shape, -1)[..., 0])).max()


@pytest.mark.parametrize(
    ("name", "channels", "dtype", "white"),
    [
        ("grey.png", 1, np.uint8, 255),
        ("colour.tif", 3, np.uint16, 65535),
        ("colour.webp", 3, np.uint8, 255),
        ("grey.tif", 1, np.float32, 1),
    ],
)
@pytest.mark.parametrize("tile", [None, 64])
def test_images(random, saved, tmp_path, name, channels, dtype, white, tile):
    picture, sharp = given(random, BLURS["Gauss"], (96, 110))
    pixels = np.repeat((picture / 255 * white).astype(dtype)[..., None], channels, -1)
    source = saved(f"in-{name}", pixels if channels > 1 else pixels[..., 0])
    out, psf = tmp_path / name, tmp_path / "psf.npy"
    for recentre in (True, "whole"):
        deblur_file(source, out, **HOW, tile=tile, recentre=recentre, psf_out=psf, overwrite=True)
        assert (apart(sharp, read(out).pixels) < WITHIN) == (recentre is True)
        off = np.abs([centroid(one) for one in np.load(psf).reshape(-1, 15, 15)])
        assert (off.max() < WITHIN) == (recentre is True)


@pytest.mark.parametrize("more", [{}, {"window": 2}, {"tile": 64}, {"warm": True}], ids=str)
def test_films(random, tmp_path, more):
    """Luma stays where chroma is."""
    picture, sharp = given(random, BLURS["Gauss"], (96, 110))
    luma = np.rint(16 + picture * (219 / 255)).astype(np.uint8)
    chroma = np.full((48, 55), 128, np.uint8)
    source = write_y4m(tmp_path / "in.y4m", [[luma, chroma, chroma]] * 2)
    psf = tmp_path / "psf.npy"
    deblur_file(source, tmp_path / "out.y4m", **HOW, psf_out=psf, **more)
    found = planes(tmp_path / "out.y4m")
    assert len(found) == 2 and max(apart(sharp, one[0]) for one in found) < WITHIN
    assert np.abs([centroid(one) for one in np.load(psf).reshape(-1, 15, 15)]).max() < WITHIN


@pytest.mark.parametrize("burst", [False, True])
def test_the_command(random, saved, tmp_path, burst):
    picture, sharp = given(random, BLURS["Gauss"], (96, 110))
    sources = [saved(f"{number}.png", picture) for number in range(1 + burst)]
    np.save(tmp_path / "start.npy", LOPSIDED)
    out, psf = tmp_path / "out.png", tmp_path / "psf.npy"
    typed = ["deblur", *map(str, sources), "-o", str(out), "--psf-out", str(psf)]
    typed += ["--psf-start", str(tmp_path / "start.npy"), "--psf-size", "15"]
    typed += ["--iterations", "10", "--device", "cpu", "--prior", "none", *["--burst"] * burst]
    assert run(*typed) == 0
    assert apart(sharp, read(out).pixels) < WITHIN
    assert np.abs(centroid(np.load(psf))).max() < WITHIN
