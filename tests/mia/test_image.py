"""snellen.deblur: arrays of any kind, colour, batches, frames, tiles, what is refused."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

import snellen.mia
from snellen.errors import DeviceError, InputError
from snellen.frames.colour import KB, KG, KR
from support.foreign import Picture, Tensor, install
from support.mia import drawn, reference
from support.mia.plain import deblur
from support.mia.truth import compare, truth

EXACT = {"psf_size": 9, "dtype": "float64"}


def picture(random, size=(40, 45), frames=1):
    """A blurred picture, or frames of one."""
    y = drawn.problem(random, size, frames).y
    return y if frames > 1 else y[0]


def colours(random, size=(40, 45)):
    """A blurred RGB picture, whose channels differ, and its PSF (9, 9)."""
    problem = drawn.problem(random, size)
    planes = [drawn.scene(random, size) for _ in range(3)]
    seen = [reference.convolved(plane, problem.blurs[0]).clip(0) for plane in planes]
    return np.stack(seen, -1), reference.off_period(problem.blurs[0], 9)


def same(found, wanted, within=0.0):
    """Check that two results agree."""
    np.testing.assert_allclose(found.image, wanted.image, rtol=0, atol=within)
    np.testing.assert_allclose(found.psf, wanted.psf, rtol=0, atol=within)
    np.testing.assert_allclose(found.fit, wanted.fit, rtol=1e-6, atol=within)
    assert found.iterations == wanted.iterations


# What it computes


@pytest.mark.slow
@pytest.mark.parametrize("edges", ["extend", "taper", "circular"])
def test_a_grey_picture(random, backend, edges):
    y = picture(random)
    found = deblur(y, iterations=20, edges=edges, device=backend, **EXACT)
    compare(found, truth(y[None], 20, 9, edges))
    assert [step.iteration for step in found.history] == [10, 20]


@pytest.mark.slow
def test_the_defaults(random, backend):
    """A PSF of 31, 200 iterations, extended edges, in float32; a look every ten."""
    y = picture(random, (70, 64))
    found = deblur(y, device=backend)
    compare(found, truth(y[None], 200, 31, "extend"), "float32")
    assert found.iterations == 200 and len(found.history) == 20
    assert found.psf.shape == (31, 31) and type(found.fit) is float


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"noise": "gaussian"},
        {"read_noise": 0.05},
        {"tv": 2e-4},
        {"start": 1.0},
        {"recentre": False},
        {"recentre": "whole"},
    ],
    ids=str,
)
def test_every_option(random, backend, options):
    y = picture(random)
    found = deblur(y, iterations=20, device=backend, **EXACT, **options)
    if "start" in options:
        options = {"start": reference.bell(1, 9)}
    compare(found, truth(y[None], 20, 9, "extend", **options))


def test_a_given_psf(random, backend):
    problem = drawn.problem(random, (40, 45))
    blur = reference.off_period(problem.blurs[0], 9)
    found = deblur(problem.y[0], 5 * blur, iterations=20, device=backend, dtype="float64")
    compare(found, truth(problem.y, 20, 9, "extend", [blur]))
    np.testing.assert_allclose(found.psf, blur, atol=1e-7)


def test_colour(random, backend):
    """The PSF is luma's, and each channel is restored with it."""
    y, _ = colours(random)
    luma = KR * y[..., 0] + KG * y[..., 1] + KB * y[..., 2]
    found = deblur(y, iterations=20, device=backend, **EXACT)
    first = deblur(luma, iterations=20, device=backend, **EXACT)
    assert (found.psf == first.psf).all() and found.history == first.history
    fits = []
    for channel in range(3):
        plane = y[..., channel][None]
        image, _, fit = truth(plane, 20, 9, "extend", [first.psf])
        # The PSF went through float32.
        np.testing.assert_allclose(found.image[..., channel], image, rtol=0, atol=1e-6)
        fits.append(fit)
    assert found.fit == pytest.approx(np.mean(fits), rel=1e-5)


