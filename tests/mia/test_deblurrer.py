"""Deblurrer against the reference, on every backend: settings, verbs, what it takes and refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from snellen import Deblurrer
from snellen.errors import DeviceError, InputError
from snellen.frames.frame import Format
from snellen.gpu import profile
from support.mia import drawn, reference
from support.mia.truth import SINGLE, compare, placed, truth

EDGES = ("circular", "taper", "extend")


def run(y, frames=1, batch=1, data_range=None, **how):
    """Restore as (batch, frames, rows, columns), with axes of one left out."""
    with Deblurrer(**how, frames=frames, batch=batch) as deblurrer:
        deblurrer.prepare(drawn.floats(y.shape[-2:], data_range))
        return deblurrer.run(y)


@pytest.fixture
def picture(random):
    """A blurred picture (45, 52)."""
    return drawn.problem(random, (45, 52)).y[0]


# Settings


def test_settings():
    deblurrer = Deblurrer(device="cpu")
    assert (deblurrer.device, deblurrer.device_name, deblurrer.dtype) == ("cpu", "cpu", "float32")
    assert deblurrer.side == 31 and deblurrer.definition.blind
    assert Deblurrer(psf_size=8, device="cpu").side == 9
    given = Deblurrer(np.ones((6, 4)), device="cpu", dtype="float64")
    assert (given.side, given.definition.blind, given.dtype) == (7, False, "float64")


@pytest.mark.cases(25)
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": "salt"}, "noise='salt'"),
        ({"read_noise": -1}, "read_noise=-1"),
        ({"noise": "gaussian", "read_noise": 0.1}, "which includes it"),
        ({"read_noise": 1e20}, r"read_noise=1e\+20; expected a number from 0 to 1000"),
        ({"tv": np.nan}, "tv=nan"),
        ({"tv": 0.11}, r"tv=0\.11; expected a number from 0 to 0\.1, as .*diverge"),
        ({"tv": 1e39}, r"tv=1e\+39"),
        ({"edges": "mirror"}, "edges='mirror'; expected one of circular, taper, extend"),
        ({"iterations": 0}, "iterations=0; expected a whole number, 1 or more"),
        ({"iterations": 2.5}, "iterations=2.5"),
        ({"every": 0}, "every=0"),
        ({"every": True}, "every=True"),
        ({"tolerance": -1e-3}, "tolerance=-0.001"),
        ({"tolerance": np.inf}, "tolerance=inf"),
        ({"tolerance": "1"}, "tolerance='1'"),
        ({"psf_size": 0}, "psf_size=0"),
        ({"psf_size": 7.0}, r"psf_size=7\.0"),
        ({"start": 0}, "start=0; expected σ"),
        ({"start": None}, "start=None"),
        ({"start": "wide"}, "start='wide'"),
        ({"start": np.ones((9, 9)), "psf_size": 7}, r"start has shape \(9, 9\).*psf_size=7"),
        ({"start": np.ones((2, 9, 9))}, r"start has shape \(2, 9, 9\); expected one PSF"),
        ({"start": -np.ones((3, 3))}, "start has values that are negative"),
        ({"psf": np.zeros((3, 3))}, "psf is 0 everywhere"),
        ({"psf": np.full((3, 3), np.nan)}, "psf has values that are negative, NaN"),
        ({"psf": np.ones(3)}, r"psf has shape \(3,\)"),
        ({"psf": [[1, 2], [3]]}, "psf is not an array .*; give rows of numbers"),
        ({"start": [[1, 2], [3]]}, "start is not an array"),
        ({"psf": np.ones((3, 3)), "warm": True}, "warm=True with psf"),
        ({"warm": 1}, "warm=1; expected True or False"),
        ({"frames": 0}, "frames=0"),
        ({"batch": 1.0}, r"batch=1\.0"),
        ({"recentre": None}, "recentre=None"),
        ({"recentre": "hole"}, "recentre='hole'; expected one of whole, True or False"),
        ({"recentre": 1, "psf": np.ones((3, 3))}, "recentre=1"),
        ({"history": "yes"}, "history='yes'"),
        ({"dtype": "float16"}, "dtype='float16'; expected one of float32, float64, or None"),
    ],
)
def test_wrong_settings(settings, words):
    with pytest.raises(InputError, match=words):
        Deblurrer(device="cpu", **settings)


def test_wrong_device():
    with pytest.raises(DeviceError, match="got device='gpu'; expected auto"):
        Deblurrer(device="gpu")
    with pytest.raises(DeviceError, match="cannot be used"):
        Deblurrer(device="cuda:99")


def test_settings_travel(picture):
    how = {"psf_size": 9, "iterations": 20, "device": "cpu", "dtype": "float64"}
    with pickle.loads(pickle.dumps(Deblurrer(**how))) as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape))
        compare(deblurrer.run(picture), truth(picture[None], 20, 9))


# What it computes


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "options", [{}, {"noise": "gaussian"}, {"read_noise": 0.05}, {"tv": 2e-4}], ids=str
)
@pytest.mark.parametrize("edges", EDGES)
def test_against_the_reference(random, backend, edges, options, dtype):
    y = drawn.problem(random, (45, 52)).y
    found = run(
        y[0], psf_size=9, iterations=60, edges=edges, device=backend, dtype=dtype, **options
    )
    compare(found, truth(y, 60, 9, edges, **options), dtype)
    assert found.iterations == 60 and found.history == () and type(found.fit) is float


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("edges", EDGES)
def test_a_given_psf(random, backend, edges, dtype):
    """Of any sum and not centred: it is the truth, and stays what it is."""
    problem = drawn.problem(random, (45, 52))
    blur = reference.off_period(np.roll(problem.blurs[0], (1, -1), (0, 1)), 11)
    found = run(problem.y[0], psf=3 * blur, iterations=60, edges=edges, device=backend, dtype=dtype)
    compare(found, truth(problem.y, 60, 11, edges, [blur]), dtype)


@pytest.mark.slow
@pytest.mark.parametrize("size", [(32, 32), (64, 32), (128, 128), (256, 64)])
def test_periods_that_run_in_one_kernel(random, backend, size):
    y = drawn.problem(random, size).y
    compare(run(y[0], psf_size=9, iterations=30, device=backend), truth(y, 30, 9), "float32")


@pytest.mark.slow
def test_extended_beyond_the_largest_kernel(random, backend):
    y = drawn.problem(random, (260, 45)).y
    found = run(y[0], psf_size=9, iterations=10, edges="extend", device=backend)
    compare(found, truth(y, 10, 9, "extend"), "float32")


@pytest.mark.slow
def test_the_picture_gets_sharper(random, backend):
    """With the true blur, of a picture that does not wrap; as the default edges, extend, see it."""
    whole = drawn.problem(random, (96, 96), side=15)
    clean = reference.convolved(whole.sharp, whole.blurs[0])[15:81, 15:81]
    sharp, blur = whole.sharp[15:81, 15:81], reference.off_period(whole.blurs[0], 15)
    before = drawn.psnr(clean, sharp)
    gain = {}
    for edges in EDGES:
        found = run(clean.clip(0), psf=blur, edges=edges, device=backend)
        gain[edges] = drawn.psnr(found.image, sharp) - before
    assert gain["extend"] > 3
    assert gain["extend"] > gain["taper"] > gain["circular"]


DTYPES = {"uint8": 255, "uint16": 65535, "float16": 1, "float32": 1, "float64": 1}


@pytest.mark.slow
@pytest.mark.parametrize("data_range", [None, 200.0])
@pytest.mark.parametrize("dtype", DTYPES)
def test_samples_of_any_type(picture, backend, dtype, data_range):
    white = data_range or DTYPES[dtype]
    came = picture * white
    came = (np.rint(came) if dtype[0] == "u" else came).astype(dtype)
    found = run(came, psf_size=9, iterations=30, data_range=data_range, device=backend)
    image, psf, fit = truth(came[None].astype(float) / white, 30, 9)
    assert image.max() > 1.02  # what integers have no room for
    assert found.image.dtype == dtype and found.fit == pytest.approx(fit, abs=1e-7)
    np.testing.assert_allclose(found.psf, psf[0], rtol=0, atol=1e-4 * psf.max())
    if dtype[0] == "u":
        wanted = np.rint((image * white).clip(0, white))
        steps = np.abs(found.image.astype(int) - wanted)
        # float32 may round otherwise where a half is near.
        assert found.image.max() == white and steps.max() <= 1 + 1e-4 * white
        assert (steps > 0).mean() <= 1e-4 * white * 2
    else:
        eps = np.finfo(dtype).eps if dtype == "float16" else 0
        wanted = image * white
        np.testing.assert_allclose(found.image, wanted, rtol=eps, atol=1e-4 * wanted.max())


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "frames"), [(3, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("edges", EDGES)
def test_batches_and_frames(random, backend, batch, frames, edges):
    """Each picture as if it were alone."""
    y = np.array([drawn.problem(random, (40, 52), frames).y for _ in range(batch)])
    lead = tuple(count for count in (batch, frames) if count > 1)
    how = {"psf_size": 9, "iterations": 20, "edges": edges, "device": backend, "dtype": "float64"}
    found = run(y.reshape(*lead, 40, 52), frames, batch, **how)
    assert found.image.shape == (*lead[: batch > 1], 40, 52)
    assert found.psf.shape == (*lead, 9, 9)
    for i in range(batch):
        image, psf, fit = truth(y[i], 20, 9, edges)
        alone = found.image.reshape(batch, 40, 52)[i]
        np.testing.assert_allclose(alone, image, rtol=0, atol=1e-9)
        blur = found.psf.reshape(batch, frames, 9, 9)[i]
        np.testing.assert_allclose(blur, psf, rtol=0, atol=SINGLE * psf.max())
        assert np.reshape(found.fit, batch)[i] == pytest.approx(fit, rel=1e-9)


def test_given_psfs_of_batches_and_frames(random, backend):
    problems = [drawn.problem(random, (40, 52), 3) for _ in range(2)]
    y = np.array([problem.y for problem in problems])
    blurs = np.array([[reference.off_period(h, 9) for h in p.blurs] for p in problems])
    how = {"iterations": 20, "device": backend, "dtype": "float64"}
    both = run(y, 3, 2, psf=blurs, **how)
    for i in range(2):
        wanted = truth(y[i], 20, 9, blurs=blurs[i])
        compare(run(y[i], 3, psf=blurs[i], **how), wanted)
        np.testing.assert_allclose(both.image[i], wanted[0], rtol=0, atol=1e-9)
    same = run(y[0], 3, psf=blurs[0, 0], **how)
    compare(same, truth(y[0], 20, 9, blurs=[blurs[0, 0]] * 3))
    with pytest.raises(InputError, match=r"axes \(3,\) before .*; expected \(\) or \(2, 3\)"):
        run(y, 3, 2, psf=blurs[0], **how)
    with pytest.raises(InputError, match=r"axes \(3,\) before .*; expected \(\)$"):
        run(y[0, 0], psf=blurs[0], **how)


# Start, recentring, warmth


@pytest.mark.slow
def test_start(random, backend):
    """Another width, or a PSF, which stays 0 where it is; smaller than the support, or even."""
    y = drawn.problem(random, (45, 52)).y
    how = {"psf_size": 9, "iterations": 20, "device": backend, "dtype": "float64"}
    compare(run(y[0], start=1, **how), truth(y, 20, 9, start=reference.bell(1, 9)))
    start = np.zeros((9, 9))
    start[2:8, 3:6] = random.uniform(1, 2, (6, 3))
    found = run(y[0], start=start, recentre=False, **how)
    compare(found, truth(y, 20, 9, start=start, recentre=False))
    assert (found.psf[start == 0] == 0).all() and found.psf.max() > 0.05
    small = np.zeros((9, 9))
    small[2:6, 2:6] = 1
    compare(run(y[0], start=np.ones((4, 4)), **how), truth(y, 20, 9, start=small))


@pytest.mark.slow
def test_recentring(random, backend):
    """A blur that is far off the middle: found there, or in the middle."""
    y = drawn.problem(random, (64, 64), side=5).y
    start = np.zeros((15, 15))
    start[10:15, 0:4] = 1
    how = {"psf_size": 15, "iterations": 30, "start": start, "device": backend, "dtype": "float64"}
    found = {recentre: run(y[0], recentre=recentre, **how) for recentre in (False, "whole", True)}
    away, last = np.arange(15) - 7, np.inf
    for recentre, least in ((False, 0.51), ("whole", 0.05), (True, 0)):
        one = found[recentre]
        compare(one, truth(y, 30, 15, start=start, recentre=recentre))
        centre = np.abs([(one.psf.sum(axis) * away).sum() for axis in (1, 0)]).max()
        assert least <= centre < last and one.fit == found[True].fit
        last = least


@pytest.mark.slow
def test_warmth(random, backend):
    """The next picture starts with the last PSF; `prepare` forgets it."""
    one, other = (drawn.problem(random, (45, 52)).y for _ in range(2))
    how = {"psf_size": 9, "iterations": 20, "device": backend, "dtype": "float64", "warm": True}
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats((45, 52)))
        first, again = deblurrer.run(one[0]), deblurrer.run(other[0])
        compare(first, truth(one, 20, 9))
        compare(again, truth(other, 20, 9, start=truth(one, 20, 9)[1][0]))
        deblurrer.prepare(drawn.floats((45, 52)))
        compare(deblurrer.run(other[0]), truth(other, 20, 9))


# Progress


def test_history_and_callback(random, backend):
    """Every third iteration: fit and change as the reference has them, nothing moved."""
    y = drawn.problem(random, (45, 52)).y
    seen = []
    how = {
        "psf_size": 9,
        "iterations": 11,
        "edges": "extend",
        "device": backend,
        "dtype": "float64",
    }
    with Deblurrer(every=3, history=True, **how) as deblurrer:
        deblurrer.prepare(drawn.floats((45, 52)))

        def look(iteration, image, psf):
            assert image.shape == (45, 52) and psf.shape == (9, 9)
            seen.append((iteration, *(np.array(a.get() if backend == "cuda" else a) for a in
                                      (image, psf))))  # fmt: skip

        found = deblurrer.run(y[0], look)
        quiet = deblurrer.run(y[0])
    compare(found, truth(y, 11, 9, "extend"))
    assert [step.iteration for step in found.history] == [
        3,
        6,
        9,
    ] and found.history == quiet.history
    came, f = placed(y, 9, "extend")
    h = reference.on_period(reference.bell(2, 9), f.shape)[None]
    for step, (iteration, image, psf) in zip(found.history, seen, strict=True):
        before = f
        f, h = reference.iterated(came, f, h, 3)
        assert iteration == step.iteration
        assert step.fit == pytest.approx(reference.fit(came, f, h), rel=1e-9)
        change = np.linalg.norm(f - before) / np.linalg.norm(f)
        assert step.change == pytest.approx(change, rel=1e-9)
        np.testing.assert_allclose(image, f[:45, :52], rtol=0, atol=1e-9)
        np.testing.assert_allclose(psf, reference.off_period(h[0], 9), rtol=0, atol=1e-9)


@pytest.mark.parametrize("size", [(64, 64), (45, 52)])
def test_what_a_callback_gets_is_its_own(random, backend, size):
    """It stays as it was when the iterations go on, and may be written to."""
    y = drawn.problem(random, size).y
    kept = []
    with Deblurrer(psf_size=9, iterations=12, every=3, device=backend) as deblurrer:
        deblurrer.prepare(drawn.floats(size))
        wanted = deblurrer.run(y[0], lambda _, *both: kept.append((both, [a.copy() for a in both])))
        for both, copies in kept:
            assert all((one == other).all() for one, other in zip(both, copies, strict=True))
        again = deblurrer.run(y[0], lambda _, *both: [array.fill(0) for array in both])
    assert (again.image == wanted.image).all() and (again.psf == wanted.psf).all()


def test_a_callback_that_fails_leaves_nothing(picture, backend):
    """Not even the mark of a picture that would have been refused; a GPU refuses it at the end."""
    bad = picture.copy()
    bad[3, 4] = np.nan

    def fail(*_):
        raise KeyError("mine")

    with Deblurrer(psf_size=9, iterations=20, device=backend) as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape))
        wanted = deblurrer.run(picture)
        for came in (picture, bad):
            with pytest.raises((KeyError, InputError)):
                deblurrer.run(came, fail)
            found = deblurrer.run(picture)
            assert (found.image == wanted.image).all() and (found.psf == wanted.psf).all()


def test_a_callback_that_cannot_be_called(picture):
    """It is refused before the first iteration."""
    with Deblurrer(psf_size=9, iterations=1, device="cpu") as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape))
        with pytest.raises(InputError, match=r"callback=3; expected a function of \(iter"):
            deblurrer.run(picture, 3)


@pytest.mark.parametrize("device", [None, 0])
def test_a_device_is_a_name(device):
    with pytest.raises(InputError, match=f"device={device}; expected auto, cpu, cuda"):
        Deblurrer(device=device)


def test_whether_it_is_prepared(picture):
    deblurrer = Deblurrer(psf_size=9, device="cpu")
    assert not deblurrer.prepared
    deblurrer.prepare(drawn.floats(picture.shape))
    assert deblurrer.prepared
    deblurrer.close()
    assert not deblurrer.prepared


def test_who_does_not_look_iterates_once(picture, monkeypatch):
    from snellen.mia.cpu import Backend

    calls = []
    iterate = Backend.iterate
    monkeypatch.setattr(Backend, "iterate", lambda self, n: calls.append(n) or iterate(self, n))
    chunks = [10, 10, 5]
    ways = (({}, [25]), ({"history": True}, chunks), ({"tolerance": 1e-9}, chunks))
    for looks, wanted in ways:
        with Deblurrer(psf_size=9, iterations=25, device="cpu", **looks) as deblurrer:
            deblurrer.prepare(drawn.floats(picture.shape))
            calls.clear()
            deblurrer.run(picture)
            assert calls == wanted
            deblurrer.run(picture, lambda *_: None)
            assert calls == wanted + chunks


@pytest.mark.slow
def test_tolerance(random, backend):
    """It stops where the reference's change is first below, and of a batch when all are."""
    y = np.array([drawn.problem(random, (40, 52)).y[0] for _ in range(2)])
    how = {"psf_size": 9, "every": 2, "device": backend, "dtype": "float64"}
    steps = [run(plane, iterations=60, history=True, **how).history for plane in y]
    limit = 0.5 * (steps[0][9].change + steps[0][8].change)
    stops = [next(s.iteration for s in one if s.change < limit) for one in steps]
    assert stops[0] == 20
    for plane, stop in zip(y, stops, strict=True):
        found = run(plane, iterations=60, tolerance=limit, **how)
        assert found.iterations == stop and found.history == ()
        compare(found, truth(plane[None], stop, 9))
    both = run(y, 1, 2, iterations=60, tolerance=limit, history=True, **how)
    assert both.iterations == max(stops) == both.history[-1].iteration
    last = both.history[-1].iteration // 2 - 1
    assert both.history[-1].change == pytest.approx(max(one[last].change for one in steps))
    assert both.history[-1].fit == pytest.approx(np.mean([one[last].fit for one in steps]))


