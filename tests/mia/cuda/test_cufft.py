"""The cuFFT backend against the reference: every option, any period, batches, streams."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.gpu import device as devices
from snellen.mia.cuda import cufft, pointwise
from snellen.mia.cuda.cufft import Backend
from snellen.mia.definition import Definition
from support.gpu import busy
from support.mia import drawn, reference
from support.mia.cases import CASES, DTYPES, ITERATIONS, OPTIONS, STABLE, case, compare

pytestmark = pytest.mark.gpu

FIT = {"float64": 1e-12, "float32": 1e-6}  # of the fit of the reference's own f and h


@pytest.fixture
def made(cuda):
    """A maker of backends, closed at the end; memory that they take holds NaN."""
    all_made = []

    def make(period, frames=1, batch=1, dtype="float64", **options):
        cuda.full(1 << 22, cuda.nan)  # given back to the pool at once
        backend = Backend(Definition(**options), tuple(period), frames, batch, "cuda:0", dtype)
        all_made.append(backend)
        return backend

    yield make
    for backend in all_made:
        backend.close()


def begun(cuda, backend, problems):
    """Start a backend with problems of one kind."""
    kind = backend.estimate.dtype
    backend.start(*(cuda.asarray([p[i] for p in problems]).astype(kind) for i in range(3)))


def state(backend, picture=0):
    return backend.estimate[picture].get(), backend.psf[picture].get()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_against_the_reference(cuda, made, option, name, dtype):
    problem, states = case(option, name)
    _, frames, *period = problem.y[None].shape
    backend = made(period, frames, dtype=dtype, **OPTIONS[option])
    begun(cuda, backend, [problem])
    done = 0
    for count, wanted in zip(ITERATIONS, states, strict=True):
        backend.iterate(count - done)
        done = count
        assert backend.estimate.dtype == backend.psf.dtype == dtype
        compare(state(backend), wanted, dtype)
        fit = reference.fit(problem.y, *state(backend), OPTIONS[option].get("noise", "poisson"))
        assert backend.fit().shape == (1,)
        assert backend.fit()[0] == pytest.approx(fit, rel=FIT[dtype], abs=FIT[dtype] / 10)
        compare(state(backend), wanted, dtype)  # which fit leaves as they are


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("option", OPTIONS)
def test_stars_before_a_black_sky(cuda, random, made, option, dtype):
    blind = OPTIONS[option].get("blind", True)
    problem = drawn.stars(random, (45, 33), 2, margin=(8, 0), given=not blind)
    backend = made((45, 33), 2, dtype=dtype, **OPTIONS[option])
    begun(cuda, backend, [problem])
    done = 0
    for count in (1, 3, 100):
        backend.iterate(count - done)
        done = count
        wanted = reference.iterated(*problem[:3], count, **OPTIONS[option])
        compare(state(backend), wanted, dtype)


@pytest.mark.parametrize(
    "period", [(288, 288), (300, 257), (257, 300), (17, 1000), (1000, 17), (9, 9), (540, 960)]
)
def test_periods(cuda, random, made, period):
    problem = drawn.problem(random, period, side=9, margin=(4, 0))
    backend = made(period, dtype="float32")
    begun(cuda, backend, [problem])
    backend.iterate(10)
    compare(state(backend), reference.iterated(*problem[:3], 10), "float32")


@pytest.mark.parametrize("rows", [65535, 2])
@pytest.mark.parametrize("blocks", [512, 3])
@pytest.mark.parametrize("option", ["poisson", "gaussian", "given, gaussian", "variation"])
def test_batches(cuda, random, made, monkeypatch, option, blocks, rows):
    """Each picture as if it were alone, however many blocks there are; a margin in some only."""
    monkeypatch.setattr(pointwise, "BLOCKS", blocks)
    monkeypatch.setattr(devices, "GRID_ROWS", rows)
    margins = [(0, 0), (5, 9), (0, 3), (0, 0), (1, 1)]
    options = OPTIONS[option]
    problems = [drawn.problem(random, (33, 45), 2, margin=margin) for margin in margins]
    backend = made((33, 45), 2, 5, **options)
    begun(cuda, backend, problems)
    backend.iterate(20)
    fits = backend.fit()
    for i, problem in enumerate(problems):
        compare(state(backend, i), reference.iterated(*problem[:3], 20, **options), "float64")
        fit = reference.fit(problem.y, *state(backend, i), options.get("noise", "poisson"))
        assert fits[i] == pytest.approx(fit, rel=1e-9)


def test_a_dark_picture_in_a_batch_with_a_bright_one(cuda, random, made):
    """Planes are transformed one by one: no rounding of the bright one goes into the other."""
    bright = drawn.problem(random, (48, 40))
    dark = bright._replace(y=bright.y / 1e4, f=bright.f / 1e4)
    backend = made((48, 40), batch=3, dtype="float32")
    begun(cuda, backend, [bright, dark, bright])
    backend.iterate(50)
    wanted = reference.iterated(*dark[:3], 50)
    compare(state(backend, 1), wanted, "float32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("value", [0.0, 0.4, 1.0])
def test_pictures_of_nothing(cuda, made, option, value, dtype):
    period = (36, 37)
    h = reference.on_period(reference.bell(2, 9), period)[None]
    problem = drawn.Problem(np.full((1, *period), value), np.full(period, value), h, None, None)
    backend = made(period, dtype=dtype, **OPTIONS[option])
    begun(cuda, backend, [problem])
    backend.iterate(20)
    within = {"float64": 1e-13, "float32": 1e-5}[dtype]
    f, found = state(backend)
    np.testing.assert_allclose(f, value, rtol=within)
    np.testing.assert_allclose(found, h, rtol=within)
    assert 0 <= backend.fit()[0] + 1e-12 < 2e-6


def test_a_backend_starts_again(cuda, random, made):
    """With other pictures, all of them observed or not; it keeps copies."""
    ways = [drawn.problem(random, (33, 40), 2, margin=(n, 0)) for n in (3, 0, 3)]
    backend = made((33, 40), 2, noise="gaussian")
    for problem in (*ways, ways[0]):
        arrays = [cuda.asarray(array[None]) for array in problem[:3]]
        backend.start(*arrays)
        backend.iterate(3)
        for array in arrays:
            array.fill(cuda.nan)
        backend.iterate(4)
        wanted = reference.iterated(*problem[:3], 7, noise="gaussian")
        compare(state(backend), wanted, "float64")


def test_the_same_bytes_each_time(cuda, random, made):
    problem = drawn.problem(random, (100, 300), 2)
    backend = made((100, 300), 2, dtype="float32", tv=STABLE)
    found = []
    for _ in range(2):
        begun(cuda, backend, [problem])
        backend.iterate(20)
        found.append([*state(backend), backend.fit()])
    for one, other in zip(*found, strict=True):
        assert (one == other).all()


def test_without_graphs(cuda, random, made, monkeypatch):
    """Where nothing can be captured, kernels are launched one by one: the same bytes."""
    problem = drawn.problem(random, (36, 60))
    found = []
    for capture in (cufft.capture, lambda work: work):
        monkeypatch.setattr(cufft, "capture", capture)
        backend = made((36, 60), dtype="float32")
        begun(cuda, backend, [problem])
        backend.iterate(5)
        found.append(state(backend))
    for one, other in zip(*found, strict=True):
        assert (one == other).all()


def test_an_iteration_is_captured(cuda, made, monkeypatch):
    steps = []
    step = Backend._step
    monkeypatch.setattr(Backend, "_step", lambda self, kind: steps.append(kind) or step(self, kind))
    backend = made((36, 60))
    blank = cuda.full((1, 1, 36, 60), 0.5)
    backend.start(blank, blank[0], blank)
    steps.clear()
    backend.iterate(5)
    assert not steps


def test_the_current_stream(cuda, random, made):
    """The arrays that a backend starts with are still being written."""
    problem = drawn.problem(random, (60, 100))
    wanted = reference.iterated(*problem[:3], 5)
    backend = made((60, 100))
    there = [cuda.asarray(array[None]) for array in problem[:3]]
    cuda.cuda.Device().synchronize()
    for _ in range(3):
        with cuda.cuda.Stream(non_blocking=True) as stream:
            late = [cuda.zeros_like(array) for array in there]
            busy(cuda)
            for buffer, array in zip(late, there, strict=True):
                buffer[...] = array
            backend.start(*late)
            for buffer in late:
                buffer.fill(7)
            backend.iterate(5)
            found = state(backend)
            stream.synchronize()
        compare(found, wanted, "float64")


@pytest.mark.parametrize("option", OPTIONS)
def test_two_streams_and_graphs_of_many_iterations_change_no_byte(
    cuda, random, made, monkeypatch, option
):
    """Against one stream, and against iterations that are launched one by one."""
    problem = drawn.problem(random, (60, 100), 2, margin=(3, 0))
    found = []
    for beside, counts in ((1 << 20, [25]), (0, [25]), (1 << 20, [1] * 25), (1 << 20, [9, 16])):
        monkeypatch.setattr(cufft, "BESIDE", beside)
        backend = made((60, 100), 2, 2, "float32", **OPTIONS[option])
        assert (backend._beside is None) == (beside == 0)
        begun(cuda, backend, [problem, problem])
        for count in counts:
            backend.iterate(count)
        found.append([*state(backend), backend.fit()])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_checks_that_nobody_waits_for(cuda, random, made, dtype):
    """Fits and changes are asked for late, and are those of their iteration."""
    problems = [drawn.problem(random, (60, 100)) for _ in range(2)]
    backend = made((60, 100), 1, 2, dtype)
    begun(cuda, backend, problems)
    before, checks, wanted = backend.estimate.copy(), [], []
    for _ in range(3):
        last = before.get().astype(float)
        backend.iterate(10)
        checks.append((backend.measure(), backend.change(before)))
        now = backend.estimate.get().astype(float)
        assert (before == backend.estimate).all()
        norms = [np.linalg.norm((x).reshape(2, -1), axis=1) for x in (now - last, now)]
        wanted.append((backend.fit(), (norms[0] / norms[1]).max()))
    for (fit, change), (wanted_fit, wanted_change) in zip(checks, wanted, strict=True):
        assert (fit() == wanted_fit).all()
        assert change() == pytest.approx(wanted_change, rel=1e-9)


def test_a_black_picture_does_not_change(cuda, made):
    backend = made((36, 60))
    blank = cuda.zeros((1, 1, 36, 60))
    backend.start(blank, blank[0], blank + 1)
    backend.iterate(3)
    assert backend.change(cuda.zeros((1, 36, 60)))() == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_psfs_start_with_sum_1(cuda, random, made, dtype):
    """To the bit as before: each divided by its sum in float64; views, and one that is 0."""
    backend = made((36, 60), 2, 2, dtype)
    y, f = cuda.ones((2, 2, 36, 60), dtype), cuda.ones((2, 36, 60), dtype)
    h = random.random((2, 2, 60, 36)).astype(dtype)
    h[1, 1] = 0
    there = cuda.asarray(h).swapaxes(2, 3)
    backend.start(y, f, there)
    turned = h.swapaxes(2, 3)
    total = turned.sum((2, 3), np.float64, keepdims=True)
    wanted = (turned / np.where(total > 0, total, 1)).astype(dtype)
    np.testing.assert_allclose(backend.psf.get(), wanted, rtol=1e-15 if dtype == "float64" else 0)