@pytest.mark.slow
def test_colour_that_stops_early(random, monkeypatch):
    """All channels do as many iterations as luma did, and at once."""
    from snellen.mia.cpu import Backend

    calls = []
    iterate = Backend.iterate
    monkeypatch.setattr(Backend, "iterate", lambda self, n: calls.append(n) or iterate(self, n))
    y, _ = colours(random)
    found = deblur(y, tolerance=0.01, device="cpu", **EXACT)
    assert 20 <= found.iterations < 200
    chunks = found.iterations // 10
    assert calls == [10] * chunks + [found.iterations]
    same(found, deblur(y, iterations=found.iterations, device="cpu", **EXACT))


def test_colour_with_a_given_psf(random, backend):
    y, blur = colours(random)
    found = deblur(y, blur, iterations=20, device=backend, dtype="float64")
    alone = [
        deblur(y[..., i], blur, iterations=20, device=backend, dtype="float64") for i in range(3)
    ]
    np.testing.assert_allclose(found.image, np.stack([one.image for one in alone], -1), atol=1e-12)
    assert found.psf.shape == (9, 9)
    assert found.fit == pytest.approx(np.mean([one.fit for one in alone]), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("batch", [(1,), (3,), (2, 2)])
def test_batches(random, backend, batch, colour):
    """Each picture as if it were alone."""
    count = int(np.prod(batch))
    one = [colours(random)[0] if colour else picture(random) for _ in range(count)]
    y = np.reshape(one, (*batch, *one[0].shape))
    axis = -1 if colour else None
    found = deblur(y, iterations=10, device=backend, channel_axis=axis, **EXACT)
    assert found.image.shape == y.shape and found.psf.shape == (*batch, 9, 9)
    assert found.fit.shape == batch and found.fit.dtype == np.float64
    alone = [deblur(plane, iterations=10, device=backend, **EXACT) for plane in one]
    for number, place in enumerate(np.ndindex(batch)):
        np.testing.assert_allclose(found.image[place], alone[number].image, atol=1e-12)
        np.testing.assert_allclose(found.psf[place], alone[number].psf, atol=1e-7)
        assert found.fit[place] == pytest.approx(alone[number].fit, rel=1e-9)
    if not colour:  # whose history is luma's
        assert found.history[0].fit == pytest.approx(found.fit.mean(), rel=1e-9)


def test_what_does_not_fit_into_memory_goes_in_turns(random, monkeypatch):
    y = np.array([picture(random) for _ in range(5)])
    how = {"iterations": 60, "every": 5, "tolerance": 0.03, "device": "cpu", **EXACT}
    alone = [deblur(plane, **how) for plane in y]
    together = deblur(y, **how)
    assert {one.iterations for one in alone} != {together.iterations}
    monkeypatch.setattr("snellen.mia.batches.HOST", 1)
    found = deblur(y, **how)
    assert (found.image == np.array([one.image for one in alone])).all()
    assert found.iterations == together.iterations == len(found.history) * 5
    for number, step in enumerate(found.history):
        steps = [one.history[number] for one in alone if number < len(one.history)]
        assert step.fit == pytest.approx(np.mean([one.fit for one in steps]))
        assert step.change == max(one.change for one in steps)
    monkeypatch.setattr("snellen.mia.batches.HOST", 4 * 64 * 64)
    blurs = np.array([one.psf for one in alone])
    found = deblur(y, blurs, iterations=5, device="cpu", dtype="float64")
    for i in range(5):
        wanted = deblur(y[i], blurs[i], iterations=5, device="cpu", dtype="float64")
        np.testing.assert_allclose(found.image[i], wanted.image, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 3])
def test_frames_of_one_object(random, backend, frames):
    y = drawn.problem(random, (40, 45), frames).y
    found = deblur(y, iterations=20, multiframe=True, device=backend, **EXACT)
    image, psf, fit = truth(y, 20, 9, "extend")
    np.testing.assert_allclose(found.image, image, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.psf, psf, rtol=0, atol=1e-7)
    assert found.psf.shape == (frames, 9, 9) and found.fit == pytest.approx(fit, rel=1e-9)


