"""The CPU backend against the reference: every option, batches, threads, empty pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.mia.cpu import Backend
from snellen.mia.definition import Definition
from support.mia import drawn, reference
from support.mia.cases import CASES, DTYPES, ITERATIONS, OPTIONS, case, check_fit, compare


def restored(problems, count, dtype="float64", **options):
    """f, h and fit of problems of one kind after so many iterations of one backend."""
    batch = [np.array([problem[i] for problem in problems]) for i in range(3)]
    _, frames, *period = batch[0].shape
    backend = Backend(Definition(**options), tuple(period), frames, len(problems), dtype=dtype)
    backend.start(*batch)
    backend.iterate(count)
    f, h, fit = backend.estimate, backend.psf, backend.fit()
    backend.close()
    assert f.dtype == h.dtype == dtype and fit.dtype == "float64"
    assert f.shape == (len(problems), *period) and h.shape == batch[0].shape
    return f, h, fit


def check(problem, count, dtype, **options):
    """Check one problem against the reference, and its fit against what is left."""
    f, h, fit = restored([problem], count, dtype, **options)
    compare((f[0], h[0]), reference.iterated(*problem[:3], count, **options), dtype)
    check_fit(problem, f[0], h[0], fit[0], dtype, options.get("noise", "poisson"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    [
        # "frames, margin" has an odd period, too.
        pytest.param(name, marks=pytest.mark.slow if name in ("odd", "frames") else ())
        for name in CASES
    ],
)
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_against_the_reference(option, name, dtype):
    problem, states = case(option, name)
    _, frames, *period = problem.y[None].shape
    backend = Backend(Definition(**OPTIONS[option]), tuple(period), frames, 1, dtype=dtype)
    backend.start(*(array[None] for array in problem[:3]))
    done = 0
    for count, wanted in zip(ITERATIONS, states, strict=True):
        backend.iterate(count - done)
        done = count
        f, h = backend.estimate[0], backend.psf[0]
        compare((f, h), wanted, dtype)
        noise = OPTIONS[option].get("noise", "poisson")
        check_fit(problem, f, h, backend.fit()[0], dtype, noise)
    backend.close()
    np.testing.assert_allclose(h.sum((1, 2)), 1, rtol=1e-6)
    assert np.abs(states[-1][0] - problem.f).max() > 0.1  # something was to do


@pytest.mark.slow
@pytest.mark.parametrize(
    ("period", "count"), [((128, 128), 200), ((256, 64), 200), ((32, 256), 200), ((256, 256), 20)]
)
def test_large_periods(random, period, count):
    problem = drawn.problem(random, period, side=31, margin=(30, 0))
    f, h, _ = restored([problem], count, "float32")
    compare((f[0], h[0]), reference.iterated(*problem[:3], count), "float32")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_random_numbers(random, dtype):
    check(drawn.plain(random, (64, 64), side=31), 200, dtype)
    check(drawn.plain(random, (45, 61), frames=2), 200, dtype, noise="gaussian")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("option", OPTIONS)
def test_stars_before_a_black_sky(random, option, count, dtype):
    """Zeros that came are observed ones; what vanishes does so as the definition says."""
    blind = OPTIONS[option].get("blind", True)
    problem = drawn.stars(random, (45, 32), 2, margin=(8, 0), given=not blind)
    assert (problem.y == 0).mean() > 0.3
    check(problem, count, dtype, **OPTIONS[option])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3, 200])
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_zeros_at_the_start(random, noise, count, dtype):
    """f starts as what came; h's corrections are 0 too, where no two stars are so far apart.

    And no transform's rounding makes it less (`compare` asks).
    """
    problem = drawn.stars(random, (64, 64))
    start = reference.on_period(reference.bell(3, 21), (64, 64))
    check(problem._replace(f=problem.y[0], h=start[None]), count, dtype, noise=noise)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_a_start_that_is_far_too_dark(random, noise, count, dtype):
    """The model is below EPS everywhere, and so are ISRA's divisors."""
    problem = drawn.problem(random, (32, 40), 2)
    check(problem._replace(f=problem.f * 1e-9), count, dtype, noise=noise)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("noise", ["poisson", "gaussian"])
