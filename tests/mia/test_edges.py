"""Periods, what stands in the margin, edges that meet; and that no ringing comes from them."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mia import edges, psf
from snellen.mia.cpu import Backend
from snellen.mia.definition import Definition
from support.mia import drawn, reference

SHAPES = [(33, 32), (50, 41), (41, 90)]


@pytest.mark.parametrize(
    ("shape", "side", "wanted"),
    [
        ((32, 32), 1, (32, 32)),
        ((32, 33), 1, (32, 64)),
        ((98, 98), 31, (128, 128)),
        ((99, 98), 31, (256, 128)),
        ((226, 226), 31, (256, 256)),
        ((226, 227), 31, (256, 270)),  # 257: no small factors
        ((255, 255), 31, (288, 288)),
        ((1080, 1920), 31, (1125, 2000)),
    ],
)
def test_the_period(shape, side, wanted):
    assert edges.period(shape, side, "extend") == wanted
    for rule in ("circular", "taper"):
        assert edges.period(shape, side, rule) == shape


def test_periods_are_fast_ones():
    for size in range(1, 700):
        assert edges.period((size, 99), 31, "extend") == reference.period((size, 99), 31)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("frames", [1, 3])
def test_extend(random, shape, frames):
    pictures = random.random((2, frames, *shape))
    period = edges.period(shape, 9, "extend")
    y, f = edges.place(pictures, period, 9, "extend")
    assert y.flags.c_contiguous and f.flags.c_contiguous
    for b in range(2):
        for m in range(frames):
            observed, _ = reference.extended(pictures[b, m], period)
            assert (y[b, m] == observed).all()
        _, start = reference.extended(pictures[b].mean(0), period)
        np.testing.assert_allclose(f[b], start, rtol=0, atol=1e-15)
    assert (edges.cut(y, shape) == pictures).all()


def test_the_margin_is_a_straight_line():
    """By hand: 0 … 4 in a period of 8 continues 3, 2, 1; rows likewise, corners by the columns'."""
    plane = np.add.outer(10 * np.arange(3.0), np.arange(5.0))
    y, f = edges.place(plane[None], (5, 8), 3, "extend")
    assert f[0].tolist() == [0, 1, 2, 3, 4, 3, 2, 1]
    np.testing.assert_allclose(f[3], f[0] + 40 / 3)
    np.testing.assert_allclose(f[4], f[0] + 20 / 3)
    assert (y[0, 3:] == -1).all() and (y[0, :, 5:] == -1).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("side", [1, 3, 9, 31])
def test_taper(random, shape, side):
    pictures = random.random((2, 3, *shape))
    y, f = edges.place(pictures, shape, side, "taper")
    for b, m in np.ndindex(2, 3):
        wanted = reference.tapered(pictures[b, m], side)
        np.testing.assert_allclose(y[b, m], wanted, rtol=0, atol=1e-15)
    np.testing.assert_allclose(f, y.mean(1), rtol=0, atol=1e-15)
    far = side // 2
    rows, columns = (slice(far, size - far) for size in shape)
    assert (y[..., rows, columns] == pictures[..., rows, columns]).all()


def test_tapered_edges_meet():
    """A slope of 63 has steps of 1; across the edge it made one of 63."""
    slope = np.tile(np.arange(64.0), (64, 1))
    for plane in (slope, slope.T):
        y = edges.taper(plane, 31)
        steps = np.abs(np.diff(y, axis=1, append=y[:, :1])) + np.abs(
            np.diff(y, axis=0, append=y[:1])
        )
        assert steps.max() < 8


def test_circular(random):
    pictures = random.random((2, 3, 33, 40))
    y, f = edges.place(pictures, (33, 40), 9, "circular")
    assert (y == pictures).all()
    np.testing.assert_allclose(f, pictures.mean(1))


@pytest.mark.parametrize("rule", edges.EDGES)
def test_float32_stays_float32(random, rule):
    y, f = edges.place(random.random((1, 40, 50), dtype=np.float32), (64, 64), 9, rule)
    assert y.dtype == f.dtype == "float32"


def restored(seen, blur, rule, noise, blind=False):
    """A picture (rows, columns), restored with its PSF (side, side)."""
    side = len(blur)
    period = edges.period(seen.shape, side, rule)
    y, f = edges.place(seen[None], period, side, rule)
    start = psf.gaussian(2, side) if blind else blur
    backend = Backend(Definition(noise, blind=blind), period, 1, 1)
    backend.start(y[None], f[None], psf.to_period(start, period)[None, None])
    backend.iterate(100)
    out = edges.cut(backend.estimate[0], seen.shape)
    backend.close()
    return out


def through_a_window(random, size=100, side=15):
    """A scene, its PSF, and what is seen of both through a window; it goes on outside of it."""
    around = drawn.scene(random, (size + 60, size + 60))
    blur = drawn.walk(random, side)
    seen = reference.convolved(around, reference.on_period(blur, around.shape))
    window = slice(30, 30 + size)
    return around[window, window], seen[window, window].clip(0), blur


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_extend_does_not_ring(random, noise):
    """Within a PSF of the border, the error is that of the middle; circular's is far larger."""
    sharp, seen, blur = through_a_window(random)
    middle = np.zeros(sharp.shape, bool)
    middle[15:-15, 15:-15] = True
    errors = {}
    for rule in edges.EDGES:
        squares = (restored(seen, blur, rule, noise) - sharp) ** 2
        errors[rule] = np.sqrt(squares[~middle].mean()), np.sqrt(squares[middle].mean())
    assert errors["extend"][0] < 0.5 * errors["circular"][0]
    assert errors["extend"][0] < 0.8 * errors["taper"][0]
    assert errors["extend"][0] < 1.5 * errors["extend"][1]
    assert errors["extend"][1] < errors["circular"][1]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
@pytest.mark.parametrize("blind", [False, True])
def test_nothing_grows_in_the_margin(random, noise, blind):
    """What nobody sees keeps to the range of what is seen (ISRA without EM: 100 times that)."""
    _, seen, blur = through_a_window(random, size=68)  # a period of 128: most of it is margin
    side = len(blur)
    period = edges.period(seen.shape, side, "extend")
    assert period == (128, 128)
    y, f = edges.place(seen[None], period, side, "extend")
    start = psf.to_period(psf.gaussian(2, side) if blind else blur, period)
    backend = Backend(Definition(noise, blind=blind), period, 1, 1)
    backend.start(y[None], f[None], start[None, None])
    backend.iterate(200)
    margin = backend.estimate[0].copy()
    backend.close()
    margin[:68, :68] = 0
    assert np.isfinite(margin).all() and margin.max() < 3 * seen.max()
