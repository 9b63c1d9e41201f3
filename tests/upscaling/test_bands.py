"""Large pictures are enlarged in bands: the result is that in one piece, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import upscale, upscale_file
from snellen.aplus.cuda.features import TILE
from snellen.aplus.cuda.filters import side
from snellen.jobs.events import Silent
from snellen.stills.still import Still, read, write
from snellen.upscaling import bands as module
from snellen.upscaling.bands import LEAST, bands
from snellen.upscaling.methods import METHODS
from support.cnn.reference import gentle


@pytest.fixture
def narrow(monkeypatch):
    """Bands of the fewest rows."""

    def use():
        monkeypatch.setattr(module, "PIXELS", 1)
        monkeypatch.setattr(module, "ON_GPU", 1)

    return use


@pytest.mark.parametrize("rows", [8, 18])
@pytest.mark.parametrize("height", [1, 8 * LEAST, 8 * LEAST + 1, 500, 1000])
def test_every_row_is_there_once(narrow, height, rows):
    assert len(list(bands(height, 30, 2, rows))) == 1
    narrow()
    found = list(bands(height, 30, 2, rows))
    assert [band.first for band in found] == [0, *(band.last for band in found[:-1])]
    assert found[-1].last == height
    for band in found:
        assert 0 <= band.top <= band.first < band.last <= band.bottom <= height
        assert band.first - band.top >= rows or band.top == 0
        assert band.bottom - band.last >= rows or band.bottom == height
    assert len({band.bottom - band.top for band in found}) == 1


def test_a_gpu_takes_large_pictures_whole():
    assert len(list(bands(2160, 3840, 2, 24))) == 3
    assert len(list(bands(2160, 3840, 4, 24, 32, on_gpu=True))) == 1
    panorama = list(bands(3000, 12000, 4, 24, 32, on_gpu=True))
    assert sum(band.bottom - band.top for band in panorama) < 1.2 * 3000


@pytest.mark.parametrize("window", [1, 3, 5, 33])
@pytest.mark.parametrize("height", [700, 992, 1000, 1023])
def test_bands_see_whole_tiles_of_the_gpu(narrow, random_model, height, window):
    """Those of all features that they need, with what these are made from; else sums differ."""
    halo, model = window // 2, random_model(2, window, anchors=1, dims=1)
    method = METHODS["aplus"]
    size = method.tile()
    assert size == TILE and METHODS["cnn"].tile() == 1
    narrow()
    found = list(bands(height, 30, 2, method.reach(model), size))
    assert len(found) > 1
    assert [band.first for band in found] == [0, *(band.last for band in found[:-1])]
    assert found[-1].last == height and len({band.bottom - band.top for band in found}) == 1
    for band in found:
        begin = max(0, band.first - halo) // size * size
        end = -(-min(height, band.last + halo) // size) * size
        assert band.top % size == 0 and 0 <= band.top <= max(0, begin - side(window) // 2)
        assert min(height, end + side(window) // 2) <= band.bottom <= height


@pytest.mark.parametrize(
    ("scale", "shape", "dtype"),
    [
        (2, (150, 21, 3), np.uint8),
        pytest.param(3, (150, 21), np.uint16, marks=pytest.mark.slow),
        pytest.param(4, (2, 150, 21, 4), np.float32, marks=pytest.mark.slow),
    ],
)
def test_in_bands_as_in_one_piece(random, narrow, scale, shape, dtype, backend):
    if backend == "cuda":  # whose bands are of more rows
        shape = tuple(700 if n == 150 else n for n in shape)
    image = random.random(shape)
    image = (image * (1 if dtype == np.float32 else np.iinfo(dtype).max)).astype(dtype)
    whole = upscale(image, scale, device=backend)
    narrow()
    assert (upscale(image, scale, device=backend) == whole).all()


@pytest.mark.slow
@pytest.mark.parametrize("layers", [2, pytest.param(16, marks=pytest.mark.slow)])
def test_a_compact_network_in_bands(random, narrow, layers, backend):
    image = random.integers(0, 256, (150, 21, 3), np.uint8)
    model = gentle(random, 2, layers, 4)
    whole = upscale(image, 2, model, device=backend)
    narrow()
    assert (upscale(image, 2, model, device=backend) == whole).all()


@pytest.mark.slow
def test_bands_of_a_file_are_progress(random, narrow, tmp_path, small_model):
    class Heard(Silent):
        def progress(self, progress):
            found.append((progress.done, progress.total, progress.unit))

    found = []
    write(tmp_path / "a.png", Still(random.integers(0, 256, (150, 20), np.uint8)))
    upscale_file(tmp_path / "a.png", tmp_path / "b.png", model=small_model, device="cpu",
                 events=Heard())  # fmt: skip
    assert not found
    narrow()
    upscale_file(tmp_path / "a.png", tmp_path / "c.png", model=small_model, device="cpu",
                 events=Heard())  # fmt: skip
    assert found == [(n, 150, "row") for n in (38, 76, 114, 150)]
    assert (read(tmp_path / "b.png").pixels == read(tmp_path / "c.png").pixels).all()
