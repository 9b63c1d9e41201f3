"""SSIMULACRA 2.1 beside the reference program's scores, and beside its definition in float64."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.errors import InputError
from snellen.metrics.colours import of_rgb
from snellen.metrics.ssimulacra2 import cpu, definition
from snellen.metrics.ssimulacra2.cpu import maps, ssimulacra2
from support import ssimulacra2 as reference

ROUNDING = 2.0**-24
"""Of one operation of float32, relative."""

TABLE = json.loads(Path(__file__).with_name("ssimulacra2.json").read_text("utf-8"))
SMALL = [row for row in TABLE["rows"] if row[2] * row[3] <= 40_000]
LARGE = [row for row in TABLE["rows"] if row not in SMALL]


def linear(pixels):
    return of_rgb(pixels, 255).linear()


def light(*case):
    return [linear(one) for one in reference.pictures(*case)]


@pytest.mark.parametrize("rows", [SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=len)
def test_as_the_reference_program(rows):
    """The table says which program and version. All its rounding is ours, too, but that of sums.

    These are float64; scores are printed with 8 digits. 1e-6 of what is missing to 100.
    """
    for *case, checksum, wanted in rows:
        one, other = reference.pictures(*case)
        assert zlib.crc32(other, zlib.crc32(one)) == checksum, case
        found = ssimulacra2(linear(one), linear(other))
        assert found == pytest.approx(wanted, abs=1e-6 * (101 - wanted)), case


@pytest.mark.parametrize("shape", [(8, 8), (16, 9), (23, 40)])
def test_maps_by_the_definition(shape):
    """Float32 against float64, in pictures so small that few roundings add up.

    The recursion in which errors grow most shows them 1 / sin(π / 10) = 3.2 times. Of three
    roundings a step, which are independent, √(3 n) · 3.2 add up in n steps: in 50 steps and two
    directions 56 roundings of means and squares below 1, or 3.3e-6. The error of SSIM divides four
    of these by C2: 1.5 %. It is a tenth of that in nearly all pixels, and its mean over them, which
    the score takes, is less again.
    """
    pair = light("noise", "noisy 40", *shape, 5)
    score, found = maps(*pair)
    wanted = reference.scales(*pair)
    weights = definition.weights(len(wanted)).sum(axis=2)
    assert [one.shape for one in found] == definition.sizes(*shape)
    for scale, (one, other) in enumerate(zip(found, wanted, strict=True)):
        both = np.tensordot(weights[:, scale], np.array(other), 2)
        np.testing.assert_allclose(one, both, rtol=0, atol=0.015 * weights[:, scale].sum())
        assert one.max() > 0
    assert score == ssimulacra2(*pair)
    assert score == pytest.approx(reference.score(*pair), abs=0.05)


def test_colours_by_the_definition():
    """Cube roots below 1 within 6 roundings; X is 7 times the difference of two, and rounded."""
    pair = light("noise", "inverted", 19, 300, 1)
    scale = cpu.Scale((pair[0], pair[1]), definition.weights(6)[:, 0], False)
    with Pool(2) as pool:
        smaller = scale.blurred(pool, True)
    for planes, colours, half in zip(pair, scale._colours, smaller, strict=True):
        np.testing.assert_allclose(
            colours, reference.xyb(planes), rtol=0, atol=(7 * 2 * 6 + 4) * ROUNDING
        )
        np.testing.assert_allclose(half, reference.half(planes), rtol=4 * ROUNDING)


def test_blur_by_the_definition():
    """Across only; 300 steps as in the maps above: √(3 · 300) · 3.2 roundings of values below 2."""
    pair = light("textured", "coded 3", 19, 300, 1)
    scale = cpu.Scale((pair[0], pair[1]), definition.weights(6)[:, 1], False)
    with Pool(2) as pool:
        scale.blurred(pool, False)
    a, b = scale._colours.astype(np.float64)
    wanted = np.stack([a, b, a * a, b * b, a * b], axis=1).reshape(15, *a.shape[1:])
    for found, plane in zip(scale._planes, wanted, strict=True):
        np.testing.assert_allclose(found, reference.along(plane.T).T, rtol=0, atol=200 * ROUNDING)


def test_equal_pictures():
    """Exactly 100, whatever they show; and all scores are at most that."""
    for scene in reference.SCENES:
        one, _ = light(scene, "same", 40, 61, 3)
        assert ssimulacra2(one, one.copy()) == 100
        assert not any(part.any() for part in maps(one, one)[1])


def test_threads_do_not_matter():
    pair = light("textured", "noisy 8", 90, 300, 2)
    found = set()
    for count in (1, 2, 5):
        with threads.limited(count):
            found.add(ssimulacra2(*pair))
    assert len(found) == 1


def test_the_worse_has_the_lower_score():
    found = [ssimulacra2(*light("textured", f"noisy {most}", 120, 130, 2)) for most in (1, 8, 40)]
    assert found == sorted(found, reverse=True) and 90 < found[0] < 100


def test_scales_and_their_weights():
    """A scale needs 8 pixels of the one before it. Weights are read without a gap."""
    assert definition.sizes(8, 8) == [(8, 8), (4, 4)]
    assert definition.sizes(113, 400)[-1] == (4, 13) and len(definition.sizes(112, 400)) == 5
    assert len(definition.sizes(9000, 9000)) == 6
    assert definition.weights(6)[1, 2, 0, 0] == 225.20515300849274
    few = definition.weights(2)
    assert few[1, 0, 1, 0] == definition.weights(6)[0, 2, 1, 0] == 1.8422455520539298


@pytest.mark.parametrize(
    ("shapes", "message"),
    [(((3, 8, 7), (3, 8, 7)), "got pictures of 7×8; expected at least 8×8"),
     (((3, 8, 8), (3, 8, 9)), "(3, 8, 8) and (3, 8, 9); expected two of one shape, (3, H, W)"),
     (((8, 8, 3), (8, 8, 3)), "(8, 8, 3) and"), (((8, 8), (8, 8)), "(8, 8) and")],
)  # fmt: skip
@pytest.mark.cases
def test_what_is_refused(shapes, message):
    with pytest.raises(InputError) as caught:
        ssimulacra2(*map(np.zeros, shapes))
    assert message in str(caught.value)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_no_score_of_what_is_not_finite(wrong):
    one = np.zeros((3, 9, 9), np.float32)
    other = one.copy()
    other[1, 4, 4] = wrong
    for pair in ((one, other), (other, one)):
        with pytest.raises(InputError, match="not finite"):
            ssimulacra2(*pair)