def test_colour_frames(random, backend):
    y = np.array([colours(random)[0] for _ in range(2)])
    found = deblur(y, iterations=10, multiframe=True, device=backend, **EXACT)
    luma = KR * y[..., 0] + KG * y[..., 1] + KB * y[..., 2]
    first = deblur(luma, iterations=10, multiframe=True, device=backend, **EXACT)
    assert found.image.shape == (40, 45, 3) and (found.psf == first.psf).all()
    image, _, _ = truth(y[..., 1], 10, 9, "extend", first.psf)
    np.testing.assert_allclose(found.image[..., 1], image, rtol=0, atol=1e-6)


def test_many_frames_beat_the_best_of_them(random, backend):
    problem = drawn.problem(random, (64, 64), 6, side=9)
    blurs = np.array([reference.off_period(h, 9) for h in problem.blurs])
    how = {"iterations": 30, "edges": "circular", "device": backend}
    together = deblur(problem.y, blurs, multiframe=True, **how)
    alone = [deblur(y, blur, **how) for y, blur in zip(problem.y, blurs, strict=True)]
    best = max(drawn.psnr(one.image, problem.sharp) for one in alone)
    assert drawn.psnr(together.image, problem.sharp) > best + 2


# Tiles


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 2])
def test_each_tile_is_restored_by_itself(random, backend, frames):
    y = drawn.problem(random, (60, 75), frames).y
    how = {"iterations": 10, "multiframe": frames > 1, "device": backend, **EXACT}
    y = y if frames > 1 else y[0]
    found = deblur(y, tile=40, **how)
    lead = (frames,) if frames > 1 else ()
    assert found.image.shape == (60, 75) and found.psf.shape == (2, 3, *lead, 9, 9)
    tile = deblur(y[..., 20:60, 35:75], **how)
    np.testing.assert_allclose(found.psf[1, 2], tile.psf, atol=1e-7)
    # Only this tile has a say there.
    np.testing.assert_allclose(found.image[35:, 60:], tile.image[15:, 25:], atol=1e-12)
    fits = [deblur(y[..., i : i + 40, j : j + 40], **how).fit for i in (0, 20) for j in (0, 18, 35)]
    assert found.fit == pytest.approx(np.mean(fits), rel=0.02)
    assert len(fits) == 6


def test_tiles_with_one_psf_have_no_seams(random, backend):
    """The picture as a whole, but for what tiles cannot know."""
    problem = drawn.problem(random, (96, 110))
    blur = reference.off_period(problem.blurs[0], 9)
    how = {"iterations": 20, "device": backend}
    whole, found = (deblur(problem.y[0], blur, tile=t, **how) for t in (None, 48))
    assert found.psf.shape == (3, 3, 9, 9) and np.ptp(found.psf, (0, 1)).max() == 0
    away = np.abs(found.image - whole.image)
    # So little that it is beyond the noise and far below what was restored.
    assert away[9:-9, 9:-9].max() < 0.02 < 0.2 < np.abs(whole.image - problem.y[0]).max()
    jumps = [np.abs(np.diff(away, axis=axis)).max() for axis in (0, 1)]
    assert max(jumps) < 0.03


@pytest.mark.slow
def test_a_blur_of_each_tile(random, backend):
    """Given as (rows, columns, K, K): what blurs more on the right is sharpened more there."""
    sharp = drawn.scene(random, (64, 200))
    blurs = [reference.bell(sigma, 15) for sigma in (0.5, 1.5)]
    seen = [reference.convolved(sharp, reference.on_period(b, sharp.shape)) for b in blurs]
    share = np.linspace(0, 1, 200)
    y = ((1 - share) * seen[0] + share * seen[1]).clip(0)
    how = {"tile": 64, "iterations": 50, "device": backend}
    grid = deblur(y, blurs[0], **how).psf.shape[:2]
    assert grid == (1, 5)
    own = np.array([[(1 - s) * blurs[0] + s * blurs[1] for s in np.linspace(0.15, 0.85, 5)]])
    quality = {
        name: drawn.psnr(deblur(y, psf, **how).image[8:-8, 8:-8], sharp[8:-8, 8:-8])
        for name, psf in (("own", own), ("left", blurs[0]), ("right", blurs[1]))
    }
    assert quality["own"] > max(quality["left"], quality["right"]) + 1
    with pytest.raises(InputError, match=r"psf has shape \(2, 5, 15, 15\); expected \(15, 15\) "):
        deblur(y, np.repeat(own, 2, 0), **how)


