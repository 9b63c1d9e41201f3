"""The centre of an estimated PSF: where the picture is, to fractions of a pixel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

import snellen
from snellen.jobs.kinds import film_blur
from snellen.mia import centre, psf
from support.mia import drawn, reference
from support.mia.place import BLURS, LOPSIDED, distance, given

BYS = [(0.3, -0.4), (0.0, 0.5), (-0.5, 0.25)]
WITHIN = 0.05
"""Pixels between what is restored and the sharp picture, which is where the input has it: the blurs
have a middle."""


def test_centroid():
    plane = np.zeros((9, 9))
    plane[1, 6] = plane[2, 6] = 1  # rows −3 and −2, column 2
    assert centre.centroid(plane) == (-2.5, 2)
    assert centre.centroid(np.stack([plane, np.flip(plane)])) == (0, 0)
    assert centre.centroid(psf.gaussian(2, 31)) == pytest.approx((0, 0), abs=1e-14)
    assert centre.centroid(np.zeros((2, 9, 9))) == (0, 0)


@pytest.mark.parametrize("by", BYS)
def test_moves_are_those_of_the_cubic_spline(random, by):
    """Where no flow is cut. The weights that are left out sum up to 3e-5 of a sample."""
    planes = random.uniform(0.5, 1.5, (2, 20, 31))
    wanted = [ndimage.shift(plane, by, order=3, mode="grid-wrap") for plane in planes]
    np.testing.assert_allclose(centre.moved(planes, by), wanted, rtol=0, atol=5e-5)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("by", BYS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_stay_positive_and_whole(random, dtype, by, closed):
    plane = (random.random((18, 23)) ** 8).astype(dtype)
    found = centre.moved(plane, by, closed=closed)
    assert found.dtype == dtype and found.min() >= 0
    rounding = 20 * np.finfo(dtype).eps  # some ten operations a sample
    np.testing.assert_allclose(found.sum(), plane.sum(), rtol=rounding)
    wanted = reference.shifted(plane.astype(float), by, closed)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=10 * rounding)


def test_nothing_changes_by_no_move(random):
    plane = random.random((9, 12))
    assert (centre.moved(plane, (0, 0)) == plane).all()
    assert not (centre.moved(plane, (0, 1e-3)) == plane).all()


@pytest.mark.parametrize("part", [-0.5, -0.1, 0.0, 0.3])
def test_flows(part):
    """Into a sample of a flat line flows as much as out of it: a."""
    found = centre.flow(part)
    assert len(found) == 2 * centre.RADIUS + 1 and found[-1] == 0
    assert found.sum() == pytest.approx(part, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("frames", "period"), [(1, (32, 32)), (1, (32, 64)), (2, (45, 61))])
def test_recentring(random, period, frames):
    side = 15
    planes = np.array([drawn.walk(random, side) for _ in range(frames)])
    h = np.roll(psf.to_period(planes, period), (2, -3), (-2, -1))
    h = psf.to_period(psf.from_period(h, side), period)
    f = random.random(period)
    found, wanted = centre.recentre(f, h, side), reference.recentred(f, h, side)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found[1].sum((1, 2)), 1)
    assert not (found[0] == f).all()


def test_recentring_changes_no_model():
    """h moves one way, f the other: g stays, as long as nothing of h is cut off.

    Both are smooth, so that the spline's attenuation of what is near Nyquist's frequency, and what
    its truncation leaves out (3e-5 of each), are all that differs.
    """
    period, side = (48, 48), 15
    h = psf.to_period(ndimage.shift(psf.gaussian(1.6, side), (1.3, -2.4), order=5)[None], period)
    h = h.clip(0)
    f = 1 + 0.4 * np.sin(np.arange(48) * np.pi / 12) * np.cos(np.arange(48) * np.pi / 8)[:, None]
    moved, centred = centre.recentre(f, h, side)
    assert not np.allclose(centred, h)
    before, after = (
        reference.convolved(f, h[0] / h[0].sum()),
        reference.convolved(moved, centred[0]),
    )
    np.testing.assert_allclose(after, before, atol=5e-4)


def test_what_leaves_the_support_is_cut_off():
    plane = np.zeros((5, 5))
    plane[0, 0], plane[4, 4] = 3, 1  # mass at −1, −1: the lone corner moves out
    _, h = centre.recentre(np.zeros((32, 32)), psf.to_period(plane[None], (32, 32)), 5)
    wanted = np.zeros((5, 5))
    wanted[1, 1] = 1
    assert (psf.from_period(h, 5)[0] == wanted).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nothing_is_moved_where_nothing_would_be_left(random, dtype):
    """Of a PSF in a corner, away from which the mean of all moves it; of PSFs of 0."""
    f = random.random((32, 32)).astype(dtype)
    planes = np.zeros((3, 5, 5), dtype)
    planes[0, 0, 0] = planes[1, 4, 4] = planes[2, 4, 4] = 1
    for psfs in (planes, np.zeros_like(planes), planes * np.array([1, 1, 0], dtype)[:, None, None]):
        h = psf.to_period(psfs, (32, 32))
        moved, found = centre.recentre(f, h, 5)
        assert (moved == f).all() and (found == h).all() and found.dtype == dtype
        assert (centre.centred(psfs) == psfs).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_whole_pixels_interpolate_nothing(random, dtype):
    """What other implementations do, as docs/mia.md says."""
    f = random.random((32, 40)).astype(dtype)
    plane = np.zeros((1, 9, 9), dtype)
    plane[0, 5, 1], plane[0, 6, 2] = 0.75, 0.25  # at 1.25, −2.75
    moved, h = centre.recentre(f, psf.to_period(plane, f.shape), 9, whole=True)
    assert (moved == np.roll(f, (1, -3), (0, 1))).all()
    assert (psf.from_period(h, 9)[0] == np.roll(plane[0], (-1, 3), (0, 1))).all()


def test_rounding_moves_nothing(random):
    """A symmetric PSF, whose centre of mass is not 0 to the last bit."""
    f, h = random.random((32, 40)), psf.gaussian(2, 15)
    h[7, 8] += 1e-8
    h = psf.to_period(h[None] / h.sum(), f.shape)
    found, blurs = centre.recentre(f, h, 15)
    assert (found == f).all() and np.allclose(blurs, h, rtol=1e-15, atol=0)


@pytest.mark.parametrize("count", [1, 3])
def test_centred(random, count):
    """To the centre of mass, of all of them together: what lies between them stays."""
    psfs = np.zeros((count, 21, 21))
    for number, one in enumerate(psfs):
        one[4 + number : 15 + number, 8:19] = drawn.walk(random, 11)
    found = centre.centred(psfs)
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum((1, 2)), 1)
    # Four rounds leave a tenth each of half a pixel at most.
    np.testing.assert_allclose(centre.centroid(found), 0, atol=5e-4)
    # Flows are cut otherwise in each of them.
    apart = [np.subtract(centre.centroid(one), centre.centroid(psfs[0])) for one in psfs]
    after = [np.subtract(centre.centroid(one), centre.centroid(found[0])) for one in found]
    np.testing.assert_allclose(after, apart, atol=0.05)


# The place of what is restored


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["disc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("Gauss", "line"))]
)
def test_a_still_stays_where_it_is(random, backend, name):
    picture, sharp = given(random, BLURS[name])
    found = snellen.deblur(picture, psf_size=15, prior="l0", iterations=50, device=backend)
    np.testing.assert_allclose(distance(sharp, found.image), 0, atol=WITHIN)
    np.testing.assert_allclose(centre.centroid(found.psf), 0, atol=1e-3)


@pytest.mark.parametrize("how", ["grey", "colour", "tiles", "burst"])
def test_plain_mia_too(random, backend, how):
    """From a start that is not centred, which it moves to the middle at its end."""
    picture, sharp = given(random, BLURS["Gauss"])
    options = {
        "psf_size": 15,
        "prior": None,
        "start": LOPSIDED,
        "iterations": 20,
        "device": backend,
    }
    if how == "colour":
        picture = np.stack([picture, picture // 2, picture], -1)
    elif how == "tiles":
        options["tile"] = 90
    elif how == "burst":
        picture, options["multiframe"] = np.stack([picture, picture]), True
    found, raw = (
        snellen.deblur(picture, recentre=recentre, **options).image for recentre in (True, False)
    )
    for channel in range(3) if how == "colour" else [...]:
        one, other = (image[..., channel] if how == "colour" else image for image in (found, raw))
        np.testing.assert_allclose(distance(sharp, one), 0, atol=WITHIN)
        assert np.abs(distance(sharp, other)).max() > 0.2  # the raw result is not moved


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
def test_streams_and_what_is_submitted(random, backend, kind):
    """On a GPU: pictures in flight, integers rounded there; with the last PSF as a start, too."""
    picture, sharp = given(random, BLURS["Gauss"])
    white = np.iinfo(kind).max if kind != "float32" else 1
    picture = (picture / 255 * white).astype(kind)
    for warm in (False, True):
        how = {"psf_size": 15, "start": LOPSIDED, "iterations": 20, "device": backend, "warm": warm}
        with snellen.Stream(snellen.Deblurrer(**how), picture.shape) as stream:
            for _ in range(2):
                stream.push(picture)
            stream.finish()
            found = [region.restored for region in stream]
        assert len(found) == 2 and found[0].image.dtype == kind
        for one in found:
            np.testing.assert_allclose(distance(sharp, one.image), 0, atol=WITHIN)
            np.testing.assert_allclose(centre.centroid(one.psf), 0, atol=WITHIN)


@pytest.mark.slow
def test_a_blur_without_a_middle_has_its_centre_of_mass_there(random):
    """An L."""
    blur = np.zeros((15, 15))
    blur[3:11, 5] = blur[10, 5:12] = 1
    picture, _ = given(random, blur)
    found = snellen.deblur(picture, psf_size=15, prior="l0", iterations=50, device="cpu")
    np.testing.assert_allclose(centre.centroid(found.psf), 0, atol=1e-3)


def test_given_psfs_stay(random, backend):
    """What a user gives is neither moved nor changed."""
    blur = np.zeros((9, 9))
    blur[2:5, 3], blur[4, 3:8] = 1, 0.5
    picture, _ = given(random, blur, (64, 64))
    found = snellen.deblur(picture, blur, iterations=5, device=backend)
    np.testing.assert_allclose(found.psf, blur / blur.sum(), rtol=1e-6)


@pytest.mark.slow
def test_a_film_stays_where_it_is(random):
    """Its PSF is the same from either side."""
    frames = [given(random, BLURS["disc"], (100, 120))[0] for _ in range(2)]
    found = np.array(film_blur.estimated(frames, lambda line: None))
    np.testing.assert_allclose(centre.centroid(found), 0, atol=1e-4)
