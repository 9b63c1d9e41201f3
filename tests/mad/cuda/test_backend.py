"""The Scorer on the GPU: the authors' pairs, the reference, every option, the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from snellen import score
from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.mad.scorer import Scorer
from support.mad import drawn, pairs, reference
from support.mad.checks import NEAR, check_maps, near, numbers
from support.mad.precision import DTYPES

pytestmark = pytest.mark.gpu

HOW = {
    "MAD HI LO": {},
    "MAD_uint8_path HI_uint8_path LO": {"eight_bit_lut": True},
    "MAD_apr2010 HI_apr2010 LO": {"hi_scale": 1.0},
    "MAD_kinside HI_kinside LO": {"variant": "paper"},
}
"""How each of the authors' columns comes about."""


PRECISIONS = (None, *DTYPES)


def check_authors(pair, dtype):
    for columns, how in HOW.items():
        found = score(pair.reference, pair.distorted, device="cuda", dtype=dtype, **how)
        wanted = [pair.scores[column] for column in columns.split()]
        assert numbers(found) == near(wanted, pair.reference.shape, dtype), columns


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores_of_the_pairs_in_the_clone(name, dtype):
    (pair,) = pairs.authors([name])
    check_authors(pair, dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("name", pairs.NAMES)
def test_the_authors_scores_and_maps(shared_data, name, dtype):
    (pair,) = pairs.shared(shared_data, [name])
    check_authors(pair, dtype)
    if pair.maps:
        found = score(pair.reference, pair.distorted, device="cuda", maps=True, dtype=dtype)
        wanted = [pair.maps[kind] for kind in ("hi", "lo")]
        check_maps(found, wanted, dtype, exact=1e-6)  # theirs are kept as float32


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("how", HOW.values(), ids=str)
@pytest.mark.parametrize("name", pairs.CLONE)
def test_maps_are_those_of_the_cpu(name, how, dtype):
    (pair,) = pairs.authors([name])
    images = pair.reference, pair.distorted
    found = score(*images, device="cuda", maps=True, dtype=dtype, **how)
    wanted = score(*images, device="cpu", maps=True, **how)
    check_maps(found, [wanted.detection, wanted.appearance], dtype)
    assert numbers(found) == numbers(score(*images, device="cuda", dtype=dtype, **how))


SIZES = [
    (34, 34), (35, 34), (34, 35), (37, 53), (34, 200), (200, 35), (48, 64), (117, 90), (101, 163),
    (129, 128), (150, 61), (199, 200), (367, 401),
]  # fmt: skip
"""The last is float32's, if nobody asks for float64."""


def check(found, planes, dtype=None, **how):
    """Beside the reference, of grey 0 … 255."""
    wanted = reference.mad(*planes, **how)
    (hi, lo), least = NEAR[dtype], 1e-9 if dtype == "float64" else 1e-6
    assert found.hi == pytest.approx(wanted.hi, rel=hi, abs=least)
    assert (found.mad, found.lo) == pytest.approx((wanted.mad, wanted.lo), rel=lo, abs=least)


@pytest.mark.parametrize("how", HOW.values(), ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_against_the_reference(random, size, how):
    planes = drawn.pair(random, size, sigma=random.choice([3, 10, 30]))
    for dtype in PRECISIONS:
        check(score(*planes, device="cuda", dtype=dtype, **how), planes, dtype, **how)


def test_random_sizes(random):
    for _ in range(12):
        planes = drawn.pair(random, tuple(random.integers(34, 201, 2).tolist()))
        for dtype in PRECISIONS:
            check(score(*planes, device="cuda", dtype=dtype), planes, dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("how", [{}, {"variant": "paper"}, {"eight_bit_lut": True}], ids=str)
@pytest.mark.parametrize(("bits", "peak"), [(8, 235), (10, 1023), (12, 4095), (16, 65535), (0, 1)])
@pytest.mark.parametrize("size", [(61, 83), (64, 80)])
def test_every_type_of_sample(random, size, bits, peak, how, dtype):
    one = drawn.scene(random, size)
    kind = Format(*size, bits).dtype
    planes = [plane * (peak / 255) for plane in (one, drawn.noisy(random, one))]
    planes = [(np.rint(plane) if bits else plane).astype(kind) for plane in planes]
    greys = [plane.astype(np.float64) * (255 / peak) for plane in planes]
    found = score(*planes, data_range=peak, device="cuda", dtype=dtype, **how)
    check(found, greys, dtype, **how)
    with Scorer(device="cuda", dtype=dtype, **how) as scorer:
        scorer.prepare(Format(size[1], size[0], bits, white=peak))
        check(scorer.run(*planes), greys, dtype, **how)


def test_samples_beyond_the_depth_have_the_lightness_of_its_last(random):
    """65535 where 10 bits were promised: no foreign memory is read."""
    planes = [np.rint(4 * plane).astype(np.uint16) for plane in drawn.pair(random, (40, 50))]
    planes[1][3:9, 5:30] = 65535
    found = []
    for device in ("cuda", "cpu"):
        with Scorer(device=device) as scorer:
            scorer.prepare(Format(50, 40, 10))
            found.append(numbers(scorer.run(*planes)))
    assert found[0] == pytest.approx(found[1], rel=1e-9)


ODD = [(34, 34), (35, 37), (47, 64), (64, 51)]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("size", ODD)
def test_identical_pictures_score_0(random, size, dtype):
    one, _ = drawn.pair(random, size)
    for image in (one, one.astype(np.float32), np.stack([one, one // 2, one], axis=-1)):
        how = {"data_range": 255, "device": "cuda", "maps": True, "dtype": dtype}
        found = score(image, image.copy(), **how)
        assert numbers(found) == [0, 0, 0]
        assert not found.detection.any() and not found.appearance.any()


def test_in_the_dark_nothing_is_detected(random):
    one, other = (random.integers(10, 40, (50, 61)).astype(np.uint8) for _ in range(2))
    found = score(one, other, device="cuda")
    assert found.mad == found.hi == 0 and found.lo > 0
    check(found, (one, other))


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("value", [0, 77, 255])
@pytest.mark.parametrize("size", ODD)
def test_constant_pictures(random, size, value, dtype):
    """Whatever rounding an FFT leaves of them: no response, and so exactly 0 between two."""
    flat = np.full(size, value, np.uint8)
    noise = random.integers(90, 170, size).astype(np.uint8)
    how = {"device": "cuda", "dtype": dtype}
    assert numbers(score(flat, np.full(size, 128, np.uint8), **how))[::2] == [0, 0]
    for planes in ((flat, noise), (noise, flat)):
        found = score(*planes, maps=True, **how)
        assert np.isfinite(found.detection).all() and np.isfinite(found.appearance).all()
        check(found, planes, dtype)


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("size", [(61, 83), (64, 80)])
def test_a_fade_to_black(random, size, dtype):
    one = drawn.scene(random, size)
    other = drawn.noisy(random, one)
    with Scorer(device="cuda", dtype=dtype) as scorer:
        scorer.prepare(Format(size[1], size[0], 0, white=255))
        for level in (1, 0.5, 0.2, 0.05, 0):
            planes = [(level * plane).astype(np.float32) for plane in (one, other)]
            found = scorer.run(*planes)
            check(found, planes, dtype)
        assert numbers(found) == [0, 0, 0]


@pytest.mark.parametrize("size", [(41, 53), (64, 150)])
def test_one_reference_against_many(random, size):
    one, first = drawn.pair(random, size)
    others = [first, one, np.full(size, 9, np.uint8), *(drawn.pair(random, size)[1] for _ in "ab")]
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = [scorer.run(one, other) for other in others]
        scorer.set_reference(one)
        assert [scorer.compare(other) for other in others] == wanted
        assert [scorer.compare(other) for other in reversed(others)] == wanted[::-1]
        with pytest.raises(InputError, match="prepare again"):
            scorer.set_reference(one[1:])
        scorer.set_reference(others[3])
        assert scorer.compare(others[3]).lo == 0
    assert wanted == [score(one, other, device="cuda") for other in others]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_precision_asked_for(cuda, random, dtype):
    """At any size, by Scorer and score, of arrays here and there."""
    for size in ((40, 50), (367, 401)):
        planes = drawn.pair(random, size)
        with Scorer(device="cuda", dtype=dtype) as scorer:
            assert scorer.dtype == dtype
            scorer.prepare(Format(size[1], size[0]))
            assert scorer.dtype == dtype
            found = scorer.run(*planes, maps=True)
        assert found.detection.dtype == found.appearance.dtype == dtype
        there = score(*map(cuda.asarray, planes), maps=True, dtype=dtype)
        assert numbers(there) == numbers(found) and there.appearance.dtype == dtype
    assert Scorer(device="auto", dtype="float64").device == "cuda:0"


def test_the_precision_where_none_is_asked_for():
    """Float64 up to 2^17 pixels; of each format anew."""
    with Scorer(device="cuda") as scorer:
        assert scorer.dtype is None
        for width, dtype in ((256, "float64"), (257, "float32"), (34, "float64")):
            scorer.prepare(Format(width, 512))
            assert scorer.dtype == dtype


def test_the_device_is_named():
    scorer = Scorer(device="auto")
    assert (scorer.device, scorer.devices, scorer.slots) == ("cuda:0", ("cuda:0",), 1)
    assert scorer.device_name != "cpu"