def test_tiles_of_colour_batches(random, backend):
    y = np.array([colours(random, (50, 64))[0] for _ in range(2)])
    found = deblur(y, tile=40, iterations=5, device=backend, **EXACT)
    assert found.image.shape == y.shape and found.psf.shape == (2, 2, 2, 9, 9)
    alone = deblur(y[1], tile=40, iterations=5, device=backend, **EXACT)
    np.testing.assert_allclose(found.image[1], alone.image, atol=1e-12)
    assert found.fit[1] == pytest.approx(alone.fit, rel=1e-9)


def test_a_tile_as_large_as_the_picture(random, backend):
    y = picture(random)
    found, wanted = (deblur(y, tile=t, iterations=5, device=backend, **EXACT) for t in (99, None))
    assert found.psf.shape == (1, 1, 9, 9)
    assert (found.psf[0, 0] == wanted.psf).all() and (found.image == wanted.image).all()


# Priors


@pytest.fixture
def prior(monkeypatch):
    """A stand-in for the estimate: a Gaussian that is as wide as the picture is bright."""
    module = ModuleType("snellen.mia.l0.prior")
    module.asked = []

    def estimate(image, psf_size, *_):
        image = image if isinstance(image, np.ndarray) else image.get()
        module.asked.append((image.shape, psf_size))
        return reference.bell(0.5 + float(image.mean()), 9)[None]

    module.candidates = estimate
    monkeypatch.setitem(sys.modules, "snellen.mia.l0.prior", module)
    monkeypatch.setattr(snellen.mia, "l0", module, raising=False)
    return module


def test_a_prior_finds_the_psf(random, backend, prior):
    """Then that is given, with total variation by the noise, unless another is asked for."""
    y = picture(random)
    blur = reference.bell(0.5 + y.mean(), 9)
    found = deblur(y, prior="l0", psf_size=9, device=backend)
    same(found, deblur(y, blur, tv=0.004, device=backend), 0.05)
    assert found.iterations == 200 and prior.asked == [((40, 45), 9)]
    other = deblur(y, prior="l0", iterations=5, tv=0.0, device=backend, **EXACT)
    same(other, deblur(y, blur, iterations=5, device=backend, dtype="float64"), 1e-6)


def test_each_picture_has_its_own_total_variation(random, backend, prior, monkeypatch):
    """By what its PSF leaves unexplained; pictures of one weight are restored together."""
    y, weights = random.random((4, 40, 45)), [0.004, 0.001, 0.002, 0.001]
    found_with = iter(weights)
    monkeypatch.setattr(
        "snellen.mia.searched._best",
        lambda picture, psfs, method: (psfs[0], next(found_with), True),
    )
    how = {"psf_size": 9, "iterations": 12, "device": backend, **EXACT}
    found = deblur(y, prior="l0", **how)
    for number, tv in enumerate(weights):
        blur = reference.bell(0.5 + y[number].mean(), 9)
        alone = deblur(y[number], blur, tv=tv, **how)
        np.testing.assert_allclose(found.image[number], alone.image, rtol=0, atol=1e-7)
        np.testing.assert_allclose(found.psf[number], alone.psf, rtol=0, atol=1e-7)
        np.testing.assert_allclose(found.fit[number], alone.fit, rtol=1e-6)
    assert found.iterations == 12 and len(found.history) == len(alone.history)