# What it takes


def test_layouts(picture, backend):
    image = np.rint(picture * 255).clip(0, 255).astype(np.uint8)
    wide = np.zeros((45, 80), np.uint8)
    wide[:, :52] = image
    wide.flags.writeable = False
    with Deblurrer(psf_size=9, iterations=5, device=backend) as deblurrer:
        deblurrer.prepare(drawn.floats((45, 52)))
        wanted = deblurrer.run(image)
        kept = wanted.image.copy(), wanted.psf.copy()
        for layout in (
            wide[:, :52],
            np.asfortranarray(image),
            image[::-1, ::-1].copy()[::-1, ::-1],
        ):
            found = deblurrer.run(layout)
            assert (found.image == wanted.image).all() and (found.psf == wanted.psf).all()
        swapped = deblurrer.run(image.astype(">u2"))
        assert swapped.image.dtype == ">u2"
        deblurrer.run(np.zeros_like(image))
    assert (wanted.image == kept[0]).all() and (wanted.psf == kept[1]).all()


@pytest.mark.slow
def test_again_with_another_shape(random, backend):
    with Deblurrer(psf_size=9, iterations=10, device=backend, dtype="float64") as deblurrer:
        for size in ((40, 52), (33, 37), (40, 52)):
            y = drawn.problem(random, size).y
            deblurrer.prepare(drawn.floats(size))
            compare(deblurrer.run(y[0]), truth(y, 10, 9))


