"""The Scorer on the GPU: the authors' pairs, the reference, every option, the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from mad import drawn, pairs, reference
from snellen import score
from snellen.errors import InputError
from snellen.frame import Format
from snellen.mad.cuda import appearance
from snellen.mad.cuda.arm import Arm
from snellen.mad.definition import Definition
from snellen.mad.scorer import Scorer

pytestmark = pytest.mark.gpu

HOW = {
    "MAD HI LO": {},
    "MAD_uint8_path HI_uint8_path LO": {"eight_bit_lut": True},
    "MAD_apr2010 HI_apr2010 LO": {"hi_scale": 1.0},
    "MAD_kinside HI_kinside LO": {"variant": "paper"},
}
"""How each of the authors' columns comes about."""


def near(values, shape):
    """What float32 must give: 1e-5, below 64 × 48 pixels 3e-5, and 1e-6 where nothing is seen."""
    small = min(shape[:2]) < 48 or max(shape[:2]) < 64
    return pytest.approx(values, rel=3e-5 if small else 1e-5, abs=1e-6)


def numbers(found):
    return [found.mad, found.hi, found.lo]


def check_maps(found, wanted):
    """1e-3 of the greatest: kurtosis in flat blocks is what FFTs leave there."""
    for one, other in zip((found.detection, found.appearance), wanted, strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-3 * other.max() or 1e-9)


def check_authors(pair):
    for columns, how in HOW.items():
        found = score(pair.reference, pair.distorted, device="cuda", **how)
        wanted = [pair.scores[column] for column in columns.split()]
        assert numbers(found) == near(wanted, pair.reference.shape), columns


@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores_of_the_pairs_in_the_clone(name):
    (pair,) = pairs.authors([name])
    check_authors(pair)


@pytest.mark.parametrize("name", pairs.NAMES)
def test_the_authors_scores_and_maps(shared_data, name):
    (pair,) = pairs.shared(shared_data, [name])
    check_authors(pair)
    if pair.maps:
        found = score(pair.reference, pair.distorted, device="cuda", maps=True)
        check_maps(found, [pair.maps[kind] for kind in ("hi", "lo")])


@pytest.mark.parametrize("how", HOW.values(), ids=str)
@pytest.mark.parametrize("name", pairs.CLONE)
def test_maps_are_those_of_the_cpu(name, how):
    (pair,) = pairs.authors([name])
    images = pair.reference, pair.distorted
    found, wanted = (score(*images, device=d, maps=True, **how) for d in ("cuda", "cpu"))
    check_maps(found, [wanted.detection, wanted.appearance])
    assert numbers(found) == numbers(score(*images, device="cuda", **how))


# Pictures that are drawn. What LO may be off is set by what float32 FFTs leave in flat patches and
# in wavelengths longer than a small picture: in an emulation with NumPy up to 7e-5.
LO = 2e-4

SIZES = [
    (34, 34), (35, 34), (34, 35), (37, 53), (34, 200), (200, 35), (48, 64), (117, 90), (101, 163),
    (129, 128), (150, 61), (199, 200),
]  # fmt: skip


def check(found, planes, **how):
    """Beside the reference, of grey 0 … 255."""
    wanted = reference.mad(*planes, **how)
    assert found.hi == pytest.approx(wanted.hi, rel=1e-5, abs=1e-6)  # as for the authors' pairs
    assert (found.mad, found.lo) == pytest.approx((wanted.mad, wanted.lo), rel=LO, abs=1e-6)