def test_a_prior_for_each_picture_and_each_tile(random, prior):
    y = np.array([colours(random, (50, 64))[0] for _ in range(2)])
    found = deblur(y, prior="l0", tile=40, device="cpu", iterations=2, **EXACT)
    assert found.psf.shape == (2, 2, 2, 9, 9) and prior.asked == [((40, 40), 9)] * 8
    luma = (KR * y[..., 0] + KG * y[..., 1] + KB * y[..., 2])[1, 10:, 24:]
    wanted = reference.bell(0.5 + luma.mean(), 9)
    np.testing.assert_allclose(found.psf[1, 1, 1], wanted, atol=1e-6)


# Arrays


@pytest.mark.parametrize("channels", [(), (3,)])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
def test_samples_of_any_type(random, backend, dtype, channels):
    """The same type comes back; integers are rounded and clipped, floats are not."""
    white = {"uint8": 255, "uint16": 1023}.get(dtype, 2.0)
    y = colours(random)[0] if channels else picture(random)
    came = y * white
    came = (np.rint(came) if dtype[0] == "u" else came).astype(dtype)
    kept = came.copy()
    blur = reference.bell(1, 9)
    found = deblur(came, blur, iterations=30, data_range=white, device=backend)
    wanted = deblur(came / white, blur, iterations=30, device=backend, dtype="float64")
    assert found.image.dtype == dtype and (came == kept).all()
    assert wanted.image.max() > 1.01 and found.psf.dtype == np.float32
    if dtype[0] == "u":
        assert found.image.max() == white
        assert np.abs(found.image - (wanted.image * white).clip(0, white)).max() < 0.6
    else:
        eps = np.finfo(dtype).eps
        np.testing.assert_allclose(found.image, wanted.image * white, rtol=eps, atol=2e-4)
    assert found.fit == pytest.approx(wanted.fit, abs=1e-7)


def test_layouts(random, backend):
    image = np.rint(255 * colours(random)[0].clip(0, 1)).astype(np.uint8)
    how = {"psf_size": 9, "iterations": 5, "device": backend}
    wanted = deblur(image, **how)
    fixed = image.copy()
    fixed.flags.writeable = False
    spaced = np.zeros((40, 45, 6), np.uint8)
    spaced[..., ::2] = image
    for layout in (np.asfortranarray(image), fixed, spaced[..., ::2], image[::-1].copy()[::-1]):
        same(deblur(layout, **how), wanted)
    swapped = (image.astype(np.uint16) * 257).astype(">u2")
    found = deblur(swapped, **how)
    assert found.image.dtype == ">u2"
    np.testing.assert_allclose(found.image / 257, wanted.image, atol=0.6)


def test_results_are_the_librarys_own_arrays(random, monkeypatch):
    install(monkeypatch)
    y = picture(random)
    how = {"psf_size": 9, "iterations": 5, "device": "cpu"}
    found, wanted = deblur(Tensor(y), **how), deblur(y, **how)
    assert type(found.image) is type(found.psf) is Tensor and type(found.fit) is float
    assert (found.image.array == wanted.image).all() and (found.psf.array == wanted.psf).all()
    again = deblur(y, found.psf, iterations=5, device="cpu")
    assert (again.image == deblur(y, wanted.psf, iterations=5, device="cpu").image).all()
    with pytest.raises(InputError, match=r"lives on a GPU.*\.cpu\(\)"):
        deblur(Tensor(y, (2, 0)), device="cpu")


def test_anything_with_array(random, backend):
    y = picture(random)
    how = {"psf_size": 9, "iterations": 5, "device": backend}
    same(deblur(Picture(y), **how), deblur(y, **how))
    same(deblur(y.tolist(), **how), deblur(y, **how))