@pytest.mark.slow
@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
@pytest.mark.parametrize("tv", [0, 0.004])
@pytest.mark.parametrize("value", [0, 128, 255])
def test_pictures_of_nothing(backend, value, noise, tv, edges):
    """They and the PSF stay as they are, to the last bit, whatever the iterations make of them."""
    how = {
        "psf_size": 9,
        "iterations": 60,
        "noise": noise,
        "tv": tv,
        "edges": edges,
        "device": backend,
    }
    image = np.full((64, 40), value, np.uint8)
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats((64, 40)))
        for came in (image, image / np.float32(255)):
            found = deblurrer.run(came)
            assert (found.image == came).all() and found.image.dtype == came.dtype
            assert (found.psf == reference.bell(2, 9).astype(np.float32)).all()
            assert found.fit == 0 and type(found.fit) is float


@pytest.mark.slow
def test_one_picture_of_nothing_among_others(random, backend):
    """Of a batch, many frames each, only that one stays; the others are as without it."""
    y = np.array([drawn.problem(random, (40, 52), 2).y for _ in range(3)])
    y[1] = 0.7
    how = {"psf_size": 9, "iterations": 20, "tv": 2e-4, "device": backend, "dtype": "float64"}
    found = run(y, 2, 3, **how)
    assert (found.image[1] == 0.7).all() and found.fit[1] == 0 < min(found.fit[0], found.fit[2])
    assert (found.psf[1] == reference.bell(2, 9).astype(np.float32)).all()
    for i in (0, 2):
        image, psf, fit = truth(y[i], 20, 9, tv=2e-4)
        np.testing.assert_allclose(found.image[i], image, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.psf[i], psf, rtol=0, atol=SINGLE * psf.max())
        assert found.fit[i] == pytest.approx(fit, rel=1e-9)