def test_the_floor_of_total_variation(random, noise, count, dtype):
    """λ = 0.5 takes 1 − λ div below 0 at once; three iterations do not yet flicker."""
    problem = drawn.stars(random, (45, 32))
    problem = problem._replace(f=problem.y[0] + 0.01)
    assert (1 - 0.5 * reference.curvature(problem.f)).min() < 0
    check(problem, count, dtype, noise=noise, tv=0.5)


@pytest.mark.parametrize("option", ["poisson", "gaussian", "given", "given, gaussian"])
def test_a_psf_may_have_any_sum(random, option):
    problem = drawn.problem(random, (32, 40), 2)
    options = OPTIONS[option]
    wanted = reference.iterated(*problem[:3], 3, **options)
    f, h, _ = restored([problem._replace(h=problem.h * [[[4.0]], [[0.1]]])], 3, **options)
    compare((f[0], h[0]), wanted, "float64")


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    period=st.tuples(st.integers(9, 50), st.integers(9, 50)),
    frames=st.integers(1, 3),
    side=st.sampled_from([1, 3, 9]),
    margin=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    option=st.sampled_from(list(OPTIONS)),
    dtype=st.sampled_from(DTYPES),
)
def test_any_problem(seed, period, frames, side, margin, option, dtype):
    options = OPTIONS[option]
    problem = drawn.problem(
        np.random.default_rng(seed),
        period,
        frames,
        side,
        noise=options.get("noise", "poisson"),
        margin=margin,
        given=not options.get("blind", True),
    )
    check(problem, 20, dtype, **options)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["poisson", "gaussian", "given, gaussian", "variation"])
@pytest.mark.parametrize("together", [1, 3 * 32 * 45, 1 << 20])
def test_batches(random, monkeypatch, option, together):
    """Each picture as if it were alone, however many go together; a margin in some only."""
    monkeypatch.setattr("snellen.mia.cpu.TOGETHER", together)
    monkeypatch.setattr("snellen.mia.cpu.available", lambda: 2)
    margins = [(0, 0), (5, 9), (0, 3), (0, 0), (1, 1)]
    options = OPTIONS[option]
    problems = [drawn.problem(random, (32, 45), side=side, margin=m) for side, m in
                zip((3, 9, 15, 1, 9), margins, strict=True)]  # fmt: skip
    f, h, fit = restored(problems, 20, **options)
    for i, problem in enumerate(problems):
        compare((f[i], h[i]), reference.iterated(*problem[:3], 20, **options), "float64")
        check_fit(problem, f[i], h[i], fit[i], "float64", options.get("noise", "poisson"))


@pytest.mark.parametrize("option", OPTIONS)
def test_threads_within_a_picture(random, monkeypatch, option):
    """As large pictures have them; strips of an odd height, whose edges total variation crosses."""
    monkeypatch.setattr("snellen.mia.cpu.WORKER", 1)
    monkeypatch.setattr("snellen.mia.cpu.STRIP", 1)
    monkeypatch.setattr("snellen.mia.cpu.available", lambda: 4)
    blind = OPTIONS[option].get("blind", True)
    check(
        drawn.problem(random, (45, 32), 2, margin=(9, 0), given=not blind),
        20,
        "float64",
        **OPTIONS[option],
    )


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 4, 9])
def test_threads_within_pictures_of_a_batch(random, monkeypatch, threads):
    """Shares wait for their strips, more shares than threads: none takes what another waits for."""
    for name in ("TOGETHER", "WORKER", "STRIP"):
        monkeypatch.setattr(f"snellen.mia.cpu.{name}", 1)
    monkeypatch.setattr("snellen.mia.cpu.available", lambda: threads)
    problems = [drawn.problem(random, (45, 32)) for _ in range(11)]
    f, h, _ = restored(problems, 20, tv=2e-4)
    for i, problem in enumerate(problems):
        compare((f[i], h[i]), reference.iterated(*problem[:3], 20, tv=2e-4), "float64")