def test_callback(random):
    """Of colour it is luma's; of many pictures it is a stack's."""
    seen = []

    def look(iteration, image, psf):
        seen.append((iteration, image.shape, psf.shape))

    how = {"iterations": 10, "every": 5, "callback": look, "device": "cpu", **EXACT}
    deblur(picture(random), **how)
    deblur(colours(random)[0], **how)
    deblur(np.array([picture(random)] * 2), **how)
    deblur(picture(random, frames=2), multiframe=True, **how)
    shapes = [((40, 45), (9, 9))] * 2 + [((2, 40, 45), (2, 9, 9)), ((40, 45), (2, 9, 9))]
    assert seen == [(i, *both) for both in shapes for i in (5, 10)]

    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        deblur(picture(random), callback=fail, psf_size=9, device="cpu")


@pytest.mark.slow
def test_from_several_threads(random):
    y = picture(random)
    how = {"psf_size": 9, "iterations": 10, "device": "cpu"}
    wanted = deblur(y, **how)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: deblur(y, **how), range(8)):
            assert (found.image == wanted.image).all() and found.fit == wanted.fit


# Nothing to restore, and what is refused


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    "options",
    [{}, {"noise": "gaussian"}, {"tv": 0.1}, {"tile": 40}, {"noise": "gaussian", "tv": 0.004}],
    ids=str,
)
def test_pictures_of_one_value(backend, value, options):
    """They come back to the last bit, with the PSF that was to start from."""
    for dtype in ("float64", "float32", "uint8"):
        came = np.full((50, 47, 3), 255 * value if dtype == "uint8" else value).astype(dtype)
        came[..., 2] = 0
        found = deblur(came, psf_size=9, iterations=20, device=backend, **options)
        assert (found.image == came).all()
        wanted = np.broadcast_to(reference.bell(2, 9), found.psf.shape)
        np.testing.assert_allclose(found.psf, wanted, rtol=1e-6)
        assert found.fit == 0
    blur = np.ones((3, 3)) / 9
    found = deblur(came, blur, device=backend)
    assert (found.image == came).all() and np.allclose(found.psf, blur)


def test_one_picture_of_nothing_among_others(random, backend):
    y = np.array([np.zeros((40, 45)), picture(random), np.full((40, 45), 0.7)])
    found = deblur(y, iterations=10, device=backend, channel_axis=None, **EXACT)
    compare(
        type(found)(found.image[1], found.psf[1], found.fit[1], 10), truth(y[1:2], 10, 9, "extend")
    )
    assert (found.image[[0, 2]] == y[[0, 2]]).all()


def test_a_batch_of_none():
    found = deblur(np.zeros((2, 0, 40, 45, 3), np.uint8), device="cpu")
    assert found.image.shape == (2, 0, 40, 45, 3) and found.psf.shape == (2, 0, 31, 31)
    assert found.fit.shape == (2, 0) and found.iterations == 0 and found.history == ()


GREY = np.full((40, 45), 0.5)
GREY[3, 4] = 0.25


def with_one(value):
    plane = GREY.copy()
    plane[-1, -1] = value
    return plane


