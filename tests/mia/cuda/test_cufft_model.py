"""The order of work of the cuFFT backend, on the CPU: its kernels and transforms are NumPy's here.

Parts that may run side by side run in either order: nothing may depend on it.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from snellen.mia.cuda import check, cufft
from snellen.mia.definition import EPS, LEAST, TV_EPS, TV_LEAST, Definition
from support.mia import drawn, reference
from support.mia.cases import OPTIONS


class Array(np.ndarray):
    """An array that has a copy in main memory."""

    def get(self):
        return np.array(self)


def array(found):
    return np.asarray(found).view(Array)


class Plan:
    """A transform of one plane that is not scaled; the inverse destroys its input."""

    made = 0

    def __init__(self, kind, height, width, dtype):
        self.kind, self.shape = kind, (height, width)
        Plan.made += 1

    def __call__(self, given, out):
        if self.kind == "r2c":
            out[...] = np.fft.rfft2(given)
        else:
            out[...] = np.fft.irfft2(given, self.shape) * np.prod(self.shape)
            given[...] = np.nan


class Pointwise:
    """The kernels of cufft.cu."""

    def __init__(self, definition, at):
        self.definition, self.at = definition, at
        self.scale = 1 / np.prod(at.f.shape[1:])

    def start_psf(self, h):
        self.at.h[...] = h / h.sum((2, 3), keepdims=True)

    def blur(self, scale=None):
        at = self.at
        scale = self.scale if scale is None else scale
        at.spectra[...] = at.f_spectrum[:, None] * at.h_spectrum * scale

    def correlate(self, spectra, h_out):
        at, share = self.at, np.float64(1)
        if self.definition.noise == "poisson":
            share = 1 / (at.y.shape[1] * at.h_spectrum[:, :, :1, :1].real)
        at.f_sum[...] = (spectra * at.h_spectrum.conj() * share * self.scale).sum(1)
        if h_out is not None:
            h_out[...] = spectra * at.f_spectrum[:, None].conj() * self.scale

    def ratio(self):
        at, variance = self.at, self.definition.read_noise**2
        found = (at.y + variance) / np.maximum(at.g + variance, EPS)
        at.g[...] = np.where(at.y >= 0, found, 1)

    def insert_observed(self):
        self.at.g[...] = np.where(self.at.y >= 0, self.at.y, self.at.g)

    def update_estimate(self):
        at, correction = self.at, self.at.numerator.copy()
        if at.denominator is not None:
            correction /= np.maximum(at.denominator, EPS)
        divisor = 1.0
        if at.tv_divisor is not None:
            right, below = (np.roll(at.f, -1, axis) - at.f for axis in (2, 1))
            size = np.sqrt(right**2 + below**2 + TV_EPS)
            p, q = right / size, below / size
            div = p - np.roll(p, 1, 2) + q - np.roll(q, 1, 1)
            divisor = np.maximum(1 - self.definition.tv * div, TV_LEAST)
        at.f[...] = at.f * np.maximum(correction, LEAST) / divisor

    def update_psf(self, numerator, denominator):
        at, correction = self.at, numerator
        if denominator is not None:
            correction = numerator / np.maximum(
                denominator, EPS * at.f_spectrum[:, None, :1, :1].real
            )
        new = at.h * np.maximum(correction, 0)
        at.h[...] = new / new.sum((2, 3), keepdims=True)

    def data_fidelity(self):
        at, seen = self.at, self.at.y >= 0
        terms = (at.y - at.g) ** 2
        if self.definition.noise == "poisson":
            g = np.maximum(at.g, EPS)
            terms = g - at.y + at.y * np.log(np.where(at.y > 0, at.y, 1) / g)
        sums = [np.where(seen, terms, 0).sum((1, 2, 3)), seen.sum((1, 2, 3))]
        return array(np.stack(sums, -1)[:, None].repeat(2, 1) / 2)

    def change(self, before):
        f = self.at.f
        sums = [((f - before) ** 2).sum((1, 2)), (f**2).sum((1, 2))]
        before[...] = f
        return array(np.stack(sums, -1)[:, None].repeat(2, 1) / 2)


class Stream:
    """A stream that runs at once."""

    waits = 0

    def __init__(self, **options):
        pass

    def record(self):
        return None

    def wait_event(self, event):
        Stream.waits += 1

    synchronize = __exit__ = lambda self, *error: None

    def __enter__(self):
        return self


@pytest.fixture(params=["side by side", "the other way round", "one after another"])
def backend(request, monkeypatch):
    """A maker of backends."""
    cupy = ModuleType("cupy")
    cupy.zeros = lambda shape, dtype=float: array(np.zeros(shape, dtype))
    cupy.cuda = SimpleNamespace(Stream=Stream, get_current_stream=Stream)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(cufft, "Plan", Plan)
    monkeypatch.setattr(cufft, "Pointwise", Pointwise)
    monkeypatch.setattr(cufft, "lasting", nullcontext)
    monkeypatch.setattr(cufft, "capture", lambda work: work)
    monkeypatch.setattr(cufft, "synchronize", lambda: None)
    monkeypatch.setattr(check, "fetched", lambda there: there.get)
    monkeypatch.setattr(cufft.devices, "on", nullcontext)
    if request.param == "one after another":
        monkeypatch.setattr(cufft, "BESIDE", 0)
    if request.param == "the other way round":

        def both(self, one, other):
            one()
            if other is not None:
                other()

        monkeypatch.setattr(cufft.Backend, "_both", both)

    def make(*how, **options):
        with np.errstate(all="ignore"):  # an iteration of nothing comes before the first start
            return cufft.Backend(Definition(**options), *how, "cuda:0", "float64")

    return make


@pytest.mark.cases(6)
@pytest.mark.parametrize("margin", [(0, 0), (5, 3)])
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_against_the_reference(backend, random, option, margin):
    options = OPTIONS[option]
    problems = [drawn.problem(random, (20, 24), 2, margin=margin) for _ in range(2)]
    made = backend((20, 24), 2, 2, **options)
    given = [array([problem[i] for problem in problems]) for i in range(3)]
    made.start(*given)
    made.iterate(13)
    before = array(made.estimate.copy())
    fits = made.fit()
    made.iterate(7)
    change = made.change(before)
    for i, problem in enumerate(problems):
        wanted = reference.iterated(*problem[:3], 20, **options)
        np.testing.assert_allclose(made.estimate[i], wanted[0], atol=1e-9)
        np.testing.assert_allclose(made.psf[i], wanted[1], atol=1e-9)
        after = reference.iterated(*problem[:3], 13, **options)
        fit = reference.fit(problem.y, *after, options.get("noise", "poisson"))
        assert fits[i] == pytest.approx(fit, rel=1e-6, abs=1e-12)
    assert (before == made.estimate).all() and 0 < change() < 1


def test_repeats_and_streams(backend, monkeypatch):
    """Graphs of ten and of one; fewer repeats for many planes; no plans of a second stream for
    large periods, nor where planes of odd sizes go through one buffer."""
    calls = []
    step = cufft.Backend._step
    monkeypatch.setattr(
        cufft.Backend, "_step", lambda self, kind: calls.append(kind) or step(self, kind)
    )
    made = backend((6, 8), 1, 1)
    blank = array(np.ones((1, 1, 6, 8)))
    made.start(blank, blank[0], blank)
    assert {count for steps in made._steps.values() for count in steps} == {1, 10}
    for count in (1, 9, 10, 25, 200):
        calls.clear()
        made.iterate(count)
        assert len(calls) == count
    many = backend((6, 8), 1, 100)
    assert {count for steps in many._steps.values() for count in steps} == {1}
    Plan.made = 0
    backend((5, 7), 1, 2)
    assert Plan.made == 2
    Plan.made = 0
    backend((5, 7), 1, 1)
    assert Plan.made == (2 if cufft.BESIDE == 0 else 4)