def test_a_picture_of_nothing_keeps_what_is_warm(random, backend):
    """The next one starts with the PSF of the one before."""
    one, other = (drawn.problem(random, (45, 52)).y[0] for _ in range(2))
    how = {"psf_size": 9, "iterations": 20, "tv": 0.004, "device": backend, "warm": True}
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats((45, 52)))
        wanted = deblurrer.run(one), deblurrer.run(other)
        deblurrer.prepare(drawn.floats((45, 52)))
        deblurrer.run(one)
        assert (deblurrer.run(np.full((45, 52), 0.5)).psf == wanted[0].psf).all()
        assert (deblurrer.run(other).image == wanted[1].image).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "edges", ["extend", *(pytest.param(one, marks=pytest.mark.slow) for one in EDGES[:2])]
)
def test_never_nan(random, backend, edges):
    """Night with one lamp, half a night, white noise, a frame full of nothing but its corner."""
    lamp, half, corner = np.zeros((3, 64, 48))
    lamp[20, 20], half[:, 24:], corner[0, 0] = 1, 1, 1e-4
    for image in (lamp, half, corner, random.random((64, 48))):
        for options in ({}, {"noise": "gaussian"}, {"tv": 0.1}, {"psf": np.ones((9, 9))},
                        {"noise": "gaussian", "tv": 0.1}, {"read_noise": 1000.0}):  # fmt: skip
            found = run(image, psf_size=9, edges=edges, device=backend, **options)
            assert np.isfinite(found.image).all() and np.isfinite(found.psf).all()
            assert np.isfinite(found.fit) and found.psf.sum() == pytest.approx(1, abs=1e-5)


