"""Scorer: settings, three verbs, what it takes and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from snellen import Scorer
from snellen.errors import DeviceError, InputError
from snellen.frames.frame import Format
from snellen.gpu import profile
from support.mad import reference
from support.mad.drawn import pair


def near(scorer):
    """Tolerance for pictures below 64 × 48: float64 on both backends, unless asked for float32."""
    return 1e-9 if scorer.dtype == "float64" else 3e-5


def test_settings():
    scorer = Scorer(device="cpu")
    assert (scorer.device, scorer.device_name, scorer.dtype) == ("cpu", "cpu", "float64")
    assert scorer.slots == 1 and scorer.definition.hi_scale == 200
    assert Scorer(device="cpu", dtype="float32").dtype == "float32"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variant": "2009"}, "variant='2009'"),
        ({"hi_scale": 0}, "hi_scale=0"),
        ({"dtype": "float16"}, "dtype='float16'; expected one of float32, float64, or None"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(InputError, match=words):
        Scorer(device="cpu", **settings)


def test_wrong_device():
    with pytest.raises(DeviceError, match="got device='gpu'; expected auto"):
        Scorer(device="gpu")
    with pytest.raises(DeviceError, match="cannot be used"):
        Scorer(device="cuda:99")


@pytest.fixture
def two_gpus(monkeypatch):
    """As if there were two, which only can be asked their names."""
    monkeypatch.setattr("snellen.gpu.device.why_not", lambda n=0: "" if n < 2 else "no such GPU")
    monkeypatch.setattr("snellen.gpu.device.name", lambda device: f"a GPU, {device}")


@pytest.mark.usefixtures("two_gpus")
def test_settings_on_a_gpu():
    """The precision is not settled before the size is known, unless one is asked for."""
    scorer = Scorer(device="cuda")
    assert (scorer.device, scorer.devices, scorer.dtype) == ("cuda:0", ("cuda:0",), None)
    for dtype in ("float32", "float64"):
        assert Scorer(device="cuda", dtype=dtype).dtype == dtype
    assert Scorer(device="auto", dtype="float64").device == "cuda:0"


@pytest.mark.usefixtures("two_gpus")
def test_settings_on_several_gpus():
    scorer = pickle.loads(pickle.dumps(Scorer(device="cuda:1, cuda:0")))
    assert (scorer.device, scorer.devices) == ("cuda:1,cuda:0", ("cuda:1", "cuda:0"))
    assert scorer.device_name == "a GPU, cuda:1 + a GPU, cuda:0"
    for device in ("cuda:0,cuda:0", "cpu,cuda:0", "cuda:0,cuda:2"):
        with pytest.raises(DeviceError):
            Scorer(device=device)


def test_settings_travel(random):
    scorer = pickle.loads(pickle.dumps(Scorer("paper", 1, True, "cpu", "float32")))
    one, other = pair(random, (40, 37))
    with scorer:
        scorer.prepare(Format(37, 40))
        wanted = reference.mad(one, other, "paper", 1, True)
        assert scorer.run(one, other).mad == pytest.approx(wanted.mad, rel=3e-5)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [8, 10, 12, 16, 0])
def test_run_is_hold_and_against(random, backend, bits):
    one, other = pair(random, (43, 38))
    if bits > 8:
        one, other = (p.astype(np.uint16) << (bits - 8) for p in (one, other))
    if bits == 0:
        one, other = (p.astype(np.float32) / 255 for p in (one, other))
    white = (1 << bits) - 1 if bits else 1
    wanted = reference.mad(*(p.astype(np.float64) * 255 / white for p in (one, other)))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(38, 43, bits, white=None if bits else 1))
        score = scorer.run(one, other, maps=True)
        scorer.set_reference(one)
        again = scorer.compare(other)
        assert (score.mad, score.hi, score.lo) == (again.mad, again.hi, again.lo)
        assert again.detection is None and again.appearance is None
        for name in ("mad", "hi", "lo"):
            value = getattr(score, name)
            assert type(value) is float
            assert value == pytest.approx(getattr(wanted, name), rel=near(scorer))
        for plane in (score.detection, score.appearance):
            assert type(plane) is np.ndarray and plane.shape == (43, 38)
            assert plane.dtype == scorer.dtype


@pytest.mark.slow
def test_runs_are_run_one_by_one(random, backend):
    size = (43, 38)
    pairs = [pair(random, size) for _ in range(5)]
    others = [pair(random, size)[1] for _ in range(3)]
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(38, 43))
        assert scorer.runs([]) == []
        wanted = [scorer.run(*planes) for planes in pairs]
        assert scorer.runs(pairs) == wanted and scorer.runs(iter(pairs[:1])) == wanted[:1]
        assert scorer.run(*pairs[0]) == wanted[0]
        alone = [scorer.run(pairs[1][0], other) for other in others]
        scorer.set_reference(pairs[1][0])
        assert scorer.runs((None, other) for other in others) == alone
        # Some with the reference before, first with that which is held.
        mixed = [(None, others[0]), pairs[2], (None, pairs[2][1]), pairs[3], pairs[1]]
        mixed += [(None, other) for other in others]
        found = scorer.runs(mixed)
        assert found == [alone[0], wanted[2], wanted[2], wanted[3], wanted[1], *alone]
        assert scorer.compare(others[2]) == alone[2]  # the last reference is held
        for score in found:
            assert all(type(number) is float for number in (score.mad, score.hi, score.lo))
            assert score.detection is None


@pytest.mark.slow
def test_runs_refuse_as_run_does(random, backend):
    one, other = pair(random, (36, 40))
    scorer = Scorer(device=backend)
    with pytest.raises(InputError, match="not prepared"):
        scorer.runs([(one, other)])
    with scorer:
        scorer.prepare(Format(40, 36))
        with pytest.raises(InputError, match="no reference is set"):
            scorer.runs([(None, other)])
        wanted = scorer.run(one, other)
        for wrong in ((one[1:], other), (one, other[1:]), (one, None), (one.astype("u2"), other)):
            with pytest.raises(InputError):
                scorer.runs([(one, one), (one, other), wrong, (one, other)])
            assert scorer.compare(other) == wanted  # the reference is still held
            assert scorer.runs([(one, other)] * 3) == [wanted] * 3


def test_the_value_of_white(random, backend):
    one, other = (p.astype(np.uint16) << 2 for p in pair(random, (36, 52)))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(52, 36, 10, white=1020))  # 255 · 4
        wanted = reference.mad(one / 4, other / 4)
        assert scorer.run(one, other).mad == pytest.approx(wanted.mad, rel=near(scorer))


def test_pitch_and_strides(random, backend):
    one, other = pair(random, (36, 40))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(40, 36))
        wanted = scorer.run(one, other).mad
        wide = np.zeros((36, 64), np.uint8)
        wide[:, :40] = one
        wide.flags.writeable = False
        assert scorer.run(wide[:, :40], other).mad == wanted
        assert scorer.run(one, np.asfortranarray(other)).mad == wanted
        assert scorer.run(one[::-1].copy()[::-1], other).mad == wanted


def test_the_reference_may_change_after_hold(random, backend):
    one, other = pair(random, (36, 40))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(40, 36))
        wanted = scorer.run(one, other).mad
        scorer.set_reference(one)
        one[:] = 0
        assert scorer.compare(other).mad == wanted


def test_doubles_on_the_cpu(random):
    one, other = (p / 255 for p in pair(random, (36, 40)))
    with Scorer(device="cpu") as scorer:
        scorer.prepare(Format(40, 36, 0, white=1))
        assert scorer.run(one, other).mad == pytest.approx(
            reference.mad(one * 255, other * 255).mad, rel=1e-9
        )


def test_chroma_of_the_format_is_ignored(random, backend):
    one, other = pair(random, (36, 40))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(40, 36, 8, (1, 1)))
        assert scorer.run(one, other).lo > 0


@pytest.mark.slow
def test_again_with_another_format(random, backend):
    with Scorer(device=backend) as scorer:
        for shape in ((36, 40), (51, 34), (36, 40)):
            one, other = pair(random, shape)
            scorer.prepare(Format(*shape[::-1]))
            with pytest.raises(InputError, match="no reference is set"):
                scorer.compare(other)
            wanted = reference.mad(one, other).mad
            assert scorer.run(one, other).mad == pytest.approx(wanted, rel=near(scorer))


def test_not_prepared(backend):
    scorer, plane = Scorer(device=backend), np.zeros((34, 34), np.uint8)
    for call in (scorer.set_reference, scorer.compare, lambda p: scorer.run(p, p)):
        with pytest.raises(InputError, match=r"not prepared; call prepare\(format\)"):
            call(plane)
    scorer.prepare(Format(34, 34))
    scorer.close()
    scorer.close()
    with pytest.raises(InputError, match="not prepared"):
        scorer.run(plane, plane)


def test_what_is_no_format():
    with pytest.raises(InputError, match="got a tuple; expected a Format"):
        Scorer(device="cpu").prepare((34, 34))


@pytest.mark.parametrize("size", [(33, 34), (34, 33), (1, 1)])
def test_too_small(size):
    with pytest.raises(InputError, match=rf"{size[0]}×{size[1]}; expected at least 34×34"):
        Scorer(device="cpu").prepare(Format(*size))


@pytest.mark.parametrize("white", [0, -1.0, np.nan])
def test_wrong_white(white):
    with pytest.raises(InputError, match="white="):
        Scorer(device="cpu").prepare(Format(40, 40, white=white))


@pytest.mark.parametrize("how", [{"bits": 10}, {"on_device": True}])
def test_a_scorer_gives_no_frames(how):
    with pytest.raises(InputError, match=rf"got {next(iter(how))}=.*gives numbers, no frames"):
        Scorer(device="cpu").prepare(Format(40, 40), **how)


def test_the_format_comes_back(random):
    format = Format(40, 36, 8, (1, 1))
    with Scorer(device="cpu") as scorer:
        assert scorer.prepare(format) == format


def test_floats_need_a_range():
    with pytest.raises(InputError, match="float samples without white"):
        Scorer(device="cpu").prepare(Format(40, 40, 0))


@pytest.mark.parametrize(
    "plane",
    [
        np.zeros((40, 41), np.uint8),
        np.zeros((41, 40, 1), np.uint8),
        np.zeros((41, 40), np.uint16),
        np.zeros((41, 40), np.float32),
    ],
)
def test_another_plane_than_prepared_for(plane, backend):
    blank = np.zeros((41, 40), np.uint8)
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(40, 41))
        scorer.set_reference(blank)
        for call in (scorer.set_reference, scorer.compare):
            with pytest.raises(InputError, match=r"prepared for \(41, 40\) of uint8"):
                call(plane)
        assert scorer.compare(blank).mad == 0  # the reference is still held


def test_no_array(backend):
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(34, 34))
        with pytest.raises(InputError, match="no NumPy array"):
            scorer.set_reference([[0] * 34] * 34)


@pytest.mark.parametrize("variant", ["2011", "paper"])
def test_a_negative_sample_counts_as_black(random, backend, variant):
    """The eye's curve has no value there; NaN would make every pair look identical."""
    one, other = (plane.astype(np.float32) for plane in pair(random, (40, 44)))
    with Scorer(variant, device=backend) as scorer:
        scorer.prepare(Format(44, 40, 0, white=255))
        one[20, 20] = other[20, 20] = 0
        wanted = scorer.run(one, other)
        one[20, 20] = other[20, 20] = -1e-6
        found = scorer.run(one, other)
    assert found.mad > 1
    assert found.mad == pytest.approx(wanted.mad, rel=1e-5)  # a millionth of grey in the response


