"""Patches by anchor: each listed once, every tile of one anchor, nothing left behind."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.aplus.cuda.group import MOST, TILE, Group, capacity

NONSENSE = -77


def tiled(index):
    """How many tiles these patches fill."""
    return int((-(-np.bincount(index) // TILE)).sum())


@pytest.mark.parametrize("anchors", [1, 7, 1024])
@pytest.mark.parametrize("patches", [1, 15, 16, 17, 1000])
def test_room_for_the_worst_case(random, patches, anchors):
    """Each anchor with one patch more than whole tiles, as far as there are patches."""
    index = np.arange(patches) % anchors
    assert tiled(index) * TILE <= capacity(patches, anchors)
    if patches > anchors:
        index[:-anchors] = 0
        assert tiled(index) * TILE <= capacity(patches, anchors)


def indices(random, kind, patches, anchors):
    if kind == "one":
        return np.full(patches, anchors - 1, np.uint16)
    if kind == "skewed":
        return np.minimum(random.geometric(0.2, patches) - 1, anchors - 1).astype(np.uint16)
    return random.integers(0, anchors, patches).astype(np.uint16)


def check(order, tiles, index):
    assert tiles == tiled(index)
    listed, rest = order[: tiles * TILE].reshape(-1, TILE), order[tiles * TILE :]
    real = listed >= 0
    assert (listed[~real] == -1).all()
    assert sorted(listed[real]) == list(range(len(index)))
    assert real[:, 0].all()
    assert (real[:, 1:] <= real[:, :-1]).all()  # −1 at the end only
    anchor = np.where(real, index[np.maximum(listed, 0)], index[listed[:, :1]])
    assert (anchor == anchor[:, :1]).all()
    short = anchor[~real.all(axis=1), 0]
    assert len(set(short)) == len(short)  # one tile of an anchor at most is not full
    assert (rest == NONSENSE).all()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["one", "skewed", "uniform"])
@pytest.mark.parametrize("patches", [1, 16, 17, 1000, 50_000])
@pytest.mark.parametrize("anchors", [1, 33, 1024, 1025, MOST])
def test_every_patch_once(cuda, random, anchors, patches, kind):
    group = Group(anchors)
    for _ in range(2):  # the second finds what the first has left
        index = indices(random, kind, patches, anchors)
        order = cuda.full(capacity(patches, anchors), NONSENSE, cuda.int32)
        tiles = cuda.full(1, NONSENSE, cuda.int32)
        group(cuda.asarray(index), order, tiles)
        check(order.get(), int(tiles[0]), index)