# What it refuses


def test_not_prepared(backend, picture):
    deblurrer = Deblurrer(device=backend)
    with pytest.raises(InputError, match=r"not prepared; call prepare\(format\)"):
        deblurrer.run(picture)
    deblurrer.prepare(drawn.floats(picture.shape))
    deblurrer.close()
    deblurrer.close()
    with pytest.raises(InputError, match="not prepared"):
        deblurrer.run(picture)


@pytest.mark.cases(6)
@pytest.mark.parametrize(
    ("format", "how", "words"),
    [
        (Format(40, 30, 0), {}, "got a PSF of 31×31 for a picture of 40×30"),
        (Format(30, 40, 0), {}, "got a PSF of 31×31 for a picture of 30×40"),
        (Format(40, 40, 0, white=1e300), {}, r"white=1e\+300; .* to 3e\+35"),
        (Format(40, 40, 0, white=1e-300), {}, "white=1e-300; .* from 1e-38"),
        (Format(40, 40), {"on_device": True}, "on_device=True for a Deblurrer on the CPU"),
        (Format(40, 40), {"bits": 7}, "bits=7"),
        ((40, 40), {}, "got a tuple; expected a Format"),
    ],
)
def test_wrong_pictures_to_prepare_for(format, how, words):
    with pytest.raises(InputError, match=words):
        Deblurrer(device="cpu").prepare(format, **how)


