"""What the kernel of a compact network gets: tiles that fit, and weights as operands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from snellen.cnn.cuda import layout
from snellen.cnn.cuda.layout import (
    choose,
    cores,
    factors,
    fragments,
    layouts,
    numbers,
    operands,
)
from snellen.frames.frame import Format
from support.cnn import reference

HOPPER, BLACKWELL, AMPERE, TURING = (layout.MEMORY[f"sm_{n}"] for n in (90, 120, 80, 75))


def unpacked(words, columns, inner):
    """A matrix of right operands as (columns, inner), by the fragments of PTX's m16n8k16."""
    tiles = columns // 8
    steps = words.reshape(inner // 16, -1)
    matrix = np.full((columns, inner), np.nan)
    for step, tile, lane, register, half in np.ndindex(inner // 16, tiles, 32, 2, 2):
        g, t = divmod(lane, 4)
        paired = tiles > 1
        place = ((tile // 2 * 32 + lane) * 2 + tile % 2) if paired else lane
        k = 16 * step + 8 * register + 2 * t + half
        matrix[8 * tile + g, k] = steps[step, (place * 2 + register) * 2 + half]
    return matrix


@pytest.mark.parametrize(("columns", "inner"), [(8, 16), (8, 288), (16, 144), (32, 48), (64, 16)])
def test_right_operands(random, columns, inner):
    matrix = random.normal(size=(columns, inner)).astype(np.float16)
    assert (unpacked(fragments(matrix).ravel(), columns, inner) == matrix).all()


def test_right_operands_of_warpgroups(random):
    """Eights of columns of 128 bytes, as PTX's descriptors without swizzle say it."""
    matrix = random.normal(size=(32, 288)).astype(np.float16)
    words = cores(matrix).ravel()
    for column, down, k in np.ndindex(32, 3, 96):
        step, inner = divmod(k, 16)
        wide = (2 - down) * 32 + column
        place = step * 2 * 768 + inner // 8 * 768 + wide // 8 * 64 + wide % 8 * 8 + inner % 8
        assert words[place] == matrix[column, 96 * down + k]


def test_weights_of_warpgroups_are_others_in_the_body_only(random):
    model = reference.model(random, 2, 2, 32)
    usual, theirs = operands(model), operands(model, warpgroups=True)
    body = slice(32 * 16, 32 * 16 + 2 * 32 * 288)
    assert usual.shape == theirs.shape and (usual != theirs).any()
    assert sorted(usual[body]) == sorted(theirs[body])
    usual[body] = theirs[body] = 0
    assert (usual == theirs).all()


def test_warpgroups_come_first_where_they_may(random, monkeypatch):
    monkeypatch.setattr(layout, "WARPGROUP_TILES", ((512, 512, 12, 1), (32, 20, 12, 1)))
    format = Format(64, 64)
    for layers, channels, arch, wanted in (
        (6, 32, "sm_90", True), (6, 20, "sm_90", True), (6, 16, "sm_90", False),
        (0, 32, "sm_90", False), (6, 32, "sm_120", False), (6, 32, "", False),
    ):  # fmt: skip
        found = choose(reference.model(random, 2, layers, channels), format, HOPPER, arch)
        assert found.warpgroups == wanted
        assert not wanted or found.tile == (32, 20)


@pytest.mark.parametrize(
    ("scale", "layers", "channels", "side", "wide", "phases"),
    [(2, 2, 16, 5, 16, 8), (3, 1, 20, 3, 32, 16), (4, 0, 3, 5, 16, 16)],
)
def test_weights_one_after_another(random, scale, layers, channels, side, wide, phases):
    """First, body, linear filter, last; taps before channels, zeros where there is nothing."""
    model = reference.model(random, scale, layers, channels, side)
    words, at = operands(model), 0
    assert words.dtype == np.float16
    parts = [(model.first_weight[:, None], wide, 1)]
    parts += [(weight, wide, wide) for weight in model.body_weight]
    parts += [(model.skip[:, None], phases, 1), (model.last_weight, phases, wide)]
    for weight, columns, given in parts:
        count, had, taps, _ = weight.shape
        inner = -(-taps * taps * given // 16) * 16
        size = columns * inner
        found = unpacked(words[at : at + size], columns, inner)
        whole = found[:, : taps * taps * given].reshape(columns, taps, taps, given)
        assert (whole[:count, :, :, :had] == weight.transpose(0, 2, 3, 1)).all()
        assert np.count_nonzero(found) == np.count_nonzero(weight)
        at += size
    assert at == words.size


def test_bias_and_slope_one_after_another(random):
    model = reference.model(random, 3, 2, 20)
    rows = numbers(model)
    assert rows.dtype == np.float32 and rows.size == 3 * 2 * 32 + 16
    pairs = rows[: 3 * 64].reshape(3, 2, 32)
    assert (pairs[0, :, :20] == [model.first_bias, model.first_slope]).all()
    assert (pairs[1:, 0, :20] == model.body_bias).all()
    assert (pairs[1:, 1, :20] == model.body_slope).all()
    assert (pairs[:, :, 20:] == 0).all()
    assert (rows[-16:-7] == model.last_bias).all() and (rows[-7:] == 0).all()


@pytest.mark.parametrize(
    ("limit", "layers", "channels", "tile", "blocks"),
    [
        (HOPPER, 4, 16, (32, 32), 2),
        (HOPPER, 5, 16, (64, 32), 1),
        (HOPPER, 4, 32, (32, 32), 1),
        (HOPPER, 5, 32, (32, 24), 1),
        (AMPERE, 4, 32, (32, 16), 1),
        (BLACKWELL, 4, 16, (32, 24), 1),
        (BLACKWELL, 4, 32, (16, 16), 1),
        (TURING, 4, 32, (16, 8), 1),
        (TURING, 0, 3, (32, 32), 1),
        (TURING, 16, 16, None, 0),
        (BLACKWELL, 16, 64, None, 0),
    ],
)
def test_the_largest_tile_that_fits(random, limit, layers, channels, tile, blocks):
    model = reference.model(random, 2, layers, channels)
    found = choose(model, Format(64, 64), limit)
    assert (found and (found.tile, found.blocks)) == (tile and (tile, blocks))


@pytest.mark.parametrize(
    ("layers", "channels", "bits", "tile"),
    [(4, 32, 8, (30, 24)), (5, 32, 8, (30, 24)), (6, 32, 8, (32, 20)), (6, 20, 16, (26, 24)),
     (7, 32, 8, (32, 16)), (16, 32, 8, None), (6, 16, 8, None), (6, 48, 8, None)],
)  # fmt: skip
def test_tiles_of_warpgroups(random, layers, channels, bits, tile):
    """On Hopper only, for bodies of 32 channels; others, and those too deep, are left to warps."""
    model, format = reference.model(random, 2, layers, channels), Format(64, 64, bits)
    found = choose(model, format, HOPPER, "sm_90")
    assert not choose(model, format, HOPPER, "sm_120").warpgroups
    assert found.warpgroups == bool(tile) and found.tile == (tile or found.tile)


@pytest.mark.parametrize(("more", "blocks"), [(1023, 1), (1024, 2), (1 << 20, 2)])
def test_small_tiles_share_a_multiprocessor(random, monkeypatch, more, blocks):
    """Two of 8 warps, if there is memory for both and for what the system takes."""
    monkeypatch.setattr(layout, "TILES", ((32, 32, 8, 1),))
    model, format = reference.model(random, 2, 4, 16), Format(64, 64)
    needed = layouts(model, format)[0].shared
    assert choose(model, format, 2 * needed + more).blocks == blocks


@pytest.mark.cases(4)
@pytest.mark.parametrize("scale", [2, 3, 4])
@pytest.mark.parametrize("layers", [0, 1, 4])
@pytest.mark.parametrize("warpgroups", [False, True])
def test_areas_hold_activations_and_the_result(random, scale, layers, warpgroups):
    model = reference.model(random, scale, layers, 16)
    for usual in layouts(model, Format(64, 64)):
        one = replace(usual, warpgroups=warpgroups)
        across, down = one.tile
        pixels = [(across + 2 * (layers + 1 - warpgroups * k)) * (down + 2 * (layers + 1 - k)) * 32
                  for k in range(layers + 1)]  # fmt: skip
        result = scale**2 * (across * down + 4) * 4
        for k, size in enumerate([*pixels, result]):
            assert size <= one.areas[k % 2] and one.areas[k % 2] % 16 == 0


@pytest.mark.parametrize(
    ("bits", "full_range", "parts"),
    [(8, False, 1), (8, True, 1), (10, False, 1), (12, False, 1), (10, True, 2), (16, False, 2),
     (0, False, 2)],
)  # fmt: skip
def test_v_is_exact_in_its_parts(random, bits, full_range, parts):
    format = Format(8, 8, bits, full_range=full_range)
    assert {one.parts for one in layouts(reference.model(random, 2), format)} == {parts}
    if parts == 1:
        factor, gain = factors(format)
        v = np.arange(1 << bits) * np.float64(factor) - 1
        assert (v.astype(np.float16) == v).all() and factor * gain == 1