def test_nan_gives_nan(random, backend):
    one, other = (plane.astype(np.float32) for plane in pair(random, (40, 44)))
    other[3, 4] = np.nan
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(44, 40, 0, white=255))
        assert np.isnan(scorer.run(one, other).mad)


STAGES = {
    "lightness", "FFT of lightness", "csf", "inverse FFT of lightness", "block statistics",
    "visibility", "local error", "grey", "FFT", "filters", "inverse FFTs", "statistics",
    "difference", "score",
}  # fmt: skip


def test_stages_are_timed(random, backend):
    one, other = pair(random, (40, 50))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(50, 40))
        wanted = scorer.run(one, other)
        with profile.recording() as found:
            assert scorer.run(one, other) == wanted
        table = found.table()
    further = {"sum of differences", "flat areas", "upload", "download"}
    assert set(table) - further == STAGES
    assert len(table["lightness"]) == len(table["grey"]) == 2


def test_blank_pairs_are_not_recorded(random, backend):
    """What is made at its first use computes one: the engine, and the backend in float64."""
    planes = pair(random, (40, 50))
    with Scorer(device=backend) as scorer:
        scorer.prepare(Format(50, 40))
        with profile.recording() as found:
            scorer._backends._finely(*planes, False, False, scorer.devices)
        assert len(found.table()["grey"]) == 2
        with profile.recording() as found:
            scorer.submit(*planes)()
        assert len(found.table()["grey"]) == 2


def test_submitted_pairs(random, backend):
    pairs = [pair(random, (40, 50)) for _ in range(3)]
    with Scorer(device=backend) as scorer:
        with pytest.raises(InputError, match="not prepared"):
            scorer.submit(*pairs[0])
        scorer.prepare(Format(50, 40))
        assert scorer.slots == (1 if backend == "cpu" else 3)
        for planes in pairs:
            assert scorer.submit(*planes)() == scorer.run(*planes)
        scorer.submit(*pairs[0])  # whose score nobody wants
        assert scorer.compare(pairs[0][1]) == scorer.run(*pairs[0])
        with pytest.raises(InputError, match="prepare again"):
            scorer.submit(pairs[0][0], pairs[0][1][1:])
    assert scorer.slots == 1