@pytest.mark.parametrize(
    ("bits", "wanted"),
    [
        (None, Format(52, 45, 10)),
        (10, Format(52, 45, 10)),
        (8, Format(52, 45, 8)),
        (0, Format(52, 45, 0)),
    ],
)
def test_the_depth_of_results(picture, backend, bits, wanted):
    """White of 10 bits is 1023, and results may have another depth, also those of one value."""
    deep = np.rint(picture * 1023).astype(np.uint16)
    how = {"psf_size": 9, "iterations": 5, "device": backend}
    real = run(deep / np.float32(1023), **how).image
    most = float((1 << bits) - 1 if bits else 1) if bits is not None else 1023.0
    with Deblurrer(**how) as deblurrer:
        assert deblurrer.prepare(Format(52, 45, 10, (1, 1)), bits) == wanted
        found = deblurrer.run(deep).image
        flat = deblurrer.run(np.full_like(deep, 341)).image
    assert found.dtype == flat.dtype == wanted.dtype
    # Both are computed in float32 from samples that round differently; half a step by rounding.
    np.testing.assert_allclose(found, real.clip(0, 1 if wanted.bits else None) * most,
                               rtol=0, atol=1e-4 * most + (0.5 if wanted.bits else 0))  # fmt: skip
    np.testing.assert_allclose(
        flat, most / 3, rtol=1e-6 if bits == 0 else 0, atol=0.5 * bool(most > 1)
    )