@pytest.mark.parametrize("how", HOW.values(), ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_against_the_reference(random, size, how):
    planes = drawn.pair(random, size, sigma=random.choice([3, 10, 30]))
    check(score(*planes, device="cuda", **how), planes, **how)


def test_random_sizes(random):
    for _ in range(12):
        planes = drawn.pair(random, tuple(random.integers(34, 201, 2).tolist()))
        check(score(*planes, device="cuda"), planes)


@pytest.mark.parametrize("how", [{}, {"variant": "paper"}, {"eight_bit_lut": True}], ids=str)
@pytest.mark.parametrize(("bits", "peak"), [(8, 235), (10, 1023), (12, 4095), (16, 65535), (0, 1)])
@pytest.mark.parametrize("size", [(61, 83), (64, 80)])
def test_every_type_of_sample(random, size, bits, peak, how):
    one = drawn.scene(random, size)
    kind = Format(*size, bits).dtype
    planes = [plane * (peak / 255) for plane in (one, drawn.noisy(random, one))]
    planes = [(np.rint(plane) if bits else plane).astype(kind) for plane in planes]
    greys = [plane.astype(np.float64) * (255 / peak) for plane in planes]
    check(score(*planes, data_range=peak, device="cuda", **how), greys, **how)
    with Scorer(device="cuda", **how) as scorer:
        scorer.prepare(Format(size[1], size[0], bits), peak)
        check(scorer.run(*planes), greys, **how)


def test_samples_beyond_the_depth_read_no_foreign_memory(random):
    """Scorer takes samples as they are: 65535 where 10 bits were promised."""
    planes = [np.rint(4 * plane).astype(np.uint16) for plane in drawn.pair(random, (40, 50))]
    planes[1][3:9, 5:30] = 65535
    found = []
    for device in ("cuda", "cpu"):
        with Scorer(device=device) as scorer:
            scorer.prepare(Format(50, 40, 10))
            found.append(numbers(scorer.run(*planes)))
    assert found[0] == pytest.approx(found[1], rel=LO)


ODD = [(34, 34), (35, 37), (47, 64), (64, 51)]


@pytest.mark.parametrize("size", ODD)
def test_identical_pictures_score_0(random, size):
    one, _ = drawn.pair(random, size)
    for image in (one, one.astype(np.float32), np.stack([one, one // 2, one], axis=-1)):
        found = score(image, image.copy(), data_range=255, device="cuda", maps=True)
        assert numbers(found) == [0, 0, 0]
        assert not found.detection.any() and not found.appearance.any()


def test_in_the_dark_nothing_is_detected(random):
    one, other = (random.integers(10, 40, (50, 61)).astype(np.uint8) for _ in range(2))
    found = score(one, other, device="cuda")
    assert found.mad == found.hi == 0 and found.lo > 0
    check(found, (one, other))


@pytest.mark.parametrize("value", [0, 77, 255])
@pytest.mark.parametrize("size", ODD)
def test_constant_pictures(random, size, value):
    """Whatever rounding an FFT leaves of them: no response, and so exactly 0 between two."""
    flat = np.full(size, value, np.uint8)
    noise = random.integers(90, 170, size).astype(np.uint8)
    assert numbers(score(flat, np.full(size, 128, np.uint8), device="cuda"))[::2] == [0, 0]
    for planes in ((flat, noise), (noise, flat)):
        found = score(*planes, device="cuda", maps=True)
        assert np.isfinite(found.detection).all() and np.isfinite(found.appearance).all()
        check(found, planes)


@pytest.mark.parametrize("size", [(61, 83), (64, 80)])
def test_a_fade_to_black(random, size):
    one = drawn.scene(random, size)
    other = drawn.noisy(random, one)
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0], 0), 255)
        for level in (1, 0.5, 0.2, 0.05, 0):
            planes = [(level * plane).astype(np.float32) for plane in (one, other)]
            found = scorer.run(*planes)
            check(found, planes)
        assert numbers(found) == [0, 0, 0]


@pytest.mark.parametrize("size", [(41, 53), (64, 150)])
def test_one_reference_against_many(random, size):
    one, first = drawn.pair(random, size)
    others = [first, one, np.full(size, 9, np.uint8), *(drawn.pair(random, size)[1] for _ in "ab")]
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = [scorer.run(one, other) for other in others]
        scorer.hold(one)
        assert [scorer.against(other) for other in others] == wanted
        assert [scorer.against(other) for other in reversed(others)] == wanted[::-1]
        with pytest.raises(InputError, match="prepare again"):
            scorer.hold(one[1:])
        scorer.hold(others[3])
        assert scorer.against(others[3]).lo == 0
    assert wanted == [score(one, other, device="cuda") for other in others]


def bytes_of(arm, planes):
    arm.hold(planes[0])
    found = arm.against(planes[1], maps=True)
    return [*numbers(found), found.detection.tobytes(), found.appearance.tobytes()]


@pytest.fixture
def made():
    """A maker of arms for 8 bits, closed at the end."""
    all_made = []

    def make(size, **options):
        arm = Arm(Definition(), Format(size[1], size[0]), 255.0, "cuda:0", **options)
        all_made.append(arm)
        return arm

    yield make
    for arm in all_made:
        arm.close()


@pytest.mark.parametrize("size", [(34, 34), (61, 83), (64, 150)])
def test_graphs_and_runs_give_the_same_bytes(random, made, size):
    planes, others = drawn.pair(random, size), drawn.pair(random, size)
    arm = made(size)
    wanted = bytes_of(arm, planes)
    bytes_of(arm, others)
    for again in (arm, arm, made(size), made(size, graphs=False)):
        assert bytes_of(again, planes) == wanted


def test_both_halves_are_recorded_as_graphs(made):
    """Else Python launches each kernel, and takes its time."""
    arm = made((40, 50))
    plain = [arm._hold, arm._compare, arm._whole, arm._finish]
    assert arm.hold_staged not in plain and arm.compare_staged not in plain


@pytest.mark.parametrize("count", [1, 3, 8, 20])
@pytest.mark.parametrize("size", [(35, 37), (64, 150)])
def test_subbands_some_at_a_time(random, made, monkeypatch, size, count):
    """8: in parts of 6 and 7. cuFFT may plan a batch of another size otherwise."""
    planes = drawn.pair(random, size)
    wanted = bytes_of(made(size), planes)
    monkeypatch.setattr(appearance, "SCRATCH", 8 * size[0] * size[1] * count)
    arm = made(size)
    parts = list(appearance.parts(appearance.ALL, 8 * size[0] * size[1]))
    assert len(parts) == -(-20 // count) and max(map(len, parts)) <= count
    found = bytes_of(arm, planes)
    assert found[1] == wanted[1] and found[3] == wanted[3]
    assert found[:3] == pytest.approx(wanted[:3], rel=LO)
    maps = (np.frombuffer(b[4], np.float32) for b in (found, wanted))
    np.testing.assert_allclose(*maps, rtol=0, atol=1e-3 * np.frombuffer(wanted[4], "f4").max())


@pytest.mark.parametrize("scratch", [1, 1 << 30])
@pytest.mark.parametrize("bands", [range(3, 11), range(0, 20), range(19, 20), range(4)])
@pytest.mark.parametrize("size", [(37, 53), (64, 48)])
def test_some_of_the_subbands(cuda, random, monkeypatch, size, bands, scratch):
    """Their differences beside the reference's; all 20 together are LO's map."""
    monkeypatch.setattr(appearance, "SCRATCH", scratch)
    planes = drawn.pair(random, size)
    format = Format(size[1], size[0])
    stage = appearance.Appearance(Definition(), format, 255.0, bands, guests=2)
    stage._kept[...], stage.differences[...], stage._scratch[...] = (cuda.nan,) * 3
    stage.hold(cuda.asarray(planes[0]))
    stage.against(cuda.asarray(planes[1]))
    found = stage.differences.get()
    assert len(found) == len(bands) + 2 and np.isnan(found[-2:]).all()
    found = found[:-2]
    of_each = []
    for plane in planes:
        magnitudes = reference.responses(plane.astype(np.float64)).reshape(20, *size)[
            bands.start : bands.stop
        ]
        of_each.append(np.stack([reference.moments(band) for band in magnitudes]))
    std, skew, kurtosis = np.abs(of_each[1] - of_each[0]).swapaxes(0, 1)
    weights = reference.SCALE_WEIGHTS[np.arange(20) // 4][bands.start : bands.stop, None, None]
    wanted = weights * (std + 2 * skew + kurtosis)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3 * wanted.max())  # as maps
    assert np.sqrt((found**2).mean()) == pytest.approx(np.sqrt((wanted**2).mean()), rel=LO)


def test_float64_is_for_the_cpu(cuda):
    with pytest.raises(InputError, match="dtype='float64'"):
        Scorer(device="cuda", dtype="float64")
    plane = cuda.zeros((40, 40), cuda.uint8)
    with pytest.raises(InputError, match="dtype='float64'"):
        score(plane, plane, dtype="float64")
    assert Scorer(device="auto", dtype="float64").device == "cpu"


def test_the_device_is_named():
    scorer = Scorer(device="auto")
    assert (scorer.device, scorer.dtype, scorer.lanes) == ("cuda:0", "float32", 1)
    assert scorer.device_name != "cpu"