def test_an_arm_starts_again(random):
    """With other pictures. It keeps copies, and what it gave before stays."""
    one, other = (drawn.problem(random, (32, 40), frames=2, margin=(3, 0)) for _ in range(2))
    backend = Backend(Definition(noise="gaussian"), (32, 40), 2, 1, dtype="float64")
    states = []
    for problem in (one, other, one):
        arrays = [array[None].copy() for array in problem[:3]]
        backend.start(*arrays)
        backend.iterate(3)
        for array, kept in zip(arrays, problem[:3], strict=True):
            assert (array[0] == kept).all()
            array[:] = np.nan
        backend.iterate(4)
        states.append((backend.estimate, backend.psf))
    backend.close()
    compare(
        (states[1][0][0], states[1][1][0]),
        reference.iterated(*other[:3], 7, noise="gaussian"),
        "float64",
    )
    for found, again in zip(states[0], states[2], strict=True):
        assert (found == again).all()


def test_the_default_is_float32(random):
    backend = Backend(Definition(), (32, 32), 1, 1)
    backend.start(*(array[None] for array in drawn.problem(random, (32, 32))[:3]))
    assert backend.estimate.dtype == backend.psf.dtype == "float32"
    backend.close()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_pictures_of_nothing(option, value, dtype):
    """Black stays black, a wall stays a wall, and neither has a say in the PSF."""
    period = (32, 37)
    h = reference.on_period(reference.bell(2, 9), period)[None]
    problem = drawn.Problem(np.full((1, *period), value), np.full(period, value), h, None, None)
    f, found, fit = restored([problem], 20, dtype, **OPTIONS[option])
    # A correction of 1 rounds by some 1e-7 in float32, 1e-16 in float64, 20 times.
    within = {"float64": 1e-13, "float32": 1e-5}[dtype]
    np.testing.assert_allclose(f[0], value, rtol=within)
    np.testing.assert_allclose(found[0], h, rtol=within)
    # ln and g of a black picture: its floor, EPS.
    assert 0 <= fit[0] + 1e-12 < 2e-6


def test_a_black_picture_in_a_batch_harms_no_other(random):
    one = drawn.problem(random, (32, 32))
    black = one._replace(y=one.y * 0, f=one.f * 0)
    f, h, _ = restored([black, one, black], 20)
    assert not f[0].any() and (f[0] == f[2]).all()
    compare((f[1], h[1]), reference.iterated(*one[:3], 20), "float64")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_strong_total_variation(random, dtype):
    """One step late, λ above √TV_EPS / (4 f) = 2.5e-4 makes flat places flicker by some λ.

    Rounding then chooses the phase: the reference itself, started 1e-12 off, ends 1e-4 off and
    more. So the backend is compared sample by sample as long as that has not grown, and after 200
    iterations by how good the picture is.
    """
    weight = 0.004  # what restoration with a prior takes
    problem = drawn.problem(random, (64, 64), side=15, given=True)
    options = {"blind": False, "tv": weight}
    check(problem, 10, dtype, **options)
    wanted, _ = reference.iterated(*problem[:3], 200, **options)
    off, _ = reference.iterated(problem.y, problem.f * (1 + 1e-12), problem.h, 200, **options)
    assert 1e-4 < np.abs(off - wanted).max() < 4 * weight
    f, _, _ = restored([problem], 200, dtype, **options)
    assert np.abs(f[0] - wanted).max() < 4 * weight
    quality = [drawn.psnr(plane, problem.sharp) for plane in (f[0], wanted, problem.f)]
    assert quality[0] == pytest.approx(quality[1], abs=0.05)
    assert quality[1] > quality[2] + 1


def test_the_picture_gets_sharper(random):
    """Against the truth, which neither side of the other tests knows."""
    problem = drawn.problem(random, (64, 64), side=15, given=True)
    clean = reference.convolved(problem.sharp, problem.blurs[0]).clip(0)
    problem = problem._replace(y=clean[None], f=clean)
    f, _, fit = restored([problem], 200, "float32", blind=False)
    before, after = (drawn.psnr(plane, problem.sharp) for plane in (problem.f, f[0]))
    assert after > before + 6
    assert fit[0] < reference.fit(problem.y, problem.f, problem.h) / 100