@pytest.mark.cases(33)
@pytest.mark.parametrize(
    ("image", "how", "words"),
    [
        (GREY > 0, {}, "got dtype bool; expected one of uint8, uint16"),
        (GREY.astype(np.int16), {}, "dtype int16"),
        (GREY.astype(complex), {}, "dtype complex128"),
        ("picture.png", {}, "expected"),
        (None, {}, "got None; expected an array"),
        (GREY[0], {}, r"shape \(45,\); expected \(…, H, W\) or \(…, H, W, 3\)"),
        (GREY[:0], {}, r"shape \(0, 45\).* at least one pixel"),
        (
            np.zeros((40, 45, 4)),
            {},
            r"\(40, 45, 4\).* 4 channels.*image\[\.\.\., :3\].* of 4 col",
        ),
        (np.zeros((40, 45, 4)), {"multiframe": True}, r"like 4 channels.*image\[\.\.\., :3\]"),
        (
            np.zeros((40, 45, 2)),
            {"psf_size": 1},
            r"like 2 channels.*image\[\.\.\., 0\].*channel_axis=None",
        ),
        (GREY, {"read_noise": 1e20}, r"read_noise=1e\+20"),
        (GREY, {"tv": 1e39}, r"tv=1e\+39"),
        (GREY, {"psf": [[1, 2], [3]]}, "psf is not an array"),
        (GREY, {"callback": 3}, "callback=3; expected a function"),
        (GREY[:30], {}, r"got a PSF of 31×31 for a picture of 45×30 \(width × height\)"),
        (GREY, {"psf_size": 41}, "got a PSF of 41×41 for a picture of 45×40"),
        (GREY, {"psf": np.ones((3, 41))}, "got a PSF of 41×41"),
        (GREY, {"psf": np.zeros((3, 3))}, "psf is 0 everywhere"),
        (GREY, {"psf": np.ones((2, 3, 3))}, r"psf has shape \(2, 3, 3\); expected \(3, 3\)$"),
        (GREY, {"multiframe": True}, r"shape \(40, 45\); expected \(M, H, W\)"),
        (np.zeros((2, 2, 40, 45)), {"multiframe": True}, r"\(2, 2, 40, 45\); expected \(M,"),
        (np.zeros((0, 40, 45)), {"multiframe": True}, r"shape \(0, 40, 45\)"),
        (GREY, {"multiframe": 2}, "multiframe=2; expected True or False"),
        (with_one(np.nan), {}, "NaN or infinity; replace"),
        (with_one(-np.inf), {}, "NaN or infinity"),
        (with_one(-1e-9), {}, r"negative samples; expected 0.*clip"),
        (
            with_one(1.6),
            {},
            "got samples from .* to 1.6; expected 0 to 1; state another data_range",
        ),
        (with_one(1001), {"data_range": 1}, "more than 1000 times white, which is 1; state"),
        (GREY, {"data_range": 0}, "data_range=0; expected the value of white"),
        (GREY, {"data_range": "255"}, "data_range='255'"),
        (GREY, {"data_range": 1e300}, r"data_range=1e\+300; expected the value of white"),
        (GREY, {"iterations": 0}, "iterations=0"),
        (GREY, {"noise": "laplace"}, "noise='laplace'"),
        (GREY, {"edges": "wrap"}, "edges='wrap'"),
        (GREY, {"tv": -1}, "tv=-1"),
        (GREY, {"start": -2}, "start=-2"),
        (GREY, {"tolerance": np.nan}, "tolerance=nan"),
        (GREY, {"every": 0}, "every=0"),
        (GREY, {"dtype": "half"}, "dtype='half'"),
        (GREY, {"prior": "l1"}, "prior='l1'; expected one of auto, l0, or None"),
        (GREY, {"prior": "l0", "psf": np.ones((3, 3))}, "prior='l0' with psf"),
        (GREY[None], {"prior": "l0", "multiframe": True}, "prior='l0' with multiframe=True"),
        (GREY, {"tile": 30}, "tile=30 with a PSF of 31×31"),
        (GREY, {"tile": 64.5}, r"tile=64\.5"),
    ],
)
def test_refusals(image, how, words, backend):
    with pytest.raises(InputError, match=words):
        deblur(image, device=backend, **how)


def test_narrow_pictures_are_pictures():
    """Where that is said, or they cannot be a picture of channels."""
    blur, said = np.ones((1, 1)), {"channel_axis": None}
    for shape, how in [((1, 40, 45, 4), said), ((40, 3, 2), said), ((4, 45, 4), {}), ((45, 4), {})]:
        found = deblur(np.full(shape, 0.5), blur, iterations=1, device="cpu", **how)
        assert found.image.shape == shape and found.psf.shape == (*shape[:-2], 1, 1)


def test_wrong_device():
    with pytest.raises(InputError, match="device=None; expected auto"):
        deblur(GREY, device=None)
    with pytest.raises(DeviceError, match="cannot be used"):
        deblur(GREY, device="cuda:99")
    with pytest.raises(DeviceError, match="got device='gpu'; expected auto"):
        deblur(GREY, device="gpu")
