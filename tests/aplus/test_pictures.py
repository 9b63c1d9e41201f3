"""Real pictures and noise on both backends against float64: the issue's own figures."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.frames.frame import Format, Frame
from snellen.upscaling.models import load
from snellen.upscaling.upscaler import Upscaler
from snellen_lab import protocol
from support.aplus import reference

DECIBELS = 110  # as float
OFF_BY_ONE = {8: 1 / 10_000, 10: 1 / 2_000}  # share of pixels
UNSURE = 0.1  # share of pixels that a tie may change: 0 to 0.076 were counted of these pictures
SIZE = (80, 112)

REAL = [
    (2, "Set5/butterfly_GT.png"),
    pytest.param(2, "Set14/barbara.png", marks=pytest.mark.slow),
    pytest.param(3, "Set14/comic.png", marks=pytest.mark.slow),
    pytest.param(4, "Set14/zebra.png", marks=pytest.mark.slow),
    pytest.param(4, "Set5/woman_GT.png", marks=pytest.mark.slow),
]


def enlarged(model, plane, bits, backend):
    with Upscaler(model.scale, model, backend) as step:
        step.prepare(Format(plane.shape[1], plane.shape[0], bits))
        return step.run(Frame((plane,))).planes[0].astype(np.float64)


def judge(scale, codes, backend):
    """All figures for a plane of 8-bit codes."""
    model = load(f"t91-x{scale}", scale)
    exact, unsure = reference.upscale(codes, model, 255)
    error = enlarged(model, codes.astype(np.float32), 0, backend) - exact
    assert np.mean(error**2) <= 255**2 / 10 ** (DECIBELS / 10)
    fine = codes.astype(np.uint16) * 4 + (codes % 4)  # the same picture in 10 bits
    for bits, plane in ((8, codes), (10, fine)):
        if bits > 8:
            exact, unsure = reference.upscale(plane, model, 1023)
        # Where the scores of two anchors tie within rounding, either may be taken.
        assert unsure.mean() < UNSURE
        wanted = np.rint(exact.clip(0, (1 << bits) - 1))
        off = np.abs(enlarged(model, plane, bits, backend) - wanted)[~unsure]
        assert off.max() <= 1
        assert (off > 0).mean() < OFF_BY_ONE[bits]


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "name"), REAL)
def test_real_pictures(shared_data, scale, name, backend):
    plane = protocol.luma(shared_data / name)
    top, left = (plane.shape[0] - SIZE[0]) // 2, (plane.shape[1] - SIZE[1]) // 2
    crop = plane[top : top + SIZE[0], left : left + SIZE[1]]
    judge(scale, np.rint(crop * 255).astype(np.uint8), backend)


def noise(random):
    return random.integers(0, 256, SIZE)


def smooth(random):
    y, x = np.mgrid[: SIZE[0], : SIZE[1]]
    return 120 + 90 * np.sin(x / 9 + y / 31) * np.cos(y / 14) + random.normal(0, 2, SIZE)


def edges(random):
    blocks = random.integers(0, 2, (SIZE[0] // 8, SIZE[1] // 8)) * 255
    return blocks.repeat(8, axis=0).repeat(8, axis=1)


def flat(random):
    return np.full(SIZE, 77)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "draw"),
    [
        pytest.param(2, noise, marks=pytest.mark.slow),
        pytest.param(2, smooth, marks=pytest.mark.slow),
        (2, edges),
        pytest.param(2, flat, marks=pytest.mark.slow),
        pytest.param(3, smooth, marks=pytest.mark.slow),
        pytest.param(4, smooth, marks=pytest.mark.slow),
    ],
)
def test_drawn_pictures(random, scale, draw, backend):
    judge(scale, np.rint(draw(random).clip(0, 255)).astype(np.uint8), backend)
