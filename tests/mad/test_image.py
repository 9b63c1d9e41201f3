"""snellen.score: dtypes, layouts, batches, libraries, refusals."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from snellen import Score, score
from snellen.errors import DeviceError, InputError
from snellen.frames.axes import DTYPES
from support.foreign import Picture, Tensor, install
from support.mad import pairs, reference
from support.mad.drawn import pair

WHITE = {"uint8": 255, "uint16": 65535, "float16": 1, "float32": 1, "float64": 1}


def near(backend):
    """Tolerance for small pictures, which on a GPU are rounded to float32 where they are floats."""
    return {"rel": 1e-9 if backend == "cpu" else 3e-5, "abs": 1e-12 if backend == "cpu" else 1e-6}


def close(found, wanted, backend):
    """Check the three numbers."""
    for name in ("mad", "hi", "lo"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), **near(backend))


def drawn(random, shape, dtype):
    """A pair (M, N) or (M, N, 3), its white, and what the reference is to see."""
    planes = [pair(random, shape[:2]) for _ in range(3 if len(shape) == 3 else 1)]
    two = [np.stack(p, axis=-1) if len(p) == 3 else p[0] for p in zip(*planes, strict=True)]
    white = WHITE[dtype]
    if dtype != "uint8":
        two = [np.asarray(p / 255 * white, dtype) for p in two]
    seen = two if dtype == "uint8" else [p.astype(np.float64) * (255 / white) for p in two]
    return two, white, seen


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(37, 40), (51, 36), (36, 40, 3)])
def test_grey_and_colour(random, dtype, shape, backend):
    (one, other), white, seen = drawn(random, shape, dtype)
    before = one.copy(), other.copy()
    found = score(one, other, data_range=white, device=backend)
    assert type(found) is Score and found.detection is None and found.appearance is None
    assert all(type(x) is float for x in (found.mad, found.hi, found.lo))
    close(found, reference.mad(*seen), backend)
    assert (one == before[0]).all() and (other == before[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("bits", [10, 12, 16])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_depths(random, bits, channels, backend):
    """8-bit RGB becomes grey of 8 bits; deeper grey is not rounded."""
    white = (1 << bits) - 1
    one, other = (
        np.rint(p * (white / 255)).astype(np.uint16)
        for p in drawn(random, (36, 41, *channels), "uint8")[0]
    )
    wanted = reference.mad(one * (255 / white), other * (255 / white))
    close(score(one, other, data_range=white, device=backend), wanted, backend)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"variant": "paper"},
        {"hi_scale": 1},
        {"hi_scale": 10},
        {"eight_bit_lut": True},
        {"variant": "paper", "hi_scale": 10, "eight_bit_lut": True},
    ],
)
def test_versions(random, how, backend):
    one, other = pair(random, (40, 43))
    if "variant" in how:
        one, other = one // 4, other // 4  # too dark for one of the two, not for the other
    wanted = reference.mad(one, other, **how)
    found = score(one, other, device=backend, **how)
    close(found, wanted, backend)
    assert found.mad != score(one, other, device=backend).mad


@pytest.mark.slow
@pytest.mark.parametrize("name", pairs.CLONE)
def test_the_authors_scores(name, backend):
    (found,) = pairs.authors([name])
    result = score(found.reference, found.distorted, device=backend)
    assert result.mad == pytest.approx(found.scores["MAD"], **near(backend))


@pytest.mark.slow
def test_the_authors_scores_of_colour(shared_data, backend):
    (found,) = pairs.shared(shared_data, ["rgb_china481x321_awgn15"])
    result = score(found.reference, found.distorted, device=backend)
    assert found.reference.shape == (321, 481, 3)
    assert result.mad == pytest.approx(found.scores["MAD"], rel=1e-9 if backend == "cpu" else 1e-5)


def test_single_precision(random):
    one, other = pair(random, (64, 48))
    found = score(one, other, maps=True, device="cpu", dtype="float32")
    assert found.detection.dtype == found.appearance.dtype == np.float32
    assert found.lo == pytest.approx(reference.mad(one, other).lo, rel=1e-5)


@pytest.mark.parametrize(
    ("references", "pictures", "batch"),
    [
        ((), (3,), (3,)),
        ((3,), (), (3,)),
        ((3,), (3,), (3,)),
        ((1,), (2,), (2,)),
        ((2, 1), (3,), (2, 3)),
        ((3,), (2, 1), (2, 3)),
        ((1, 1), (), (1, 1)),
        ((0,), (), (0,)),
    ],
)
@pytest.mark.parametrize("channels", [(), (3,)])
def test_batches(random, references, pictures, batch, channels, backend):
    shape = (35, 38, *channels)
    one = random.integers(0, 256, (*references, *shape)).astype(np.uint8)
    other = random.integers(0, 256, (*pictures, *shape)).astype(np.uint8)
    axis = -1 if channels else None
    found = score(one, other, maps=True, device=backend, channel_axis=axis)
    for numbers in (found.mad, found.hi, found.lo):
        assert type(numbers) is np.ndarray and numbers.dtype == np.float64
        assert numbers.shape == batch
    assert found.detection.shape == found.appearance.shape == (*batch, 35, 38)
    ones = np.broadcast_to(one, (*batch, *shape))
    others = np.broadcast_to(other, (*batch, *shape))
    for place in np.ndindex(batch):
        alone = score(ones[place], others[place], maps=True, device=backend)
        assert found.mad[place] == alone.mad and found.lo[place] == alone.lo
        assert (found.appearance[place] == alone.appearance).all()
        assert (found.detection[place] == alone.detection).all()


def test_a_reference_that_meets_many_is_held_once(random, monkeypatch):
    from snellen.mad.cpu import Backend

    score(GREY, GREY, device="cpu")  # compiles, by a pair
    held = []
    original = Backend.set_reference
    monkeypatch.setattr(
        Backend, "set_reference", lambda self, plane: held.append(plane) or original(self, plane)
    )
    one = random.integers(0, 256, (2, 1, 34, 34)).astype(np.uint8)
    other = random.integers(0, 256, (3, 34, 34)).astype(np.uint8)
    for maps in (False, True):
        held.clear()
        score(one, other, maps=maps, device="cpu", channel_axis=None)
        assert len(held) == 2


@pytest.mark.slow
def test_from_several_threads(random):
    one, other = pair(random, (60, 57))
    wanted = score(one, other, device="cpu")
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: score(one, other, device="cpu"), range(12)):
            assert (found.mad, found.hi, found.lo) == (wanted.mad, wanted.hi, wanted.lo)


def test_maps(random, backend):
    one, other = pair(random, (61, 40))
    found, wanted = score(one, other, maps=True, device=backend), reference.mad(one, other)
    for name in ("detection", "appearance"):
        plane, truth = getattr(found, name), getattr(wanted, name)
        assert type(plane) is np.ndarray and plane.dtype == np.float64  # as it is small
        np.testing.assert_allclose(plane, truth, rtol=0, atol=1e-9 * truth.max())
    assert found.hi == pytest.approx(200 * reference.pooled(found.detection), rel=1e-6)
    assert found.lo == pytest.approx(reference.pooled(found.appearance), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(36, 38), (36, 38, 3)])
def test_layouts(random, dtype, shape, backend):
    (one, other), white, _ = drawn(random, shape, dtype)
    wanted = score(one, other, data_range=white, device=backend).mad
    fixed = other.copy()
    fixed.flags.writeable = False
    spaced = np.zeros((*shape[:-1], shape[-1] * 2), dtype)
    spaced[..., ::2] = other
    layouts = {
        "Fortran": np.asfortranarray(other),
        "negative strides": other[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": fixed,
        "not contiguous": spaced[..., ::2],
        "swapped bytes": other.astype(other.dtype.newbyteorder()),
    }
    for name, layout in layouts.items():
        assert (layout == other).all()
        assert score(one, layout, data_range=white, device=backend).mad == wanted, name


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_beyond_the_range_is_clipped(random, dtype, backend):
    (one, other), _, _ = drawn(random, (36, 38), dtype)
    wanted = score(one, other, data_range=1, device=backend).mad
    other[other == 1] = 1 + 2e-7
    one[one == 0] = -1e-8
    assert score(one, other, data_range=1, device=backend).mad == wanted


def test_maps_are_the_librarys_own_arrays(random, monkeypatch):
    install(monkeypatch)
    one, other = pair(random, (36, 38))
    wanted = score(one, other, maps=True, device="cpu")
    found = score(Tensor(one), Tensor(other), maps=True, device="cpu")
    assert type(found.mad) is float and found.mad == wanted.mad
    for name in ("detection", "appearance"):
        assert type(getattr(found, name)) is Tensor
        assert (getattr(found, name).array == getattr(wanted, name)).all()
    assert score(one, Tensor(other), device="cpu").mad == wanted.mad
    with pytest.raises(InputError, match=r"lives on a GPU.*\.cpu\(\)"):
        score(one, Tensor(other, (2, 0)), device="cpu")
    with pytest.raises(InputError, match=r"lives on a GPU.*\.cpu\(\)"):
        score(Tensor(one, (2, 0)), other, device="cpu")


def test_arrays_on_two_gpus(monkeypatch):
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda n=0: "")
    blank = np.zeros((34, 34), np.uint8)
    with pytest.raises(InputError, match=r"cuda:1.*got device='cuda:0'"):
        score(Tensor(blank, (2, 1)), Tensor(blank, (2, 0)))


def test_anything_with_array(random, backend):
    one, other = pair(random, (36, 38))
    found = score(Picture(one), Picture(other), maps=True, device=backend)
    assert found.mad == score(one, other, device=backend).mad
    assert type(found.detection) is np.ndarray


GREY, DEEP, REAL = (np.zeros((34, 36), t) for t in ("u1", "u2", "f4"))


@pytest.mark.cases
@pytest.mark.parametrize(
    ("one", "other", "how", "words"),
    [
        (np.zeros((34, 34), bool), GREY, {}, "got dtype bool; expected one of uint8, uint16"),
        (GREY, np.zeros((34, 36), np.int16), {}, "dtype int16"),
        (None, GREY, {}, "got None; expected an array"),
        (GREY, "picture.png", {}, "expected an array; files are for"),
        (GREY, [[1, 2], [3, 4]], {}, "int64"),
        (GREY[0], GREY, {}, r"shape \(36,\); expected \(…, H, W\) or"),
        (GREY[:33], GREY[:33], {}, r"shape \(33, 36\).* at least 34×34"),
        (GREY[:, :33], GREY[:, :33], {}, "at least 34×34"),
        (np.zeros((50, 50, 4), "u1"), GREY, {}, r"shape \(50, 50, 4\).*transparency"),
        (np.zeros((50, 50, 3), "u1"), GREY, {"channel_axis": None}, "at least 34×34"),
        (np.zeros((0, 40), "u1"), GREY, {}, "at least 34×34"),
        (GREY, DEEP, {"data_range": 1}, "reference of uint8 and .*uint16.*bring both"),
        (REAL, REAL.astype("f8"), {"data_range": 1}, "float32 and .*float64"),
        (GREY, GREY.T[:, :34], {}, r"\(34, 36\) and .*\(36, 34\).*resize or convert"),
        (GREY, np.zeros((34, 36, 3), "u1"), {}, r"\(34, 36\) and .*\(34, 36, 3\)"),
        (GREY[None].repeat(2, 0), GREY[None].repeat(4, 0), {}, r"batch axes \(2,\).*\(4,\)"),
        (REAL, REAL + 2, {}, "samples from 2 to 2; expected 0 to 1; state another data_range"),
        (GREY[..., None], GREY[..., None], {}, "looks like 1 channel; .*channel_axis=-1"),
        (GREY, GREY, {"data_range": 0}, "data_range=0; expected the value of white"),
        (REAL, REAL, {"data_range": np.nan}, "data_range=nan"),
        (REAL, REAL + np.nan, {"data_range": 1}, "NaN or infinity; replace"),
        (REAL + np.inf, REAL, {"data_range": 1}, "NaN or infinity"),
        (REAL, REAL + 2, {"data_range": 1}, "samples from 2 to 2; expected 0 to 1; .*clip"),
        (REAL - 1, REAL, {"data_range": 1}, "samples from -1 to -1"),
        (DEEP + 1024, DEEP, {"data_range": 1023}, "from 1024 to 1024; expected 0 to 1023"),
        (GREY, GREY, {"variant": "2010"}, "variant='2010'"),
        (GREY, GREY, {"hi_scale": -1}, "hi_scale=-1"),
        (GREY, GREY, {"dtype": "half"}, "dtype='half'"),
    ],
)
def test_refusals(one, other, how, words, backend):
    with pytest.raises(InputError, match=words):
        score(one, other, device=backend, **how)


def test_wrong_device():
    with pytest.raises(DeviceError, match="cannot be used"):
        score(GREY, GREY, device="cuda:99")
    with pytest.raises(DeviceError, match="got device='gpu'; expected auto"):
        score(GREY, GREY, device="gpu")


def test_a_score_is_a_number():
    found = score(GREY, GREY, device="cpu")
    assert float(found) == found.mad == 0 and type(float(found)) is float
    with pytest.raises(InputError, match=r"of a batch, \(2,\)"):
        float(score(GREY, np.stack([GREY, GREY]), device="cpu"))
