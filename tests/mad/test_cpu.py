"""The CPU backend: the authors' scores, the reference's at any size, and empty pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.frames.frame import Format
from snellen.mad.cpu import Backend
from snellen.mad.definition import Definition
from support.mad import pairs, reference
from support.mad.drawn import SIZES, noisy, pair, scene

COLUMNS = {
    Definition(): ("MAD", "HI"),
    Definition(eight_bit_lut=True): ("MAD_uint8_path", "HI_uint8_path"),
    Definition(hi_scale=1): ("MAD_apr2010", "HI_apr2010"),
    Definition("paper"): ("MAD_kinside", "HI_kinside"),
}
DTYPES = ("float64", "float32")


def scored(one, other, dtype="float64", definition=None, bits=8, peak=255.0):
    """One pair through a new backend, with its maps."""
    backend = Backend(definition or Definition(), Format(*one.shape[::-1], bits), peak, dtype)
    backend.set_reference(one)
    score = backend.compare(other, maps=True)
    backend.close()
    assert score.detection.dtype == score.appearance.dtype == dtype
    assert score.detection.shape == score.appearance.shape == one.shape
    return score


def within(dtype, shape):
    """How near a score must be.

    float64: the two sides do the same in another order; 1e-13 in fact. float32: what is asked of
    it; in fact 3e-6 in the smallest pictures, where few blocks are pooled, else 1e-6.
    """
    if dtype == "float64":
        return {"rel": 1e-9, "abs": 1e-12}
    return {"rel": 3e-5 if min(shape) < 48 else 1e-5, "abs": 1e-6}


def compare(score, wanted, dtype):
    """Check scores and maps against the reference's."""
    shape = wanted.detection.shape
    for one, other in zip((score.mad, score.hi, score.lo), wanted[:3], strict=True):
        assert one == pytest.approx(other, **within(dtype, shape))
    # float32: kurtosis of blocks that are nearly flat.
    share = 1e-9 if dtype == "float64" else 1e-3
    for one, other in zip((score.detection, score.appearance), wanted[3:], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=share * other.max() + 1e-12)


def authors(found, dtype):
    """Check one pair of pictures with the authors' scores."""
    one, other = (reference.luma(p).astype(np.uint8) for p in (found.reference, found.distorted))
    near = within(dtype, one.shape)
    for definition, (mad, hi) in COLUMNS.items():
        score = scored(one, other, dtype, definition)
        assert score.mad == pytest.approx(found.scores[mad], **near)
        assert score.hi == pytest.approx(found.scores[hi], **near)
        assert score.lo == pytest.approx(found.scores["LO"], **near)
    if found.maps:
        score = scored(one, other, dtype)
        share = {"float64": 1e-6, "float32": 1e-3}[dtype]  # theirs are kept as float32; as above
        for name, plane in (("hi", score.detection), ("lo", score.appearance)):
            top = found.maps[name].max()
            np.testing.assert_allclose(plane, found.maps[name], rtol=0, atol=share * top)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores_of_the_pairs_in_the_clone(name, dtype):
    (found,) = pairs.authors([name])
    authors(found, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(name, dtype, marks=[] if name in pairs.QUICK else pytest.mark.slow)
        for name in pairs.NAMES
        for dtype in DTYPES
    ],
)
def test_the_authors_scores_and_maps(shared_data, name, dtype):
    (found,) = pairs.shared(shared_data, [name])
    authors(found, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("definition", COLUMNS, ids=["2011", "lut", "2010", "paper"])
def test_every_version_against_the_reference(random, shape, definition, dtype):
    one, other = pair(random, shape)
    wanted = reference.mad(
        one, other, definition.variant, definition.hi_scale, definition.eight_bit_lut
    )
    compare(scored(one, other, dtype, definition), wanted, dtype)
    assert wanted.hi > 0


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.tuples(st.integers(34, 90), st.integers(34, 90)),
    sigma=st.sampled_from([1.0, 5.0, 40.0]),
    dtype=st.sampled_from(DTYPES),
)
def test_any_size(seed, size, sigma, dtype):
    one, other = pair(np.random.default_rng(seed), size, sigma)
    compare(scored(one, other, dtype), reference.mad(one, other), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [0, 10, 12, 16])