@pytest.mark.gpu
def test_results_may_stay_on_the_gpu(cuda, picture):
    how = {"psf_size": 9, "iterations": 5, "device": "cuda"}
    wanted = run(picture, **how)
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape), on_device=True)
        for one in (picture, cuda.asarray(picture)):
            found = deblurrer.run(one)
            assert type(found.image) is type(found.psf) is cuda.ndarray
            assert (found.image.get() == wanted.image).all()
        assert (deblurrer.run(np.full_like(picture, 0.25)).image == 0.25).all()


@pytest.mark.parametrize(
    ("iterations", "frames", "most"),
    [(2**31, 1, 2147483647), (2**30, 2, 1073741823), (1000, 2**22, 511)],
)
def test_more_iterations_than_a_launch_can_count(iterations, frames, most):
    words = f"iterations={iterations} with frames={frames}; expected at most {most}"
    with pytest.raises(InputError, match=words):
        Deblurrer(iterations=iterations, frames=frames, device="cpu")
    deblurrer = Deblurrer(iterations=2**31 - 1, device="cpu")
    deblurrer.prepare(drawn.floats((40, 40)))
    deblurrer.close()


@pytest.mark.parametrize("white", [1e-30, 3e35])
def test_white_may_be_any_number_of_float32(picture, backend, white):
    wanted = run(picture, psf_size=9, iterations=5, device=backend)
    found = run(picture * white, psf_size=9, iterations=5, device=backend, data_range=white)
    np.testing.assert_allclose(found.image / white, wanted.image, atol=1e-5)


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (np.zeros((41, 40)), r"got an array \(41, 40\); prepared for \(40, 41\)"),
        (np.zeros((1, 40, 41)), r"got an array \(1, 40, 41\)"),
        (np.zeros((40, 41, 3)), r"\(40, 41, 3\).*snellen\.deblur for colour"),
        (np.zeros((40, 41), np.int16), "got dtype int16; expected one of uint8"),
        (np.zeros((40, 41), bool), "dtype bool"),
        ([[0] * 41] * 40, "no NumPy array"),
    ],
)
def test_another_picture_than_prepared_for(image, words, backend):
    with Deblurrer(device=backend) as deblurrer:
        deblurrer.prepare(drawn.floats((40, 41)))
        with pytest.raises(InputError, match=words):
            deblurrer.run(image)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.nan, "NaN or infinity"),
        (np.inf, "NaN or infinity"),
        (-1e-3, r"negative samples; expected 0.*clip"),
        (1001.0, "more than 1000 times white, which is 1; state the value of white as data_range"),
        (1e300, "NaN or infinity|more than 1000 times"),
    ],
)
def test_samples_that_no_picture_has(picture, backend, value, words):
    """One in a corner, where only the edges' rule sees it; then all is as before."""
    bad = picture.copy()
    bad[0, -1] = value
    how = {"psf_size": 9, "iterations": 5, "device": backend, "warm": True}
    with Deblurrer(**how) as deblurrer, Deblurrer(**how) as other:
        deblurrer.prepare(drawn.floats(picture.shape))
        other.prepare(drawn.floats(picture.shape))
        for _ in range(2):
            with pytest.raises(InputError, match=words):
                deblurrer.run(bad)
            found, wanted = deblurrer.run(picture), other.run(picture)
            assert (found.image == wanted.image).all() and (found.psf == wanted.psf).all()


