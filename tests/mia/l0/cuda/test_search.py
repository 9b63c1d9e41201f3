"""The search of the PSF on a GPU: what it finds is what the CPU finds."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from snellen.engine.prepared import clear_cache
from snellen.errors import DeviceMemoryError
from snellen.gpu import profile
from snellen.mia import psf as psfs
from snellen.mia.l0 import prior
from snellen.mia.l0.cuda.level import _steps
from snellen.mia.l0.cuda.search import Search, together
from snellen.mia.l0.latent import FIRST, GROWTH, LAST
from snellen.mia.l0.pyramid import levels
from support.fake_cupy import FakeCupy
from support.mia import drawn
from support.mia.plain import estimate

CASES = {
    "one": ((40, 51), 1, 5),
    "odd": ((95, 113), 1, 11),
    "three": ((45, 33), 3, 7),  # planes of an odd number of samples, one after another
    "a PSF as large": ((31, 35), 2, 31),
    "good lengths": ((128, 96), 2, 15),
    "lags beyond": ((20, 90), 1, 19),
}


def pictures(count, shape, seed=3):
    """Scenes in 0 … 1, blurred by one PSF, float32."""
    random = np.random.default_rng(seed)
    psf = psfs.to_period(drawn.walk(random, 5), shape)
    scenes = [drawn.scene(random, shape) for _ in range(count)]
    return [
        np.fft.irfft2(np.fft.rfft2(one) * np.fft.rfft2(psf), shape).clip(0, 1).astype(np.float32)
        for one in scenes
    ]


def search(how, planes, side, divisor=1.0):
    """What one of the two searches finds, and the iterations that it reported."""
    every = levels(planes[0].shape, side)
    reported = []
    start = psfs.gaussian(prior.SIGMA, every[0].side), prior._weights(len(every))
    if how == "kernels":
        found = prior._search_there(planes, divisor, side, *start, reported.append)
    else:
        found = prior._search(planes, divisor, every, *start, reported.append)
    assert sum(reported) == prior.ITERATIONS * len(every)
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES)
def test_the_same_as_on_the_cpu(cuda, case):
    shape, count, side = CASES[case]
    planes = pictures(count, shape)
    there = [cuda.asarray(np.pad(plane, 3))[3:-3, 3:-3] for plane in planes]
    cuda.full(1 << 22, cuda.nan)  # given back to the pool at once
    found = search("kernels", there, side, 0.5)
    # Both are float64; the transforms round differently, but no value is that near a threshold.
    np.testing.assert_allclose(found, search("arrays", planes, side, 0.5), rtol=0, atol=1e-8)
    assert all((plane.get() == kept).all() for plane, kept in zip(there, planes, strict=True))


@pytest.mark.gpu
def test_the_same_as_by_arrays_of_cupy(cuda):
    there = [cuda.asarray(plane) for plane in pictures(2, (50, 61))]
    kernels, arrays = (search(how, there, 9) for how in ("kernels", "arrays"))
    np.testing.assert_allclose(kernels, arrays, rtol=0, atol=1e-8)


@pytest.mark.gpu
def test_again_the_same_bytes(cuda):
    """Sums are in a fixed order, and nothing of other pictures is left in the buffers."""
    there = [cuda.asarray(plane) for plane in pictures(2, (50, 61))]
    first = search("kernels", there, 9)
    search("kernels", [1 - plane for plane in there], 9)
    assert (search("kernels", there, 9) == first).all()


@pytest.mark.gpu
def test_starts_side_by_side(cuda, monkeypatch):
    """Each finds what it finds alone, to the last bit; also where memory is for one only."""
    plane = cuda.asarray(pictures(1, (90, 101))[0])
    alone = [
        np.pad(estimate(plane, int(share * 13), factor=factor), (13 - int(share * 13)) // 2)
        for share, factor in prior.STARTS
        if int(share * 13) % 2
    ]
    told = []
    found = prior.candidates(plane, 13, lambda *step: told.append(step))
    kept = [number for number, (share, _) in enumerate(prior.STARTS) if int(share * 13) % 2]
    assert len(found) == len(prior.STARTS) and (found[kept] == alone).all()
    assert [done for done, _ in told] == [5 * n for n in range(1, len(told) + 1)]
    assert told[-1] == (told[0][1],) * 2

    def short(*what):
        raise DeviceMemoryError("full")

    monkeypatch.setattr(prior, "_side_by_side", short)
    assert (prior.candidates(plane, 13) == found).all()


def test_one_search_after_another_where_memory_is_short(monkeypatch):
    """CuPy raises an error of its own; what was done by then counts once in the progress."""
    FakeCupy(0).install(monkeypatch)
    found, done = psfs.gaussian(1.0, 9), [0]

    def count(iterations):
        done.append(done[-1] + iterations)

    def short(starts, report):
        for _ in range(3):
            report(5)
        raise sys.modules["cupy.cuda.memory"].OutOfMemoryError("full")

    def alone(pictures, divisor, side, psf, weights, report):
        for each in weights:
            report(len(each))
        return found

    monkeypatch.setattr(prior, "library", lambda image: sys.modules["cupy"])
    monkeypatch.setattr(prior, "exposure", lambda image: 1.0)
    monkeypatch.setattr(prior, "_side_by_side", short)
    monkeypatch.setattr(prior, "_search_there", alone)
    every = prior._estimates(pictures(1, (40, 51))[0], [(9, 1.0), (9, 2.0)], count)
    np.testing.assert_allclose(every, [found] * 2, rtol=0, atol=1e-12)
    total = 2 * len(levels((40, 51), 9)) * prior.ITERATIONS
    assert total > 15 and done == list(range(0, total + 1, 5))


def steps(name, count, log):
    for number in range(count):
        log.append((name, number))
        yield
    return name


def test_searches_take_turns(monkeypatch):
    log = []
    assert together([steps("a", 2, log), steps("b", 3, log), steps("c", 0, log)]) == ["a", "b", "c"]
    assert log == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("b", 2)]
    monkeypatch.setattr(profile, "active", lambda: True)
    del log[:]
    assert together([steps("a", 2, log), steps("b", 1, log)]) == ["a", "b"]
    assert log == [("a", 0), ("a", 1), ("b", 0)]

    def fails():
        yield
        raise ValueError

    waiting = steps("a", 5, log)
    with pytest.raises(ValueError):
        together([waiting, fails()])
    assert next(waiting, "ended") == "ended"


@pytest.mark.gpu
def test_a_large_psf_is_found_by_arrays(cuda, monkeypatch):
    """Above MOST the least squares are solved on the CPU."""
    plane = pictures(1, (40, 51))[0]
    small = estimate(cuda.asarray(plane), 7)
    monkeypatch.setattr(prior, "MOST", 5)
    monkeypatch.setattr(prior, "_search_there", None)
    found = estimate(cuda.asarray(plane), 7)
    np.testing.assert_allclose(found, small, rtol=0, atol=1e-8)


@pytest.mark.gpu
def test_what_is_prepared_is_used_again(cuda, monkeypatch):
    """Another size, PSF or number of pictures has its own; the caller's pool gets nothing."""
    clear_cache()
    pool, made = cuda.get_default_memory_pool(), []
    begin = Search.__init__

    def noted(self, *what):
        made.append(what)
        begin(self, *what)

    monkeypatch.setattr(Search, "__init__", noted)
    one, other = ([cuda.asarray(plane) for plane in pictures(2, (rows, 61))] for rows in (50, 51))
    used = pool.used_bytes()
    every = ((one, 9), (one, 7), (one[:1], 9), (other, 9))
    for planes, side in (*every, *every[::-1]):
        search("kernels", planes, side)
    assert [what[1:] for what in made] == [
        ((50, 61), 2, 9), ((50, 61), 2, 7), ((50, 61), 1, 9), ((51, 61), 2, 9),
    ]  # fmt: skip
    assert pool.used_bytes() == used
    clear_cache()


@pytest.mark.parametrize("weight", [4e-3, 1.234e-3, 1e-4, LAST / FIRST / 2])
def test_as_many_steps_as_on_the_cpu(weight):
    betas, beta = [], FIRST * weight
    while beta < LAST:
        betas.append(beta)
        beta *= GROWTH
    assert _steps(weight) == len(betas) >= 1
