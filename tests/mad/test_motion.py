"""The motion of blocks and the weights for it, against the float64 reference."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen.mad import motion as stage
from support.mad import pairs
from support.mad import reference_video as video

EXACT = 1e-12  # relative: a few roundings of float64 on either side; they differ by 2e-15

TYPES = [np.uint8, np.uint16, np.float32, np.float64]


@pytest.fixture
def clip(random):
    """A maker of noise, integers over the whole of their type."""

    def make(shape, dtype):
        if np.dtype(dtype).kind == "f":
            return random.uniform(0, 255, size=shape).astype(dtype)
        return random.integers(0, np.iinfo(dtype).max, size=shape, dtype=dtype, endpoint=True)

    return make


def energy(previous, following):
    m, n = (size // stage.SIDE for size in previous.shape)
    total = np.zeros((m, n))
    with ThreadPoolExecutor(2) as pool:
        stage.add_energy(previous, following, total, pool)
    return total


def same(ours, theirs):
    np.testing.assert_allclose(ours.columns, theirs.columns, rtol=EXACT)
    np.testing.assert_allclose(ours.rows, theirs.rows, rtol=EXACT)
    assert ours.of_columns == pytest.approx(theirs.of_columns, rel=EXACT)
    assert ours.of_rows == pytest.approx(theirs.of_rows, rel=EXACT)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(2, 40, 48), (5, 35, 61), (3, 47, 34), (3, 200, 37)])
def test_the_weights_of_noise(clip, shape, dtype):
    frames = clip(shape, dtype)
    same(stage.motion(frames), video.motion(frames.astype(np.float64)))


@pytest.mark.slow
def test_the_weights_of_the_shared_clip(shared_data):
    frames = pairs.clips(shared_data).reference
    same(stage.motion(frames), video.motion(frames.astype(np.float64)))


@pytest.mark.parametrize("largest", [255, 1023, 65535])
@pytest.mark.parametrize(("down", "right"), [(1, 0), (0, 1), (1, 1), (1, 2)])
def test_blocks_with_edges_of_one_direction_move_across_them(random, down, right, largest):
    """AᵀA has rank 1 inside the frame; left and top blocks see the dark outside."""
    levels = random.integers(0, largest, size=300, endpoint=True).astype(np.uint16)
    place = sum(np.array([down, right])[:, None, None] * np.mgrid[:40, :48])
    one, other = levels[place], levels[place + 1]
    theirs = video.energy(one.astype(np.float64), other.astype(np.float64))
    np.testing.assert_allclose(energy(one, other), theirs, rtol=EXACT)


def test_one_grey_level_in_one_pixel_makes_the_rank_2(random):
    stripes = random.integers(0, 2, size=48) * 100
    change = random.integers(0, 100, size=(40, 48))
    one, other = (stripes + change).astype(np.uint8), (stripes + 100 - change).astype(np.uint8)
    striped = energy(one, other)[2, 2]  # the sum has edges of one direction
    one[20, 20] += 1
    theirs = video.energy(one.astype(np.float64), other.astype(np.float64))
    assert theirs[2, 2] > 10 * striped
    np.testing.assert_allclose(energy(one, other), theirs, rtol=1e-9)  # AᵀA's condition: 1e6


@pytest.mark.parametrize("value", [0, 7, 255])
def test_what_stands_still_has_no_weight(clip, value):
    flat, noise = np.full((40, 48), value, np.uint8), clip((40, 48), np.uint8)
    for frame in (flat, noise):
        weights = stage.motion([frame] * 3)
        assert not weights.columns.any() and not weights.rows.any()
        assert weights.of_columns == weights.of_rows == 0


def test_the_scale_of_the_samples_cancels(clip):
    frames = clip((3, 40, 48), np.uint8)
    ours = stage.motion(frames)
    same(stage.motion(frames / 255), ours)
    same(stage.motion(frames.astype(np.uint16) * 257), ours)


def test_frames_may_have_a_pitch_and_come_one_by_one(clip):
    frames = clip((4, 40, 60), np.uint8)[:, :, 5:-5]
    same(stage.motion(iter(frames)), video.motion(frames.astype(np.float64)))


@pytest.mark.parametrize("n", [4, 5, 22])
def test_the_window_is_the_authors(n):
    window = video.gausswin(n)
    np.testing.assert_allclose(stage.gaussian(n), window / window.sum(), rtol=EXACT)
