"""Large areas of one value in planes in main memory: those that the GPU's kernel finds."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mad.flat import SIDE, flat
from support.mad import drawn


def slowly(plane):
    """Compare all samples of each tile, as the kernel does."""
    kind = np.float32 if plane.dtype.kind == "f" else plane.dtype
    down, across = (size // SIDE for size in plane.shape)
    tiles = plane[: down * SIDE, : across * SIDE].astype(kind)
    tiles = tiles.reshape(down, SIDE, across, SIDE).swapaxes(1, 2)
    return bool((tiles == tiles[..., :1, :1]).all((2, 3)).any())


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
@pytest.mark.parametrize("size", [(34, 200), (64, 64), (150, 200), (257, 131)])
def test_tiles_of_one_value(random, size, dtype):
    def drawn_anew():
        padded = random.integers(0, 3, (size[0], size[1] + 5))
        return padded.astype(dtype)[:, : size[1]]  # rows with a pitch

    assert not flat(drawn_anew())
    for _ in range(20):
        plane = drawn_anew()
        top, left = (SIDE * int(random.integers(0, max(1, n // SIDE))) for n in size)
        plane[top : top + SIDE, left : left + SIDE] = 1
        assert flat(plane) == (min(size) >= SIDE) == slowly(plane)
        row, column = random.integers(0, SIDE, 2)
        plane[top : top + SIDE, left : left + SIDE][row : row + 1, column : column + 1] = 2
        assert not flat(plane) and not slowly(plane)


@pytest.mark.slow
def test_one_other_sample_anywhere():
    plane = np.full((SIDE, SIDE), 7, np.uint8)
    for at in np.ndindex(plane.shape):
        plane[at] = 8
        assert not flat(plane)
        plane[at] = 7
    assert flat(plane)


def test_tiles_begin_at_multiples_of_their_side():
    plane = np.arange(200 * 200, dtype=np.uint16).reshape(200, 200)
    plane[1 : 1 + SIDE, :SIDE] = 7
    assert not flat(plane)
    plane[:SIDE, :SIDE] = 7
    assert flat(plane)


def test_float_samples_count_as_float32_and_nan_is_no_value():
    plane = np.full((70, 70), 1.0)
    plane[3, 4] += 1e-12
    assert flat(plane)
    plane[3, 4] += 1e-3
    assert not flat(plane)
    assert not flat(np.full((70, 70), np.nan))
    assert flat(np.full((70, 70), 1e300))  # infinity as float32, on the GPU too


def test_pictures_of_all_kinds(random):
    pages = [drawn.page(random, (200, 300), (100, 90), at) for at in ((0, 0), (64, 64), (100, 200))]
    planes = [*drawn.pair(random, (200, 300)), *(page[1] for page in pages)]
    assert [flat(plane) for plane in planes] == [slowly(plane) for plane in planes]
