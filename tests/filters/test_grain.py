"""Film grain: random numbers, strength by luma, and that only time, place and seed count."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.filters import grain
from snellen.filters.grain import Grain
from snellen.frames.frame import Format, Frame

WORD = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10 as its paper has it (figure 2 and section 4.2), in Python's integers."""
    (a, b, c, d), (k, m) = counter, key
    for _ in range(10):
        p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = q >> 32 ^ b ^ k, q & WORD, p >> 32 ^ d ^ m, p & WORD
        k, m = k + 0x9E3779B9 & WORD, m + 0xBB67AE85 & WORD
    return a, b, c, d


def grained(format, luma, amount=4, pts=0, seed=0, bits=None):
    """A frame of one luma, or of a plane, with grain; less the plane, as floats."""
    plane = np.broadcast_to(np.asarray(luma, format.dtype), format.shapes[0])
    rest = [np.full(shape, 7, format.dtype) for shape in format.shapes[1:]]
    step = Grain(amount, seed)
    try:
        target = step.prepare(format, bits)
        found = step.run(Frame((plane, *rest), pts, 3))
    finally:
        step.close()
    assert (found.pts, found.duration) == (pts, 3)
    assert [(p.shape, p.dtype) for p in found.planes] == [(s, target.dtype) for s in target.shapes]
    return found.planes[0]


def test_the_reference_is_philox():
    """Known answers of the authors' library Random123."""
    assert philox((0,) * 4, (0,) * 2) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox((WORD,) * 4, (WORD,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("time", "seed"), [(0, 0), (-1, 5), (2**40 + 3, WORD), (0x9E3779B97F4A7C15 - 2**64, 2**31)]
)
def test_random_numbers(time, seed):
    found = np.empty((3, 12), np.int32)
    grain._fill(found, 70, time & WORD, time >> 32 & WORD, seed)
    for row in range(3):
        for group in range(3):
            words = philox((group, 70 + row, time & WORD, time >> 32 & WORD), (seed, 0))
            expected = [sum(word.to_bytes(4, "little")) for word in words]
            assert found[row, 4 * group : 4 * group + 4].tolist() == expected


@pytest.mark.slow
def test_the_blur_of_a_place():
    """A frame's noise is the sum of weighted numbers around each place, whatever the strip."""
    blur = grain.weights(3840, 2160)
    radius = len(blur) // 2
    white = np.empty((40, 200), np.int32)
    grain._fill(white, 64 - radius, 9, 0, 1)
    exact = np.zeros((8, 50), int)
    for i, j in np.ndindex(len(blur), len(blur)):
        part = white[i : i + 8, 64 - radius + j : 114 - radius + j]
        exact += blur[i] * blur[j] * (part - 510)
    np.testing.assert_array_equal(grain.blurred(blur, 0, 8, 50, 9, 1), exact)
    np.testing.assert_array_equal(grain.blurred(blur, 5, 3, 50, 9, 1), exact[5:])


@pytest.mark.slow
@pytest.mark.parametrize(("bits", "full"), [(8, False), (10, False), (8, True), (16, True)])
def test_the_amount(bits, full):
    """Standard deviation in the middle, where rounding adds 1/12; nothing in black and white."""
    format = Format(400, 300, bits, (1, 1), full_range=full)
    unit = 2 ** (bits - 8)
    black, white = (0, 2**bits - 1) if full else (16 * unit, 235 * unit)
    middle = (black + white) // 2
    found = grained(format, middle) - float(middle)
    # A blur of two samples' width leaves some 120 000 / 4 independent numbers: 1 % is 2.4 σ.
    assert np.sqrt(found.var() - 1 / 12) / unit == pytest.approx(4, rel=0.015)
    assert abs(found.mean()) < 0.1 * unit
    quarter = black + (white - black) // 4
    found = grained(format, quarter) - float(quarter)
    assert np.sqrt(found.var() - 1 / 12) / unit == pytest.approx(4 * 0.75**0.5, rel=0.015)
    for flat in (black, white, 0, 2**bits - 1):
        assert (grained(format, flat) == flat).all()


def test_only_time_place_and_seed_count(random):
    format = Format(70, 130, 10, (1, 1))
    plane = random.integers(64, 940, format.shapes[0]).astype(np.uint16)
    with threads.limited(1):
        first = grained(format, plane, pts=5)
    with threads.limited(4):
        again = grained(format, np.pad(plane, ((0, 0), (0, 9)))[:, :-9], pts=5)
    np.testing.assert_array_equal(first, again)
    for other in ({"pts": 6}, {"pts": 5 + 2**32}, {"pts": -5}, {"pts": 5, "seed": 1}):
        assert (grained(format, plane, **other) != first).mean() > 0.5


def test_grain_grows_with_the_picture():
    """Neighbours are as alike at twice the rows as every other sample is: the blur's own shape."""
    small, large = grain.weights(1920, 1080), grain.weights(3840, 2160)
    assert (small == small[::-1]).all() and small.sum() == pytest.approx(256, abs=3)
    deviations = [
        np.sqrt((w * (np.arange(len(w)) - len(w) // 2.0) ** 2).sum() / w.sum())
        for w in (small, large)
    ]
    assert deviations == pytest.approx([0.6, 1.2], rel=0.06)
    assert (grain.weights(1920, 800) == small).all()  # a film with its bars cut off
    assert len(grain.weights(10**5, 10**5)) // 2 <= grain._MARGIN


@pytest.mark.parametrize(("bits", "to", "full"), [(10, 8, False), (8, 10, True), (16, 8, True)])
def test_another_depth(bits, to, full):
    """Rounded once, with grain before; chroma and what has no grain as without it."""
    format = Format(64, 48, bits, (1, 1), full_range=full)
    white = 2**bits - 1 if full else 235 << (bits - 8)
    assert (grained(format, white, bits=to) == (2**to - 1 if full else 235 << (to - 8))).all()
    step = Grain(3)
    step.prepare(format, to)
    planes = tuple(np.full(shape, 1 << (bits - 1), format.dtype) for shape in format.shapes)
    found = step.run(Frame(planes))
    step.close()
    assert all((plane == 1 << (to - 1)).all() for plane in found.planes[1:])
    spread = (found.planes[0].astype(float) - (1 << (to - 1))) / 2 ** (to - 8)
    # In full range the middle is half a code value lower; 0.1 is 3.5 σ of the mean.
    assert abs(spread.mean() + 0.5 * (full and to < bits)) < 0.6 and 2.7 < spread.std() < 3.3


def test_wrong_values():
    for amount in (0, -1, 65, float("nan"), "2", True):
        with pytest.raises(InputError) as error:
            Grain(amount)
        assert error.value.parameter == "grain"
    for seed in (-1, 2**32, 0.5):
        with pytest.raises(InputError) as error:
            Grain(1, seed)
        assert error.value.parameter == "grain_seed"
    with pytest.raises(InputError, match="float samples"):
        Grain(1).outcome(Format(8, 8, 0), 1)
