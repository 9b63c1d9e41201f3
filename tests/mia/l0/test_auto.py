"""prior="auto": what is blurred is restored, and nothing is made worse without a word."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage
from scipy.signal import fftconvolve

import snellen
from snellen.frames.frame import Format
from snellen.mia import searched
from snellen.mia.l0 import judge, prior
from support.mia import drawn
from support.mia.plain import estimate

SIDE, MARGIN = 11, 10
HOW = {"psf_size": SIDE, "iterations": 10}


def scene(seed=0, shape=(96, 110)):
    """A sharp picture, and the same after a hand has shaken; both noisy, and the PSF."""
    random = np.random.default_rng(seed)
    sharp = drawn.scene(random, tuple(size + 2 * MARGIN for size in shape))
    psf = drawn.walk(random, SIDE - 2)
    inner = slice(MARGIN, -MARGIN)
    noise = random.normal(0, 0.003, shape)
    blurred = fftconvolve(sharp, psf, "same")[inner, inner]
    return *((one + noise).clip(0, 1) for one in (sharp[inner, inner], blurred)), psf


@pytest.fixture
def doubt(monkeypatch):
    """Every restoration is in doubt."""
    monkeypatch.setattr(judge, "STRUCTURE", 1e-9)


def as_it_was(found, given):
    """Check that a picture came back to the last bit, with a PSF that is a point."""
    middle = found.psf.shape[-1] // 2
    assert found.image.dtype == given.dtype and (found.image == given).all()
    assert (found.psf[..., middle, middle] == 1).all() and found.psf.sum() == found.psf[
        ..., 0, 0
    ].size
    assert np.all(np.asarray(found.fit) == 0)


@pytest.mark.slow
def test_the_default_restores_what_is_blurred(backend):
    _, blurred, _ = scene()
    found = snellen.deblur(blurred, **HOW, device=backend)
    wanted = snellen.deblur(blurred, **HOW, prior="l0", device=backend)
    assert found.outcome == "restored" and wanted.outcome is None
    assert (found.image == wanted.image).all() and (found.psf == wanted.psf).all()
    assert (found.fit, found.history) == (wanted.fit, wanted.history)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("channels", [(), (3,)])
def test_a_sharp_picture_is_the_answer(backend, dtype, channels):
    sharp, _, _ = scene()
    white = {"uint8": 255, "uint16": 65535}.get(dtype, 1)
    given = (sharp * white).astype(dtype)
    given = np.stack([given] * 3, -1) if channels else given
    found = snellen.deblur(given, psf_size=SIDE, device=backend)
    assert found.outcome == "no blur" and found.iterations == 0 and found.history == ()
    as_it_was(found, given)


@pytest.mark.slow
def test_one_that_is_in_doubt_is_left_as_it_is(backend, doubt):
    _, blurred, _ = scene()
    with pytest.warns(
        UserWarning,
        match=r"not plausible, or the noise too strong: left as it is; with prior l0 it is",
    ) as told:
        found = snellen.deblur(blurred, **HOW, device=backend)
    assert told[0].filename == __file__ and found.outcome == "implausible"
    assert found.iterations == 0 and found.history == ()
    as_it_was(found, blurred)


def test_noise_that_a_restoration_would_raise(monkeypatch):
    """MIA with a good PSF makes such a picture worse; it is not even searched for one."""
    _, blurred, _ = scene()
    noisy = (blurred + np.random.default_rng(1).normal(0, 0.04, blurred.shape)).clip(0, 1)
    monkeypatch.setattr(prior, "candidates", None)
    with pytest.warns(UserWarning, match="the noise too strong: left as it is"):
        found = snellen.deblur(noisy, **HOW, device="cpu")
    assert found.outcome == "implausible" and found.iterations == 0
    as_it_was(found, noisy)


def test_a_constant_picture_has_no_blur(backend):
    given = np.full((30, 33), 0.5, np.float32)
    found = snellen.deblur(given, **HOW, device=backend)
    assert found.outcome == "no blur" and found.iterations == 0
    as_it_was(found, given)


def test_stripes_are_no_noise():
    """Of stripes of 8 samples most second differences are high; their edges are sharp."""
    stripes = (np.indices((96, 110)).sum(0) // 8 % 2).astype(np.float32)
    found = snellen.deblur(stripes, **HOW, device="cpu")
    assert found.outcome == "no blur"
    as_it_was(found, stripes)


@pytest.mark.slow
def test_each_picture_of_a_batch_by_itself(backend):
    pictures = np.array([scene()[0], scene()[1], scene(1)[1]])
    found = snellen.deblur(pictures, **HOW, device=backend, channel_axis=None)
    assert found.outcome.tolist() == ["no blur", "restored", "restored"]
    for number, picture in enumerate(pictures):
        alone = snellen.deblur(picture, **HOW, device=backend)
        np.testing.assert_allclose(found.image[number], alone.image, rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.psf[number], alone.psf, rtol=0, atol=1e-6)
    none = snellen.deblur(pictures[:1], **HOW, device=backend)
    assert none.outcome.tolist() == ["no blur"] and (none.image == pictures[:1]).all()


def test_tiles_by_themselves(doubt):
    sharp, blurred, _ = scene()
    half = np.hstack([sharp, blurred])
    with pytest.warns(UserWarning, match=r"\d of 3 pictures or tiles: the blur"):
        found = snellen.deblur(half, **HOW, tile=96, device="cpu")
    assert found.outcome.shape == (1, 3) and found.outcome[0, 0] == "no blur"
    assert set(found.outcome.ravel()) <= {
        "no blur",
        "implausible",
    }
    assert (found.image == half).all()


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"psf": np.ones((3, 3))}, {"start": 2.0}, {"multiframe": True}])
def test_plain_mia_where_there_is_more_to_go_by(how):
    """Sharp or not: nothing is searched, and nothing judged."""
    given = np.stack([scene()[0]] * 2) if "multiframe" in how else scene()[0]
    wanted = snellen.deblur(given, **HOW, **how, prior=None, device="cpu")
    found = snellen.deblur(given, **HOW, **how, device="cpu")
    assert found.outcome is None and (found.image == wanted.image).all()
    assert snellen.deblur(given[..., :40], psf_size=3, **how, device="cpu").iterations == 200


@pytest.mark.parametrize(
    ("sigma", "least", "most"),
    [(0.0, 0.8, 1.0), (0.6, 0.5, 0.7), (1.0, 0.3, 0.42), (2.0, 0.1, 0.25)],
)
def test_how_steep_edges_are(sigma, least, most):
    """The step of an edge that a Gaussian blurs is erf(1 / √8 σ)."""
    sharp = np.kron(np.random.default_rng(3).random((12, 12)) > 0.5, np.ones((14, 14)))
    plane = ndimage.gaussian_filter(sharp, sigma) if sigma else sharp
    assert least <= judge.steepness([plane])[0] <= most
    for other in (plane * 1e-3 + 0.5, plane[::-1] * 900):
        assert judge.steepness([other])[0] == pytest.approx(judge.steepness([plane])[0], rel=1e-6)


def test_text_that_is_blurred_is_not_called_sharp():
    """Strokes that a motion has moved into the gaps of others are steep there."""
    page = Image.new("L", (250, 200), 255)
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(14)
    for row in range(11):
        draw.text((2, 18 * row), "The quick brown fox jumps over the lazy dog"[row:], 0, font)
    sharp = np.asarray(page) / 255
    shaken = ndimage.uniform_filter1d(sharp, 7, axis=1)
    before, after = (judge.steepness([plane])[0] for plane in (sharp, shaken))
    assert judge.STEP < after < judge.DENSE_STEP < before
    assert judge.before(sharp, None, 31) == "no blur"
    assert judge.before(shaken, None, 31) == "restored"
    line = np.zeros((15, 15))
    for samples, wanted in ((11, "restored"), (9, "no blur")):
        line[7] = np.arange(15) < samples
        assert judge.before(shaken, line / samples, 15) == wanted


def test_a_picture_without_edges_is_not_called_sharp():
    for plane in (np.zeros((60, 60)), np.random.default_rng(0).normal(0.5, 0.01, (60, 60)),
                  np.ones((7, 9)), np.ones((2, 3))):  # fmt: skip
        assert judge.steepness([plane])[0] == 0


def test_the_true_psf_is_rated_better_than_others():
    _, blurred, psf = scene(2)
    others = {
        "true": psf,
        "a point": np.zeros((9, 9)),
        "wider": ndimage.uniform_filter(np.pad(psf, 2), 3).clip(0),
        "turned": psf.T.copy(),
    }
    others["a point"][4, 4] = 1
    rated = {}
    for name, other in others.items():
        given = other / other.sum()
        sharp = snellen.deblur(blurred, given, iterations=50, tv=0.004, device="cpu").image
        rated[name] = judge.rating([(blurred, sharp)], given)
    assert min(rated, key=rated.get) == "true"
    assert judge.rating([(np.ones((9, 9)), np.ones((9, 9)))], np.eye(3) / 3) == np.inf


def test_what_is_left_weighs_total_variation():
    """Noise is left of a picture whose PSF is known, and more where that is wrong."""
    random = np.random.default_rng(5)
    sharp, psf = drawn.scene(random, (80, 90)), drawn.walk(random, 7)
    for sigma, wanted in ((0.002, 0.001), (0.009, 0.002), (0.02, 0.004)):
        given = fftconvolve(sharp, psf, "same") + random.normal(0, sigma, sharp.shape)
        left = judge.residual([(given, sharp)], psf)
        assert left == pytest.approx(sigma, rel=0.1) and judge.weight(left) == wanted
    assert judge.weight(judge.residual([(given - given, sharp)], psf)) == 0.004


@pytest.mark.slow
def test_several_starts_and_the_best_of_them(monkeypatch):
    """Of all sizes in one; which is the best, another start says."""
    _, blurred, psf = scene(4)
    turns = []
    every = prior.candidates(blurred, SIDE, lambda *step: turns.append(step))
    assert every.shape == (4, SIDE, SIDE) and turns == [(n, 55) for n in range(1, 56)]
    starts = ((11, 2), (11, 1), (7, 2), (5, 1))
    alone = [estimate(blurred, side, None, factor) for side, factor in starts]
    for found, wanted in zip(every, alone, strict=True):
        assert (found == np.pad(wanted, (SIDE - len(wanted)) // 2)).all()
    true = np.pad(psf, 1)
    for place in range(3):
        wrong = [np.full((SIDE, SIDE), 1 / SIDE**2), true, np.eye(SIDE) / SIDE]
        wrong[1], wrong[place] = wrong[place], wrong[1]
        monkeypatch.setattr(prior, "candidates", lambda *_, given=wrong: np.stack(given))
        found = snellen.deblur(blurred, **HOW, device="cpu")
        np.testing.assert_allclose(found.psf, true, atol=1e-6)


@pytest.mark.slow
def test_starts_that_end_in_different_psfs(monkeypatch):
    """Then the search has found nothing, unless one of them is much better."""
    middle = np.indices((11, 11)) == 5
    psfs = np.stack([middle[0], middle[1], np.eye(11), np.eye(11)[::-1]]) / 11
    shifted = np.stack([np.roll(psfs[0], shift, (0, 1)) for shift in range(-1, 3)])
    ratings = [1.0, 1.1, 1.05, 1.2]
    assert judge.agree(shifted, ratings) and not judge.agree(psfs, ratings)
    assert judge.agree(psfs, [1.0, 1.4, 1.6, 1.5]) and judge.agree(psfs[:2], ratings[:2])
    _, blurred, _ = scene()
    monkeypatch.setattr(judge, "agree", lambda *_: False)
    with pytest.warns(UserWarning, match="not plausible"):
        found = snellen.deblur(blurred, **HOW, device="cpu")
    assert found.outcome == "implausible"
    as_it_was(found, blurred)
    assert (snellen.deblur(blurred, **HOW, prior="l0", device="cpu").image != blurred).any()


@pytest.mark.slow
def test_of_a_large_picture_two_crops_choose(random, monkeypatch):
    asked = []

    def noted(planes, psfs, *_):
        asked.append((planes.shape, psfs.shape))
        return SimpleNamespace(pictures=planes[:, 0])

    monkeypatch.setattr(searched, "restored", noted)
    point, wide = np.zeros((2, 9, 9))
    point[4, 4], wide[...] = 1, 1 / 81
    monkeypatch.setattr(prior, "candidates", lambda *_: np.stack([wide, point]))
    picture = random.random((600, 1100)).astype(np.float32)
    how = snellen.Deblurrer(psf_size=9, device="cpu").method(Format(1100, 600, 0))
    rated, residual = [], judge.residual
    monkeypatch.setattr(judge, "residual", lambda *one: rated.append(one) or residual(*one))
    found, weights, agreed = searched.searched(picture[None, None], how, None)
    assert len(rated) == 2  # one of each PSF: it is a convolution
    assert weights == [0.001] and agreed == [True]  # a point leaves nothing
    assert asked == [((4, 1, 512, 512), (4, 1, 9, 9))] and (found == point).all()


@pytest.mark.parametrize("side", [1, 5, 7])
def test_small_psfs_have_fewer_starts(side):
    _, blurred, _ = scene()
    found = prior.candidates(blurred[:30, :33], side)
    assert found.shape == ({1: 2, 5: 3, 7: 4}[side], side, side)
    np.testing.assert_allclose(found.sum((1, 2)), 1)
    assert prior.candidates(np.ones((20, 20)), 5).shape == (1, 5, 5)


def test_a_small_psf_is_none():
    psf = np.zeros((9, 9))
    psf[4, 3:6] = 1
    assert judge.before(np.ones((3, 3)), psf, 9) == "no blur"
    psf[4] = 1
    assert judge.before(np.ones((3, 3)), psf, 9) == "restored"


@pytest.mark.parametrize(("sigma", "wanted"), [(0.85, "no blur"), (1.1, "restored")])
def test_a_slight_blur_of_a_picture_that_is_nearly_sharp(sigma, wanted):
    """What sharp pictures with soft edges have; undone it would make these worse."""
    sharp = np.kron(np.random.default_rng(3).random((12, 12)) > 0.5, np.ones((14, 14)))
    plane, psf = ndimage.gaussian_filter(sharp, sigma), np.zeros((9, 9))
    psf[3:6, 3:6] = 1 / 9
    assert judge.before(plane, None, 9) == "restored"
    assert judge.before(plane, psf, 9) == wanted
    assert judge.before(plane, np.full((9, 9), 1 / 81), 9) == "restored"


def test_the_true_psf_is_plausible_and_a_wrong_one_is_not():
    sharp, blurred, psf = scene(2)
    how = {"iterations": 100, "tv": 0.004, "device": "cpu"}
    given = np.pad(psf, 1)
    assert judge.after(blurred, snellen.deblur(blurred, psf, **how).image, given) == "restored"
    wrong = np.rot90(np.eye(15) / 15)
    assert judge.after(blurred, snellen.deblur(blurred, wrong, **how).image, wrong) == "implausible"
    assert judge.after(sharp, sharp, given) == "restored"  # nothing was changed
