"""TiledDeblurrer: pictures of one shape tile by tile, as `deblur` restores each."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.luma import Codes
from snellen.mia import tiled as tiled_module
from snellen.mia.cpu import Backend
from snellen.mia.tiled import TiledDeblurrer
from snellen.mia.tiles import Tiles
from support.mia.plain import deblur

HOW = {"psf_size": 5, "iterations": 3, "device": "cpu"}
SHAPE = (30, 44)


@pytest.mark.cases(4)
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


def test_lanes_take_turns(random, monkeypatch):
    """Two pictures are restored side by side where memory suffices; each lane has its parts."""
    made, closed = [], []

    class Lane:
        def __init__(self, device, picture, tiles, side, cutter, codes, parts, *rest):
            assert (picture, tiles, side, codes) == (SHAPE, (6, 1, 20, 20), 5, None)
            self.parts, self.slots, self.given = parts, rest[-1], []
            made.append(self)

        def submit(self, planes):
            self.given.append(planes[0, 0])
            flat = np.arange(6) == 2
            return lambda: (planes, np.ones((6, 1, 5, 5), np.float32), np.full(6, 2.0), flat)

        def close(self):
            closed.append(self)

    module = ModuleType("snellen.mia.cuda.tiled")
    module.TilesInFlight = Lane
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(tiled_module, "lasting", nullcontext)
    monkeypatch.setattr(Tiles, "on_gpu", lambda self, *how: self)
    for memory, lanes in ((1e9, 2), (6 * 32 * 32, 1), (6 * 32 * 32 - 1, 0)):
        made.clear()
        monkeypatch.setattr(
            tiled_module.batches, "available", lambda device, most=memory: int(most)
        )
        tiled = TiledDeblurrer({**HOW, "device": "cpu"}, 20)
        monkeypatch.setattr(tiled, "device", "cuda:0")
        monkeypatch.setattr(tiled_module.arrays, "working", lambda *_: nullcontext())
        assert tiled.prepare(SHAPE) is False and len(made) == lanes
        assert tiled.slots == (2 * lanes or 1)
        assert len({id(part) for lane in made for part in lane.parts}) == 2 * lanes
        if lanes:
            pictures = [np.full(SHAPE, i, np.float32) for i in range(4)]
            for picture in pictures:
                found = tiled.submit(picture)()
                assert found.image is picture and found.fit == 2 * 5 / 6
                assert found.psf.shape == (2, 3, 5, 5) and found.psf[0, 2].max() < 1
            assert [lane.given for lane in made] == [
                list(range(4))[number::lanes] for number in range(lanes)
            ]
        closed.clear()
        tiled.close()
        assert closed == made
