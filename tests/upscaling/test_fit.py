"""Frames at the size that is wanted: where samples lie, bars, depth; images too."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from snellen.errors import InputError
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format, Frame
from snellen.upscaling.fit import Fit, fitted
from snellen.upscaling.target import Geometry, geometry, target

WIDTH, HEIGHT = 96, 64


def ramps(format, slope):
    """Return planes whose value is a linear function of the place in the picture."""
    across, down = format.subsampling
    planes = []
    for number, (height, width) in enumerate(format.shapes):
        cell = (1, 1) if number == 0 else (1 << across, 1 << down)
        phase = (0.5, 0.5)
        if number:
            phase = (format.siting[0] if across else 0.5, format.siting[1] if down else 0.5)
        x = (np.arange(width) + phase[0]) * cell[0] / format.width
        y = (np.arange(height) + phase[1]) * cell[1] / format.height
        planes.append(slope[0] * x[None, :] + slope[1] * y[:, None])
    return planes


def made(geometry, format, planes, bits=None):
    step = Fit(geometry)
    assert step.outcome(format, 1).width == geometry.width
    found = step.prepare(format, bits)
    try:
        return found, step.run(Frame(tuple(planes), 7, 3))
    finally:
        step.close()


def assert_places(got, expected):
    """A shift of 1/50 of a sample shows; within a period the widened cubic strays by up to 1/20."""
    inner = (slice(6, -6), slice(6, -6))
    error = (got - expected)[inner]
    step = expected[0, 1] - expected[0, 0]
    assert abs(error.mean()) < step / 50
    assert np.abs(error).max() < step / 20 + 1  # and rounding, before and after


@pytest.mark.parametrize("siting", [LEFT, CENTRE, TOP_LEFT])
@pytest.mark.parametrize("subsampling", [(1, 1), (1, 0), (0, 0)])
def test_luma_and_chroma_keep_their_places(siting, subsampling):
    """A linear ramp stays the same ramp of the picture, whatever the size; but at the edges."""
    format = Format(WIDTH, HEIGHT, 16, subsampling, siting)
    sized = geometry(target(1.5, None, None, None), WIDTH // 2, HEIGHT // 2, unit=(2, 2))
    planes = [np.round(30000 * p + 8000).astype(np.uint16) for p in ramps(format, (1, 0.6))]
    found, frame = made(sized, format, planes)
    assert (found.width, found.height, frame.pts, frame.duration) == (72, 48, 7, 3)
    for got, expected in zip(frame.planes, ramps(found, (1, 0.6)), strict=True):
        assert got.shape == expected.shape
        assert_places(got, 30000 * expected + 8000)


def test_a_crop_shows_the_middle():
    format = Format(WIDTH, HEIGHT, 16, (1, 1), LEFT)
    sized = Geometry((2,), 40, 40, (40, 40), (Fraction(5, 8), Fraction(15, 16)), True, False)
    planes = [np.round(30000 * p + 8000).astype(np.uint16) for p in ramps(format, (1, 0.6))]
    found, frame = made(sized, format, planes)
    for got, x, y in zip(frame.planes, ramps(found, (1, 0)), ramps(found, (0, 1)), strict=True):
        # Of the whole picture's width, 3/16 is left out at each side; of its height 1/32.
        expected = 30000 * ((3 / 16 + x * 5 / 8) + 0.6 * (1 / 32 + y * 15 / 16)) + 8000
        assert_places(got, expected)


@pytest.mark.parametrize(("full", "black"), [(False, 16 << 2), (True, 0)])
def test_bars_are_black_and_begin_on_a_sample_of_chroma(full, black):
    format = Format(WIDTH, HEIGHT, 10, (1, 1), LEFT, full)
    sized = Geometry((2,), 102, 40, (60, 40), (Fraction(1), Fraction(1)), True, False)
    planes = [np.full(shape, 700, np.uint16) for shape in format.shapes]
    _, frame = made(sized, format, planes)
    luma, u, v = frame.planes
    assert (luma[:, 20:80] == 700).all()
    assert (luma[:, :20] == black).all() and (luma[:, 80:] == black).all()
    for plane in (u, v):
        assert (plane[:, 10:40] == 700).all()
        assert (plane[:, :10] == 512).all() and (plane[:, 40:] == 512).all()


def test_another_depth():
    format = Format(WIDTH, HEIGHT, 8, (1, 1))
    sized = geometry(target(1.25, None, None, None), WIDTH // 2, HEIGHT // 2, unit=(2, 2))
    found, frame = made(sized, format, [np.full(s, 77, np.uint8) for s in format.shapes], 10)
    assert (found.bits, frame.planes[0].dtype) == (10, np.uint16)
    assert all((plane == 77 << 2).all() for plane in frame.planes)


def test_it_works_in_main_memory():
    with pytest.raises(InputError, match="main memory"):
        Fit(geometry(target(1.5, None, None, None), 40, 40)).prepare(Format(80, 80), on_device=True)


@pytest.mark.cases(5)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("channels", [None, 3, 4])
def test_images(dtype, channels):
    shape = (64, 96) if channels is None else (64, 96, channels)
    image = np.full(shape, 0.5 if np.issubdtype(dtype, np.floating) else 100, dtype)
    sized = geometry(target(None, "90x54", None, "pad"), 48, 32)
    large = fitted(image, sized)
    assert (large.shape[:2], large.dtype) == ((54, 90), dtype)
    inner = large[:, 5:85] if sized.inner == (80, 54) else large[:, 4:85]
    assert np.allclose(inner, image[0, 0])
    opaque = 1 if np.issubdtype(dtype, np.floating) else np.iinfo(dtype).max
    if channels == 4:
        assert (large[:, 0, 3] == opaque).all()
    assert (np.atleast_1d(large[0, 0])[:3] == 0).all()
