"""Tiles: they cover a picture, overlap, and become it again without seams."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.errors import InputError
from snellen.mia.tiles import Tiles

SHAPES = st.tuples(st.integers(1, 150), st.integers(1, 150))


@pytest.mark.slow
@settings(deadline=None, max_examples=50)
@given(shape=SHAPES, tile=st.integers(9, 150), side=st.sampled_from([1, 3, 9, 31]))
def test_what_was_split_is_merged_again(shape, tile, side):
    """To the last bits of the weights' sum; with weights that are never negative."""
    if tile < side:
        return
    planes = np.random.default_rng(shape).uniform(1, 2, (2, 3, *shape))
    tiles = Tiles(shape, tile, side)
    parts = tiles.split(planes)
    count = tiles.grid[0] * tiles.grid[1]
    assert parts.shape == (2 * count, 3, *tiles.shape)
    assert tiles.shape == (min(tile, shape[0]), min(tile, shape[1]))
    for frame in range(3):
        merged = tiles.merge(parts[:, frame])
        np.testing.assert_allclose(merged, planes[:, frame], rtol=1e-14)
    ones = tiles.merge(np.ones((count, *tiles.shape), np.float32))
    assert ones.dtype == np.float32 and np.abs(ones - 1).max() < 1e-6
    one = np.zeros((count, *tiles.shape))
    one[count // 2] = 1
    assert tiles.merge(one).min() >= 0


@pytest.mark.parametrize("size", [128, 129, 200, 1000, 1920])
def test_the_grid(size):
    """Tiles of 128 with a PSF of 31 overlap by 60 or more, as few as can be, first and last fit."""
    tiles = Tiles((size, 128), 128, 31)
    count = tiles.grid[0]
    assert tiles.grid[1] == 1 and count == max(1, -(-(size - 60) // 68))
    numbers = np.broadcast_to(np.arange(size)[:, None], (1, 1, size, 128))
    firsts = tiles.split(numbers)[:, 0, 0, 0]
    assert firsts[0] == 0 and firsts[-1] == size - 128
    steps = np.diff(firsts)
    assert (steps <= 68).all() and np.ptp(steps) <= 1 if count > 1 else size == 128


def test_one_tile_passes_into_the_next():
    """By a raised cosine in the middle of the overlap; near its edge a tile has no say."""
    tiles = Tiles((1, 196), 128, 31)
    assert tiles.grid == (1, 2)
    stack = np.zeros((2, 1, 128))
    stack[1] = 1
    line = tiles.merge(stack)[0, 0]
    assert not line[: 68 + 15].any() and (line[128 - 15 :] == 1).all()
    wanted = 0.5 - 0.5 * np.cos(np.pi * (np.arange(30) + 0.5) / 30)
    np.testing.assert_allclose(line[68 + 15 : 128 - 15], wanted, atol=1e-14)


def test_a_large_psf_overlaps_by_half():
    assert Tiles((64, 64), 32, 31).grid == (3, 3)
    assert Tiles((64, 64), 1, 1).grid == (64, 64)


@pytest.mark.parametrize(
    ("tile", "words"),
    [
        (0, "tile=0; expected a whole number"),
        (64.0, r"tile=64\.0"),
        (30, "tile=30 with a PSF of 31×31.*larger tiles, 124"),
    ],
)
def test_refusals(tile, words):
    with pytest.raises(InputError, match=words):
        Tiles((200, 200), tile, 31)