def test_depths(random, bits, dtype):
    """Samples are scaled to 0 … 255, and nothing is rounded on the way."""
    peak = float((1 << bits) - 1) if bits else 1.0
    plane = scene(random, (45, 38))
    planes = [p / 255 * peak for p in (plane, noisy(random, plane))]
    one, other = (np.rint(p).astype(np.uint16) if bits else p for p in planes)
    wanted = reference.mad(one * (255 / peak), other * (255 / peak))
    compare(scored(one, other, dtype, None, bits, peak), wanted, dtype)
    if not bits:
        single = [p.astype(np.float32) for p in (one, other)]
        wanted = reference.mad(*(p.astype(np.float64) * 255 for p in single))
        compare(scored(*single, dtype, None, 0, 1.0), wanted, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("definition", COLUMNS, ids=["2011", "lut", "2010", "paper"])
def test_identical_pictures_score_exactly_0(random, shape, definition, dtype):
    one, _ = pair(random, shape)
    score = scored(one, one.copy(), dtype, definition)
    assert (score.mad, score.hi, score.lo) == (0, 0, 0)
    assert not score.detection.any() and not score.appearance.any()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [*SIZES, (41, 47), (46, 38)])
@pytest.mark.parametrize("value", [0, 1, 77, 255])
def test_constant_pictures(random, shape, value):
    """A fade to black, a title card: no statistics, at any size, whatever the FFT would leave."""
    flat, grey = np.full(shape, value, np.uint8), np.full(shape, 128, np.uint8)
    _, busy = pair(random, shape)
    for dtype in DTYPES:
        score = scored(flat, grey, dtype)
        assert (score.mad, score.lo) == (0, 0) and not score.appearance.any()
    for one, other in ((flat, busy), (busy, flat)):
        wanted = reference.mad(one, other)
        for dtype in DTYPES:
            compare(scored(one, other, dtype), wanted, dtype)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_constant_floats(value, kind):
    """Their mean, summed in floats, is not always themselves."""
    flat = np.full((37, 59), value, kind)
    score = scored(flat, flat * kind(0.5), bits=0, peak=1.0)
    assert (score.mad, score.lo) == (0, 0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SIZES)
def test_in_the_dark_nothing_is_seen(random, shape, dtype):
    one, other = (random.integers(0, 40, shape).astype(np.uint8) for _ in range(2))
    score = scored(one, other, dtype)
    assert (score.mad, score.hi) == (0, 0) and score.lo > 0
    assert not score.detection.any()


def test_one_reference_many_pictures(random):
    one, other = pair(random, (50, 41))
    third = noisy(random, one, 30).astype(np.uint8)
    backend = Backend(Definition(), Format(41, 50), 255.0, "float64")
    backend.set_reference(one)
    found = [backend.compare(p, maps=True) for p in (other, third, other)]
    kept = [score.appearance.copy() for score in found]
    backend.set_reference(other)
    turned = backend.compare(one)
    backend.close()
    for score, plane, picture in zip(found, kept, (other, third, other), strict=True):
        alone = scored(one, picture)
        assert (score.mad, score.hi, score.lo) == (alone.mad, alone.hi, alone.lo)
        assert (score.appearance == plane).all() and (plane == alone.appearance).all()
    assert turned.mad == scored(other, one).mad and turned.detection is None


def test_few_lanes_give_the_same(random, monkeypatch):
    """Large pictures have fewer subbands under way than there are threads."""
    one, other = pair(random, (50, 41))
    wanted = scored(one, other)
    monkeypatch.setattr("snellen.mad.cpu.SCRATCH", 1)
    found = scored(one, other)
    # Threads of one FFT split its lines otherwise among vector registers.
    assert found.mad == pytest.approx(wanted.mad, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "photo", "at", "white", "rel"),
    [
        # Far from the photo responses are as small as float64 has digits: of three such pages the
        # backend and the reference, whose transforms round otherwise, were 1.2e-8 apart at most.
        pytest.param((500, 900), (127, 200), (60, 80), 255, 1e-7, marks=pytest.mark.slow),
        pytest.param((400, 400), (40, 40), (300, 20), 128, 1e-8, marks=pytest.mark.slow),  # 5e-10
        ((140, 120), (40, 40), (60, 20), 128, 1e-8),
        pytest.param((427, 880), (427, 640), (0, 120), 16, 1e-9, marks=pytest.mark.slow),
    ],
)
def test_large_areas_of_one_value(random, size, photo, at, white, rel):
    planes = np.full((2, *size), white, np.uint8)
    rows, columns = (slice(first, first + n) for first, n in zip(at, photo, strict=True))
    planes[:, rows, columns] = pair(random, photo)
    found = scored(*planes, "float64")
    assert found.lo == pytest.approx(reference.pooled(reference.appearance(*planes)), rel=rel)