def test_stages_are_timed(picture, backend):
    with Deblurrer(psf_size=9, iterations=3, device=backend) as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape))
        wanted = deblurrer.run(picture)
        with profile.recording() as found:
            assert (deblurrer.run(picture).image == wanted.image).all()
        table = found.table()
    names = ("place on the period", "iterations", "data fidelity", "centre and cut")
    assert all(len(table[name]) == 1 for name in names)
    if backend == "cpu":
        assert len(table["ratios"]) == len(table["update of f"]) == 3


@pytest.mark.parametrize("frames", [1, 3])
@pytest.mark.parametrize("kind", ["float32", "uint8", "uint16"])
def test_submitted_pictures(random, backend, kind, frames):
    """What `run` makes of each, also of one value; `run` may come between."""
    pictures = np.array([drawn.problem(random, (32, 64), frames).y for _ in range(6)]).clip(0)
    if kind != "float32":
        pictures = np.rint(pictures.clip(0, 1) * np.iinfo(kind).max)
    pictures = pictures.astype(kind).squeeze(1) if frames == 1 else pictures.astype(kind)
    pictures[2] = 1
    how = {"psf_size": 9, "iterations": 20, "device": backend, "frames": frames}
    with Deblurrer(**how) as deblurrer:
        deblurrer.prepare(drawn.floats((32, 64)))
        assert deblurrer.slots == (1 if backend == "cpu" else 3)
        wanted = [deblurrer.run(picture) for picture in pictures]
        for _ in range(3):
            found, pending = [], []
            for number, picture in enumerate(pictures):
                given = picture.copy()
                pending.append(deblurrer.submit(given))
                given[:] = 0
                if number == 4:
                    deblurrer.run(pictures[0])
                if len(pending) == deblurrer.slots:
                    found.append(pending.pop(0)())
            found += [result() for result in pending]
            for one, other in zip(found, wanted, strict=True):
                assert (one.image == other.image).all() and one.image.dtype == kind
                assert (one.psf == other.psf).all() and one.fit == other.fit
                assert one.iterations == other.iterations
        bad = pictures[0].astype(np.float32)
        bad.flat[5] = np.nan
        with pytest.raises(InputError, match="NaN or infinity"):
            deblurrer.submit(bad)()
        assert (deblurrer.submit(pictures[0])().image == wanted[0].image).all()
    with pytest.raises(InputError, match="not prepared"):
        deblurrer.submit(pictures[0])


@pytest.mark.cases
@pytest.mark.parametrize("how", [{"warm": True}, {"tolerance": 1e-3}, {"history": True}])
def test_where_the_host_looks_pictures_are_not_in_flight(picture, backend, how):
    with Deblurrer(psf_size=9, iterations=20, device=backend, edges="extend", **how) as deblurrer:
        deblurrer.prepare(drawn.floats(picture.shape))
        assert deblurrer.slots == 1
        found = deblurrer.submit(picture)()
        deblurrer.prepare(drawn.floats(picture.shape))
        assert (deblurrer.run(picture).image == found.image).all()
