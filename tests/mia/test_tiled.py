"""TiledDeblurrer: pictures of one shape tile by tile, as `deblur` restores each."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import deblur
from snellen.errors import InputError
from snellen.frames.luma import Codes
from snellen.mia.cpu import Backend
from snellen.mia.tiled import TiledDeblurrer

HOW = {"psf_size": 5, "iterations": 3, "device": "cpu"}
SHAPE = (30, 44)


@pytest.mark.parametrize(
    ("frames", "more"),
    [
        (1, {}),
        (3, {}),
        (1, {"psf": np.ones((5, 5))}),
        (1, {"psf": np.random.default_rng(1).random((2, 3, 5, 5))}),
        (1, {"tolerance": 0.05, "iterations": 40}),
        (1, {"dtype": "float64", "edges": "taper", "recentre": False, "start": 1.0}),
    ],
    ids=["plain", "frames", "psf", "a psf for each tile", "tolerance", "others"],
)
def test_the_bytes_of_deblur(random, frames, more):
    """Picture after picture; one has a tile of one value, one is of one value."""
    how, lead = {**HOW, **more}, (frames,) if frames > 1 else ()
    pictures = [random.random((*lead, *SHAPE)).astype(np.float32) for _ in range(3)]
    pictures[1][..., :20, :20] = 0.3
    pictures[2][...] = 0.1
    tiled = TiledDeblurrer(how, 20, frames)
    assert tiled.prepare(SHAPE) is False and tiled.slots == 1 and tiled.device == "cpu"
    for picture in pictures:
        found = tiled.submit(picture)()
        wanted = deblur(picture, **how, tile=20, multiframe=frames > 1)
        assert found.image.tobytes() == wanted.image.tobytes()
        assert found.psf.shape == wanted.psf.shape and found.psf.tobytes() == wanted.psf.tobytes()
        assert found.fit == wanted.fit and found.iterations == wanted.iterations
    tiled.close()


def test_all_tiles_are_one_batch_and_nothing_checks_the_progress(random, monkeypatch):
    made, fits = [], []
    begin, fit = Backend.__init__, Backend.fit

    def counted(self, definition, period, frames, batch, *more):
        made.append(batch)
        begin(self, definition, period, frames, batch, *more)

    monkeypatch.setattr(Backend, "__init__", counted)
    monkeypatch.setattr(Backend, "fit", lambda self: fits.append(1) or fit(self))
    tiled = TiledDeblurrer({**HOW, "iterations": 30}, 20)
    codes = Codes("uint8", 16, 235, 255)
    assert tiled.prepare(SHAPE, codes, codes) is False  # floats, as they come here
    tiled.submit(random.random(SHAPE).astype(np.float32))()
    assert made == [6] and len(fits) == 1
    tiled.close()


def test_refusals(random):
    with pytest.raises(InputError, match="tile=4 with a PSF of 5×5"):
        TiledDeblurrer(HOW, 4).prepare(SHAPE)
    with pytest.raises(InputError, match="got a PSF of 5×5 for a picture of 4×40"):
        TiledDeblurrer(HOW, 20).prepare((40, 4))
    with pytest.raises(
        InputError, match=r"psf has shape \(3, 3, 5, 5\); expected .*\(2, 3, 5, 5\)"
    ):
        TiledDeblurrer({**HOW, "psf": np.ones((3, 3, 5, 5))}, 20).prepare(SHAPE)
    tiled = TiledDeblurrer(HOW, 20)
    tiled.prepare(SHAPE)
    with pytest.raises(InputError, match="negative samples"):
        tiled.submit(np.full(SHAPE, -1, np.float32))
    tiled.close()
    with pytest.raises(InputError, match="not prepared"):
        tiled.submit(np.zeros(SHAPE, np.float32))
