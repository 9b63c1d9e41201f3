"""The kernel of a compact network, executed by a CPU thread by thread, against float64."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snellen.cnn.cuda.layout import layouts
from snellen.cnn.model import read
from snellen.frames.frame import Format
from support.aplus.drawings import drawing
from support.aplus.images import noise
from support.cnn import planes, reference
from support.fibers import COMPILER, network

CASES = {
    "fast": (2, 4, 16, 5, 8, 8, (8, 8), (11, 13)),
    "fine": (2, 4, 32, 5, 8, 0, (16, 8), (9, 17)),
    "x3": (3, 1, 16, 3, 16, 8, (16, 8), (3, 7)),
    "x4": (4, 2, 20, 5, 0, 0, (8, 8), (10, 6)),
    "no body": (3, 0, 5, 5, 10, 16, (16, 16), (17, 1)),
    "wide": (2, 1, 64, 3, 12, 10, (8, 8), (1, 1)),
}


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not COMPILER, reason="no g++")]


@pytest.mark.parametrize("case", CASES)
def test_against_float64(random, tmp_path, case):
    """Shared memory is NaN at first; threads run in random orders, from barrier to barrier."""
    scale, layers, channels, side, bits, to, tile, size = CASES[case]
    model = reference.model(random, scale, layers, channels, side)
    source = Format(size[1], size[0], bits)
    target = source.scaled(scale, to)
    layout = next(one for one in layouts(model, source) if one.tile == tile)
    program = network.built(tmp_path, layout, source, target)
    plane = noise(random, bits, size)
    found = [network.run(program, model, layout, plane, source, target, seed) for seed in (1, 2)]
    planes.check(found[0], plane, model, source, target)
    assert found[0].tobytes() == found[1].tobytes()


WARPGROUPS = {
    "x2": (2, 4, 32, 8, 8, (16, 16), 8, (17, 19)),
    "x3": (3, 1, 32, 8, 0, (8, 8), 4, (9, 5)),
    "x4, three groups": (4, 2, 20, 0, 16, (18, 8), 12, (7, 20)),
}


@pytest.mark.parametrize("case", WARPGROUPS)
def test_products_of_warpgroups_against_float64(random, tmp_path, case):
    """Products and copies are made as late as they may be."""
    scale, layers, channels, bits, to, tile, warps, size = WARPGROUPS[case]
    model = reference.model(random, scale, layers, channels, 5)
    source = Format(size[1], size[0], bits)
    target = source.scaled(scale, to)
    layout = replace(layouts(model, source)[0], tile=tile, warps=warps, warpgroups=True)
    program = network.built(tmp_path, layout, source, target)
    plane = noise(random, bits, size)
    found = [network.run(program, model, layout, plane, source, target, seed) for seed in (1, 2)]
    planes.check(found[0], plane, model, source, target)
    assert found[0].tobytes() == found[1].tobytes()


def test_one_in_a_hundred_pixels_is_off_by_one(tmp_path):
    """Of a trained network on a drawing, by half-precision activations and float32 sums."""
    model = read(Path(__file__).parents[1] / "drawings-x2.safetensors")
    plane = np.rint(255 * drawing(5, (48, 60))).astype(np.uint8)
    source = Format(60, 48)
    target = source.scaled(2)
    layout = next(one for one in layouts(model, source) if one.tile == (16, 16))
    program = network.built(tmp_path, layout, source, target)
    found = network.run(program, model, layout, plane, source, target).astype(int)
    wanted, _ = planes.enlarged(plane, model, source, target)
    off = np.abs(found - np.rint(wanted).clip(0, 255))
    assert off.max() <= 1 and off.mean() <= 0.01
