"""Large areas of one value: float32 would measure its rounding there, so float64 is taken."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import score
from snellen.frames.frame import Format
from snellen.mad.cuda.flat import SIDE, Flat
from snellen.mad.cuda.precision import samples
from snellen.mad.scorer import Scorer
from support.mad import drawn
from support.mad.drawn import page
from support.mad.precision import DTYPES

pytestmark = pytest.mark.gpu


PAGES = {
    "a photo on a page": ((500, 900), (127, 200), (60, 80), 255),
    "a patch on grey": ((400, 400), (40, 40), (300, 20), 128),
    "4:3 in 16:9": ((427, 880), (427, 640), (0, 120), 16),
    "a letterbox": ((480, 640), (340, 640), (70, 0), 16),
}


@pytest.mark.parametrize("name", PAGES)
def test_flat_areas_are_scored_in_float64(cuda, random, name):
    planes = page(random, *PAGES[name])
    found, wanted = (score(*planes, device=d, maps=True) for d in ("cuda", "cpu"))
    one, other = ([s.mad, s.hi, s.lo] for s in (found, wanted))
    # Both float64. Of the large page even that leaves few digits, whoever computes it: SciPy's and
    # NumPy's transforms differ by up to 1.2e-8 there (test_cpu.py), so ten times as much.
    assert one == pytest.approx(other, rel=1e-7 if name == "a photo on a page" else 1e-9)
    assert found.appearance.dtype == np.float64
    # What float32 makes of it, for those who insist: no tolerance is promised.
    assert np.isfinite(score(*planes, device="cuda", dtype="float32").mad)


def test_only_pairs_with_flat_areas(cuda, random):
    size = (400, 420)
    plain, flat = drawn.pair(random, size), page(random, size, (200, 420))
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = scorer.run(*plain)
        assert scorer.dtype == "float32" and not scorer._backends.finer
        found = scorer.run(*flat)
        assert scorer._backends.finer
        assert scorer.run(*plain) == wanted
        scorer.set_reference(plain[0])
        mixed = scorer.compare(flat[1])
        assert scorer.compare(plain[1]) == wanted  # the reference is still held
        there = [cuda.asarray(plane) for plane in flat]
        assert scorer.run(*there) == found
    for one, planes in ((found, flat), (mixed, (plain[0], flat[1]))):
        other = score(*planes, device="cpu")
        assert [one.mad, one.hi, one.lo] == pytest.approx([other.mad, other.hi, other.lo], rel=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [8, 12, 0])
def test_tiles_of_one_value(cuda, random, bits, dtype):
    format = Format(200, 150, bits)
    look = Flat(format, dtype)
    planes = random.integers(0, 256, (2, 150, 200)).astype(format.dtype)

    def found():
        out = cuda.zeros(1)
        look(cuda.asarray(planes, samples(format, dtype)), out)
        return float(out.get()[0])

    assert found() == 0
    planes[1, SIDE : 2 * SIDE, 2 * SIDE : 3 * SIDE] = 7
    assert found() == 1
    planes[1, 2 * SIDE - 1, 3 * SIDE - 1] = 8  # the last of the tile
    assert found() == 0
    planes[0, :SIDE, :SIDE] = 9
    assert found() == 1


def test_pictures_smaller_than_a_tile(cuda):
    out = cuda.zeros(1)
    Flat(Format(63, 100), "float32")(cuda.zeros((2, 100, 63), "uint8"), out)
    assert not out.get().any()
