"""Frames on the GPU against those of the CPU: every rule of edges, frames, batches, shifts."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.gpu import device as devices
from snellen.mia import edges
from snellen.mia.cuda import frames as cuda_frames
from snellen.mia.frames import Frames
from support.mia import reference

SHAPES = [(1, 1, 1), (40, 53, 9), (53, 40, 31), (64, 32, 31), (300, 33, 9), (45, 45, 1)]
"""Rows, columns, side of the PSF."""
RULES = edges.EDGES
ROUNDING = {"float64": 1e-14, "float32": 1e-6}  # of sums of a few numbers of 0 … 1


def moved(dtype, side):
    """What a picture of 0 … 1, or its PSF, may differ by that is moved by a fraction of a pixel.

    The centre of mass is a sum in float64 of distances of up to side / 2, which rounds four times
    or so; a sample differs by as much where its neighbour is darker by 1. A move along two axes
    sums 16 products each, of weights whose sum is below 1.
    """
    return ROUNDING[dtype] + 2 * side * 2.0**-52


def both(rows, columns, side, rule, dtype, frames=1, batch=1):
    """Frames of the CPU, and of the GPU; the period."""
    period = edges.period((rows, columns), side, rule)
    how = (rows, columns), period, side, rule, dtype
    return Frames(*how), cuda_frames.Frames(*how, frames, batch), period


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 2, 3, 31, 32, 45])
def test_blends(random, rule, size):
    """No GPU is needed: a line that they make is what edges.place makes of it."""
    for side in (1, 3, 9, 31):
        period = edges.period((size, 40), side, rule)[0]
        line = random.random(size)
        blends = cuda_frames.blends(size, period, side, rule, "float64")
        found = blends["weight"] * line[blends["first"]]
        found += (1 - blends["weight"]) * line[blends["second"]]
        _, wanted = edges.place(line[None, :, None], (period, 1), side, rule)
        np.testing.assert_allclose(found, wanted[:, 0], atol=1e-15)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_place(cuda, random, monkeypatch, shape, rule, counts, dtype):
    frames, batch = counts
    for rows in (65535, 1):
        monkeypatch.setattr(devices, "GRID_ROWS", rows)
        here, there, _ = both(*shape, rule, dtype, frames, batch)
        for kind, peak in (
            ("uint8", 255.0),
            ("uint16", 1023.0),
            ("float16", 1.0),
            ("float32", 3.0),
            ("float64", 2.0),
        ):
            came = (random.random((batch, frames, *shape[:2])) * peak).astype(kind)
            for samples in (came, cuda.asarray(came)):
                wanted, found = here.place(came, peak), there.place(samples, peak)
                for one, other in zip(found, wanted, strict=True):
                    assert one.dtype == other.dtype == dtype
                    np.testing.assert_allclose(one.get(), other, rtol=0, atol=ROUNDING[dtype])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("shape", SHAPES)
def test_spread_and_finish(cuda, random, shape, rule, counts, dtype):
    """PSFs on the period and back, centred or not; pictures move with them."""
    frames, batch = counts
    here, there, period = both(*shape, rule, dtype, frames, batch)
    side = shape[2]
    psf = random.random((batch, frames, side, side)).astype(dtype)
    psf[:, :, side // 2 + 1 :] /= 100  # so that it is not in the middle
    psf[batch // 2, :, :, : side // 2] /= 100
    psf /= psf.sum((-2, -1), keepdims=True)
    h = there.spread(psf)
    assert (h.get() == here.spread(psf)).all()
    assert (there.spread(cuda.asarray(psf)) == h).all()
    f = random.random((batch, 2, *period)).astype(dtype)
    for recentre in (False, True, "whole"):
        wanted = here.finish(f[:, 0], h.get(), recentre)
        found = there.finish(cuda.asarray(f)[:, 0], h, recentre)
        fetched = there.fetched()()
        there.refuse(1.0)
        for one, copy, other in zip(found, fetched, wanted, strict=True):
            assert one.dtype == copy.dtype == other.dtype == dtype
            np.testing.assert_allclose(one.get(), other, rtol=0, atol=moved(dtype, side))
            assert (one.get() == copy).all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("kind", "peak"), [("uint8", 255.0), ("uint16", 1023.0)])
def test_integers_up_and_down(cuda, random, kind, peak, dtype):
    """They are placed, and rounded and clipped, to the sample, as on the CPU."""
    here, there, period = both(40, 53, 9, "extend", dtype, 2, 2)
    came = random.integers(0, int(peak) + 1, (2, 2, 40, 53)).astype(kind)
    for samples in (came, cuda.asarray(came)):
        for one, other in zip(there.place(samples, peak), here.place(came, peak), strict=True):
            np.testing.assert_allclose(one.get(), other, rtol=0, atol=ROUNDING[dtype])
    f = random.random((2, *period)).astype(dtype) * 1.2 - 0.1
    h = there.spread(np.broadcast_to(reference.bell(2, 9), (2, 2, 9, 9)))
    for whole in (np.dtype(kind), None, np.dtype(kind)):
        how = {"whole": whole, "peak": peak if whole else 1.0}
        wanted = here.finish(f, h.get(), True, **how)[0]
        found = there.finish(cuda.asarray(f), h, True, **how)[0]
        fetched = there.fetched()()[0]
        assert found.dtype == fetched.dtype == wanted.dtype
        assert (found.get() == wanted).all() and (fetched == wanted).all()
        there.refuse(peak)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("kind", "peak"), [("uint8", 255.0), ("uint16", 1023.0)])
def test_integers_that_are_moved(cuda, random, kind, peak, dtype):
    """They are the float picture of the CPU, moved by a fraction, and rounded once."""
    here, there, period = both(40, 53, 9, "extend", dtype, 2, 2)
    psf = random.random((2, 2, 9, 9)) ** 8
    psf[:, :, :4] /= 2
    h = there.spread(psf / psf.sum((-2, -1), keepdims=True))
    f = random.random((2, *period)).astype(dtype)
    wanted = here.finish(f, h.get(), True)[0].astype(np.float64) * peak
    for _ in range(2):
        found = there.finish(cuda.asarray(f), h, True, whole=np.dtype(kind), peak=peak)[0].get()
        off = np.abs(found - wanted.clip(0, peak))
        assert off.max() <= 0.5 + peak * moved(dtype, 9) and (found > 0).any()
    kept = here.finish(f, h.get(), False)[0] * peak
    assert np.abs(found - kept).max() > 1  # they are moved


@pytest.mark.gpu
def test_a_shift_across_the_periods_edge(cuda, random):
    """A PSF at the corner of its support, in a period that is hardly larger."""
    here, there, _ = both(32, 34, 31, "circular", "float64")
    psf = np.zeros((1, 1, 31, 31))
    psf[0, 0, 0, 30], psf[0, 0, 1, 29], psf[0, 0, 30, 0] = 0.6, 0.3, 0.1
    f = random.random((1, 32, 34))
    h = here.spread(psf)
    for one, other in zip(
        there.finish(cuda.asarray(f), cuda.asarray(h), True), here.finish(f, h, True), strict=True
    ):
        np.testing.assert_allclose(one.get(), other, rtol=0, atol=moved("float64", 31))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_nothing_is_moved_where_nothing_would_be_left(cuda, random, dtype):
    """Of one frame's PSF in a corner, or of PSFs of 0; another picture is centred all the same."""
    here, there, _ = both(32, 34, 5, "circular", dtype, 3, 3)
    psf = np.zeros((3, 3, 5, 5), dtype)
    psf[0, 0, 0, 0] = psf[0, 1:, 4, 4] = 1
    psf[2, :, 1, 3] = 1
    f, h = random.random((3, 32, 34)).astype(dtype), here.spread(psf)
    wanted = here.finish(f, h, True)
    assert (wanted[1][:2] == psf[:2]).all() and (wanted[1][2, :, 2, 2] == 1).all()
    for one, other in zip(
        there.finish(cuda.asarray(f), cuda.asarray(h), True), wanted, strict=True
    ):
        assert (one.get() == other).all()


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "NaN or infinity"),
        (np.inf, "NaN or infinity"),
        (-np.inf, "NaN or infinity"),
        (-1e-6, "negative samples"),
        (1001, "more than 1000 times white"),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_invalid_samples(cuda, rule, value, words):
    """Wherever one is: the error comes with the results, once."""
    _, there, period = both(40, 45, 9, rule, "float32", 2, 2)
    h = there.spread(np.broadcast_to(reference.bell(2, 9), (2, 2, 9, 9)))
    f = cuda.zeros((2, *period), np.float32)
    for place in ((0, 0, 0, 0), (1, 1, 39, 44), (0, 1, 20, 0)):
        came = np.full((2, 2, 40, 45), 0.5, np.float32)
        came[place] = value
        there.place(came, 1.0)
        there.finish(f, h, True)
        with pytest.raises(InputError, match=words):
            there.refuse(1.0)
        came[place] = 0
        there.place(cuda.asarray(came), 1.0)
        there.finish(f, h, True)
        there.refuse(1.0)
        there.fetched()()
        there.refuse(1.0)
