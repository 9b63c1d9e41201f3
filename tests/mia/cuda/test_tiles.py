"""Tiles on the GPU: cut, blended and in flight, with the bytes of NumPy and of one by one."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

from snellen.engine import streams as all_streams
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.frames.luma import Codes, samples
from snellen.frames.quantise import quantise
from snellen.gpu import device as devices
from snellen.mia.cuda import tiles as cuda_tiles
from snellen.mia.cuda.in_flight import How
from snellen.mia.cuda.tiled import TilesInFlight
from snellen.mia.tiled import TiledDeblurrer
from snellen.mia.tiles import Tiles
from support.fake_cupy import Array, FakeCupy
from support.mia.plain import deblur

GRIDS = [((50, 61), 20, 9), ((33, 97), 64, 31), ((97, 40), 32, 31), ((20, 20), 3, 1)]
"""Rows and columns of a picture, side of its tiles, side of the PSF."""


@pytest.mark.parametrize("sizes", [*GRIDS, ((97, 65), 64, 31), ((64, 64), 64, 31)])
def test_the_first_tile_that_reaches_a_sample(sizes):
    """No GPU is needed: from there on all tiles that begin before the sample hold it."""
    tiles = Tiles(*sizes)
    for size, side, (firsts, _) in zip(tiles.picture, tiles.shape, tiles.lines, strict=True):
        found = cuda_tiles.reaching(size, side, firsts)
        for at in range(size):
            wanted = [i for i, first in enumerate(firsts) if first <= at < first + side]
            until = [i for i in range(found[at], len(firsts)) if firsts[i] <= at]
            assert until == wanted


SHAPE, TILES, SIDE = (4, 6), (3, 2, 2, 4), 3


class Cutter:
    """Takes the same corner three times; a picture is the sum of its tiles."""

    def __init__(self, fake):
        self.fake = fake

    def cut(self, planes, out, values):
        self.fake.kernel(lambda a: np.stack([a[0, :, :2, :4]] * 3), [planes], out)
        self.fake.kernel(lambda a: np.full(4, a.flat[0]), [planes], values[0])
        self.fake.kernel(lambda a: [1, 0, 1, 1] if a.any() else [0, 0, 0, 0], [planes], values[1])

    def blend(self, tiles, out, values):
        self.fake.kernel(lambda a: np.full((1, *SHAPE), a.sum(0).max()), [tiles], out)


class Frames:
    """Each call makes temporary arrays."""

    def __init__(self, fake):
        from cupy import empty

        self.fake, self.empty = fake, empty

    def place(self, tiles, peak):
        assert peak == 1
        y, f = self.empty(TILES, np.float32), self.empty((3, 2, 4), np.float32)
        self.fake.kernel(lambda a: a, [tiles], y)
        self.fake.kernel(lambda a: a.mean(1), [tiles], f)
        return y, f

    def finish(self, f, h, recentre, out):
        assert recentre
        self.fake.kernel(
            lambda f, h: np.concatenate([f.ravel(), h.ravel(), [np.isnan(f).any()]]), [f, h], out
        )
        pictures = self.empty((3, 2, 4), np.float32)
        self.fake.kernel(lambda a: a[:24].reshape(3, 2, 4), [out], pictures)
        return pictures, None


class Backend:
    """Adds 1 in each iteration."""

    def __init__(self, fake):
        from cupy import empty

        self.fake, self.empty = fake, empty
        self.f, self.psf = empty((3, 2, 4), np.float32), empty((3, 2, SIDE, SIDE), np.float32)

    def start(self, y, f, h):
        self.fake.kernel(lambda a: a, [f], self.f)
        self.fake.kernel(lambda a: a, [h], self.psf)

    def iterate(self, count):
        self.fake.kernel(lambda a: a + count, [self.f], self.f)

    estimate = property(lambda self: self.f)

    def fit_on_gpu(self, psf):
        out = self.empty((3,), np.float64)
        self.fake.kernel(lambda a: a.sum((1, 2)), [self.f], out)
        return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_pictures_in_flight(monkeypatch, seed, dtype):
    """On streams that run late and in any order: all that belongs to a picture, and no other."""
    monkeypatch.setattr(all_streams, "_unused", {})
    fake = FakeCupy(seed).install(monkeypatch)
    monkeypatch.setattr(Array, "__getitem__", lambda self, key: self.end(key.start), raising=False)
    from cupy import empty

    start = empty((3, 2, SIDE, SIDE), np.float32)
    fake.kernel(lambda: np.full((3, 2, SIDE, SIDE), 6), [], start)
    codes = (Codes(dtype, 0, 1, 255),) * 2 if dtype == "uint8" else None
    flights = TilesInFlight(
        "cuda:0", SHAPE, TILES, SIDE, Cutter(fake), codes, (Frames(fake), Backend(fake)),
        How(start, 5, True), 3,
    )  # fmt: skip
    pictures = [np.full((2, *SHAPE), value, dtype) for value in (1, 0, 7, 3, 9, 2, 4)]
    pending, found = [], []
    for picture in pictures:
        given = picture.copy()
        pending.append(flights.submit(given))
        given[:] = 0
        if len(pending) == flights.slots:
            found.append(pending.pop(0)())
    found += [result() for result in pending]
    for (plane, psfs, fit, flat), picture in zip(found, pictures, strict=True):
        value = picture.flat[0]
        assert plane.shape == SHAPE and plane.dtype == dtype and (plane == 3 * (value + 5)).all()
        assert psfs.shape == (3, 2, SIDE, SIDE) and (psfs == 6).all() and psfs.base is None
        assert (fit == 8 * (value + 5)).all()
        assert flat.tolist() == ([False, True, False] if value else [True] * 3)
    if dtype == "float32":
        wrong = flights.submit(np.full((2, *SHAPE), np.nan, dtype))
        with pytest.raises(InputError, match="NaN or infinity"):
            wrong()
    flights.close()
    assert not fake.faults and not any(fake.pooled)


@pytest.mark.gpu
@pytest.mark.parametrize("rows", [65535, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", GRIDS)
def test_the_bytes_of_numpy(cuda, random, monkeypatch, sizes, dtype, rows):
    """Of pictures, of frames, and of planes that are views."""
    monkeypatch.setattr(devices, "GRID_ROWS", rows)
    tiles = Tiles(*sizes)
    planes = random.random((2, 3, *sizes[0])).astype(dtype)
    cuda.full(1 << 22, cuda.nan)  # given back to the pool at once
    found = tiles.split(cuda.asarray(planes))
    wanted = tiles.split(planes)
    assert found.dtype == dtype and found.get().tobytes() == wanted.tobytes()
    turned = cuda.asarray(planes.swapaxes(-1, -2).copy()).swapaxes(-1, -2)
    assert tiles.split(turned).get().tobytes() == wanted.tobytes()
    parts = wanted[:, 1] - dtype_of(dtype)(0.1)  # negative ones, too
    cuda.full(1 << 22, cuda.nan)
    merged = tiles.merge(cuda.asarray(parts))
    assert merged.dtype == dtype and merged.get().tobytes() == tiles.merge(parts).tobytes()


def dtype_of(name):
    return np.dtype(name).type


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 10])
@pytest.mark.parametrize("sizes", GRIDS)
def test_code_values_up_and_down(cuda, random, sizes, bits):
    """As by `samples`, `split`, `merge` and `quantise`; tiles and pictures of one value."""
    tiles, format = Tiles(*sizes), Format(8, 8, bits)
    codes, count = Codes.of(format), prod(tiles.grid)
    cutter = tiles.on_gpu("float32", codes, codes)
    raw = random.integers(0, 1 << bits, (3, 2, *sizes[0])).astype(codes.dtype)
    raw[0, :, : tiles.shape[0], : tiles.shape[1]] = 77
    raw[1] = 99
    floats = np.stack([[samples(frame, format) for frame in frames] for frames in raw])
    cut = cuda.full((3 * count, 2, *tiles.shape), cuda.nan, np.float32)
    values = cuda.full(3 * count + 3, cuda.nan, np.float32), cuda.full(3 * count + 3, 7, np.int32)
    cutter.cut(cuda.asarray(raw), cut, values)
    wanted = tiles.split(floats)
    assert cut.get().tobytes() == wanted.tobytes()
    flat = wanted.min((1, 2, 3)) == wanted.max((1, 2, 3))
    assert flat[0] and flat[count : 2 * count].all()
    firsts, differs = (one.get() for one in values)
    assert (differs[: 3 * count] == ~flat).all()
    assert (firsts[: 3 * count] == wanted[:, 0, 0, 0]).all()
    whole = floats.min((1, 2, 3)) == floats.max((1, 2, 3))
    assert (differs[3 * count :] == ~whole).all()
    sharp = (random.random((3 * count, *tiles.shape)) * 1.2 - 0.1).astype(np.float32)
    out = cuda.full((3, *sizes[0]), 77, codes.dtype)
    cutter.blend(cuda.asarray(sharp), out, values)
    clipped = sharp.clip(0)
    clipped[flat] = wanted[flat, :1, 0, 0, None]
    merged = np.where(whole[:, None, None], floats[:, 0], tiles.merge(clipped))
    for plane, found in zip(merged, out.get(), strict=True):
        coded = np.empty(sizes[0], codes.dtype)
        quantise(plane, (codes.white - codes.black, codes.black), bits, coded)
        assert found.tobytes() == coded.tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("edges", ["extend", "taper", "circular"])
def test_in_flight_as_one_by_one(cuda, random, edges, frames, given):
    """Floats: the bytes of `snellen.deblur`, PSFs and fit too; pictures of one value among them."""
    shape, tile = (90, 150), 64
    how = {"psf_size": 9, "iterations": 11, "edges": edges, "device": "cuda:0"}
    if given:
        how["psf"] = np.ones((9, 9))
    lead = (frames,) if frames > 1 else ()
    pictures = [random.random((*lead, *shape)).astype(np.float32) for _ in range(7)]
    pictures[2][..., :64, :64] = 0.3
    pictures[4][...] = 0.1
    wanted = [deblur(one, **how, tile=tile, multiframe=frames > 1) for one in pictures]
    tiled = TiledDeblurrer(how, tile, frames)
    assert not tiled.prepare(shape) and tiled.slots == 4
    pending, found = [], []
    for picture in pictures:
        pending.append(tiled.submit(picture))
        if len(pending) == tiled.slots:
            found.append(pending.pop(0)())
    found += [result() for result in pending]
    tiled.close()
    for one, other in zip(found, wanted, strict=True):
        assert one.image.tobytes() == other.image.tobytes()
        assert one.psf.shape == other.psf.shape and one.psf.tobytes() == other.psf.tobytes()
        assert one.fit == other.fit and one.iterations == other.iterations


@pytest.mark.gpu
@pytest.mark.parametrize("bits", [8, 10])
def test_code_values_in_flight(cuda, random, bits):
    """As floats that `samples` and `quantise` convert; a picture larger than memory, too."""
    shape, format = (90, 150), Format(150, 90, bits)
    codes = Codes.of(format)
    how = {"psf_size": 9, "iterations": 7, "device": "cuda:0"}
    pictures = [random.integers(0, 1 << bits, shape).astype(codes.dtype) for _ in range(5)]
    tiled = TiledDeblurrer(how, 64)
    assert tiled.prepare(shape, codes, codes)
    found = [tiled.submit(picture)().image for picture in pictures]
    tiled.close()
    for one, picture in zip(found, pictures, strict=True):
        image = deblur(samples(picture, format), **how, tile=64).image
        wanted = np.empty(shape, codes.dtype)
        quantise(image, (codes.white - codes.black, codes.black), bits, wanted)
        assert one.tobytes() == wanted.tobytes()


@pytest.mark.gpu
@pytest.mark.parametrize("how", [{"tolerance": 1e-3}, {"dtype": "float64"}, {"psf_size": 141}])
def test_what_waits_for_the_host(cuda, random, monkeypatch, how):
    """Tolerance, float64, periods beyond 256, too little memory: one picture after another."""
    shape = (150, 160)
    how = {"psf_size": 9, "iterations": 20, "device": "cuda:0", **how}
    picture = random.random(shape).astype(np.float32)
    tile = 150 if how["psf_size"] > 9 else 64
    tiled = TiledDeblurrer(how, tile)
    codes = Codes("uint8", 16, 235, 255)
    assert not tiled.prepare(shape, codes, codes) and tiled.slots == 1
    found, wanted = tiled.submit(picture)(), deblur(picture, **how, tile=tile)
    assert found.image.tobytes() == wanted.image.tobytes() and found.fit == wanted.fit
    assert found.psf.tobytes() == wanted.psf.tobytes() and found.iterations == wanted.iterations
    assert replace(wanted, history=()).history == ()
    tiled.close()
