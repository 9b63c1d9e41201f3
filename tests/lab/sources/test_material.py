"""Coded material: the same for the same seed, aligned, and its files give back every bit."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.errors import InputError
from snellen_lab.sources import material
from snellen_lab.sources.coder import SMALLEST, Coding, coded
from snellen_lab.sources.degrade import KERNELS, blurred, resized, shrunk
from snellen_lab.sources.motion import FASTEST, shown, windows


def still(seed=0, shape=(224, 248)):
    """Smooth blobs and an edge."""
    noise = np.random.default_rng(seed).uniform(16, 235, shape).astype(np.float32)
    plane = blurred(noise, 2.0)
    plane = (plane - plane.mean()) * 4 + 120
    plane[:, shape[1] // 2 :] += 40
    return np.clip(plane, 16, 235).astype(np.uint8)


def psnr(a, b):
    return 10 * np.log10(255**2 / np.mean((a.astype(float) - b) ** 2))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [2, 3, 4])
def test_shrinking_keeps_planes_aligned(kernel, scale):
    ramp = np.add.outer(np.arange(48.0), 2 * np.arange(72.0)) + 10
    low = resized(ramp, 72 // scale, 48 // scale, kernel)
    centres = [(np.arange(n // scale) + 0.5) * scale - 0.5 for n in ramp.shape]
    exact = np.add.outer(centres[0], 2 * centres[1]) + 10
    inside = slice(3, -3)
    assert np.abs(low - exact)[inside, inside].max() < 1e-3


def test_blur_is_a_gaussian_of_unit_sum():
    point = np.zeros((31, 31), np.float32)
    point[15, 15] = 1
    spread = blurred(point, 1.5)
    offset = np.arange(31) - 15.0
    assert spread.sum() == pytest.approx(1, abs=1e-5)
    # Variance of the samples; the tail beyond 4 σ is cut off.
    assert (spread.sum(0) * offset**2).sum() == pytest.approx(1.5**2, rel=5e-3)
    np.testing.assert_allclose(spread, spread.T, atol=1e-8)
    flat = np.full((9, 12), 77, np.uint8)
    np.testing.assert_array_equal(shrunk(flat, 3, "lanczos", 0.8), 77)


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["x264", "x265"])
def test_what_was_in_memory_before_changes_nothing(encoder):
    random = np.random.default_rng(0)
    planes, found = [np.roll(still(), k, 1)[:98, :122] for k in range(6)], set()
    for _ in range(8):
        for size in random.integers(1000, 300000, 20):
            random.integers(0, 256, size, np.uint8)
        result = coded(planes, Coding(encoder, 20)).planes
        assert {plane.shape for plane in result} == {(98, 122)}
        found.add(np.stack(result).tobytes())
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["x264", "x265"])
def test_a_coarser_factor_costs_more_and_repeats_bit_for_bit(encoder):
    planes = [np.roll(still(), 2 * k, 1) for k in range(5)]
    fine, coarse = (coded(planes, Coding(encoder, crf)) for crf in (18, 32))
    again = coded(planes, Coding(encoder, 32))
    np.testing.assert_array_equal(coarse.planes, again.planes)
    assert coarse.bits == again.bits < fine.bits
    assert psnr(planes[3], coarse.planes[3]) < psnr(planes[3], fine.planes[3])
    assert psnr(planes[3], fine.planes[3]) > 35
    assert fine.kinds[0] == "I" and set(fine.kinds[1:]) <= {"P", "B"}
    assert fine.version != "unknown"


@pytest.mark.parametrize("shape", [(80, 96), (67, 76), (65, 73)])
def test_windows_stay_inside_and_are_never_enlarged(shape):
    zoomed = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        parts = windows(shape, (64, 72), 8, random)
        sides = {part.width for part in parts}
        zoomed += len(sides) > 1
        for part in parts:
            assert part.left >= 0 and part.left + part.width <= shape[1]
            assert part.top >= 0 and part.top + part.height <= shape[0]
            assert part.width >= 72 and part.height >= 64
        if len(sides) == 1:
            steps = np.abs(np.diff([part.left for part in parts]))
            assert steps.max() <= FASTEST
    assert 6 <= zoomed <= 30


def test_a_window_without_zoom_is_a_part_of_the_still():
    plane, random = still(), np.random.default_rng(1)
    zoomed = shown(
        plane, windows((224, 248), (223, 247), 3, np.random.default_rng(7))[-1], (223, 247)
    )
    assert zoomed.shape == (223, 247)
    part = windows((224, 248), (224, 200), 3, random)[-1]
    left = int(part.left)
    np.testing.assert_array_equal(shown(plane, part, (224, 200)), plane[:, left : left + 200])


@pytest.mark.parametrize("kind", material.KINDS)
def test_recipes_stay_within_the_limits_of_their_kind(kind):
    random = np.random.default_rng(0)
    made = [material.recipe(kind, random) for _ in range(300)]
    assert {one.kernel for one in made} == set(KERNELS)
    assert {one.coding.encoder for one in made} == {"x264", "x265"}
    assert {one.coding.crf for one in made} == set(range(18, 29))
    assert all((0.4 <= one.sigma <= 1.0) == (kind == "soft") for one in made)
    assert {one.frame for one in made} == {0, *range(material.SETTLED, material.FRAMES)}


def test_items_depend_on_the_seed_and_the_name_only():
    few = {name: still(k) for k, name in enumerate("abc")}
    few["small"] = still()[:180]  # is left out
    first, again, other = (
        {item.name: item for item in material.items(stills, "soft", 2, seed, held_out=("b",))}
        for stills, seed in ((few, 1), ({"b": few["b"]}, 1), (few, 2))
    )
    assert set(first) == {"a, 0", "b, 0", "c, 0"}
    one, same = first["b, 0"], again["b, 0"]
    np.testing.assert_array_equal(one.lows[2], same.lows[2])
    np.testing.assert_array_equal(one.high, same.high)
    assert one.facts == same.facts != other["b, 0"].facts
    assert (one.held_out, first["a, 0"].held_out, one.group) == (True, False, "soft")
    large = resized(one.lows[2], *one.high.shape[::-1], "bicubic")
    assert psnr(large, one.high) > 28
    with pytest.raises(InputError, match="large enough"):
        next(material.items({"a": still()[:180]}, "soft", 2, 1))
    with pytest.raises(InputError, match="kind"):
        next(material.items(few, "clean", 2, 1))


def test_codings_of_a_clip_share_the_picture():
    few = {name: still(k) for k, name in enumerate("ab")}
    plain = {i.name: i for i in material.items(few, "film", 2, 1, held_out=("b",))}
    made = list(material.items(few, "film", 2, 1, rounds=2, versions=3, held_out=("b",)))
    assert [i.name for i in made if i.held_out] == ["b, 0"]
    assert {i.name for i in made} == {
        "b, 0",
        *(f"a, {n}{v}" for n in "01" for v in ("", ", 1", ", 2")),
    }
    for one in made:
        if one.name in plain:  # what a pack of one coding of each still has
            np.testing.assert_array_equal(one.lows[2], plain[one.name].lows[2])
            assert one.facts == plain[one.name].facts
    first, second, third = (i for i in made if i.name.startswith("a, 1"))
    assert first.high is second.high is third.high
    assert (
        first.facts["frame"] == second.facts["frame"] and first.facts["part"] == third.facts["part"]
    )
    assert not np.array_equal(first.lows[2], second.lows[2])


def test_full_range_reaches_both_ends():
    codes = np.array([[0, 16, 126, 235, 255]], np.uint8)
    assert material.full_range(codes).tolist() == [[0, 0, 128, 255, 255]]


@pytest.mark.parametrize(("scale", "side"), [(2, 193), (4, 384), (4, 400)])
def test_small_stills_move_less_and_can_be_coded(scale, side):
    tall = still(shape=(2 * side, side))
    highs, windows = material.clip(tall, scale, np.random.default_rng(3))
    height, width = highs[0].shape
    assert width >= scale * SMALLEST and width % (2 * scale) == 0
    assert min(height, material.SIDE) == height > width - 2 * scale
    assert all(left + wide <= side for left, _, wide, _ in windows)


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_parts_of_both_planes_are_the_same_place(scale):
    low = np.arange(50 * 60).reshape(50, 60) % 251
    high = low.repeat(scale, 0).repeat(scale, 1)
    corners = set()
    for seed in range(40):
        random = np.random.default_rng(seed)
        (small, half), large, corner = material.cut(
            [low, low // 2], high, scale, random, 40 * scale + 1
        )
        np.testing.assert_array_equal(half, small // 2)
        assert small.shape == (40, 40) and large.shape == (40 * scale, 40 * scale)
        np.testing.assert_array_equal(large, small.repeat(scale, 0).repeat(scale, 1))
        assert large[0, 0] == high[corner[1], corner[0]]
        corners.add(tuple(corner))
    assert len(corners) > 20
    (small,), large, corner = material.cut([low], high, scale, np.random.default_rng(0), 999)
    assert small.shape == low.shape and large.shape == high.shape and corner == [0, 0]
