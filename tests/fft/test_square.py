"""Transforms of square pictures in one launch and in two: every variant, against float64."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import product

import numpy as np
import pytest

from benchmarks.fft_candidates import candidates, possible
from snellen import fft
from snellen.fft import small, square
from snellen.fft.square import KINDS, SIDES, Variant, kernels, nearest, sizes
from snellen.gpu import device as devices
from support import fibers
from support.gpu import busy

WITHIN = 4e-7
"""Relative L2 norm, as of the kernels of small.cu."""
BATCHES = (1, 132)


def drawn(random, kind, side, count):
    """Pictures, or any half spectra: also such as no real picture has."""
    width = side // 2 + 1 if kind == "irfft2" else side
    x = random.standard_normal((count, side, width))
    if kind != "rfft2":
        x = x + 1j * random.standard_normal(x.shape)
    return x.astype("float32" if kind == "rfft2" else "complex64")


def exact(kind, x):
    return getattr(np.fft, kind)(x.astype("float64" if kind == "rfft2" else "complex128"))


def error(found, wanted):
    assert found.shape == wanted.shape
    away = np.linalg.norm(found - wanted, axis=(-2, -1)) / np.linalg.norm(wanted, axis=(-2, -1))
    return away.max()


def every(kind, side, batches=BATCHES):
    """All candidates of a size, each once."""
    found = [one for batch in batches for one in candidates(kind, side, batch)]
    return list(dict.fromkeys(found))


def unlike(kind, side):
    """Those that are different programs on a CPU."""
    return {
        (one.values, one.cluster, one.apart, one.two_launches): one for one in every(kind, side)
    }.values()


def those_that_run(kind, side):
    """Each that the GPU runs, and what transforms by it; they compile side by side."""
    with devices.using("cuda:0"):
        made = {one: square.transform(kind, side, one) for one in every(kind, side)}
        for one in made:
            if square.runs_here(kind, side, one):
                yield one, made[one]


CASES = [(kind, side) for kind in KINDS for side in SIDES]
ON_CPU = [
    ("rfft2", 64, Variant(8, 4, apart=True)),
    ("irfft2", 32, Variant(8, 2, apart=True)),
    ("ifft2", 32, Variant(8, 1)),
]
SLOW = [
    (kind, side, one)
    for kind, side in CASES
    for one in unlike(kind, side)
    if (kind, side, one) not in ON_CPU
]


@pytest.mark.skipif(not fibers.COMPILER, reason="no g++")
@pytest.mark.parametrize(
    ("kind", "side", "variant"),
    [*ON_CPU, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
    ids=str,
)
def test_on_a_cpu(random, tmp_path, kind, side, variant):
    """The source of the kernel, with threads in random order and memory of NaN."""
    x = drawn(random, kind, side, 2)
    program = fibers.built(tmp_path, kind, side, variant)
    for seed in range(2):
        assert error(fibers.run(program, kind, side, x, seed), exact(kind, x)) < WITHIN


@pytest.mark.slow
@pytest.mark.skipif(not fibers.COMPILER, reason="no g++")
def test_a_barrier_too_few_shows_on_a_cpu(random, tmp_path):
    """Warps of columns that send nothing to their own block: rows must not begin before them."""
    kind, side, variant = "irfft2", 128, Variant(8, 16, apart=True)
    x = drawn(random, kind, side, 2)
    barrier = "if (APART && !First::SYNCHRONISED) __syncthreads();"
    program = fibers.built(tmp_path, kind, side, variant, without=barrier)
    found = [error(fibers.run(program, kind, side, x, seed), exact(kind, x)) for seed in range(6)]
    assert max(found) > 0.1


SHAPES = {
    "alone": Variant(8, 1),
    "cluster": Variant(8, 4, apart=True, overlap=True),
    "two": Variant(8, 8, two_launches=True),
}


POSSIBLE = {
    f"{kind}-{side}-{shape}": (kind, side, one)
    for kind, side, (shape, one) in product(KINDS, (32, 64), SHAPES.items())
    if possible(kind, side, one)
}


@pytest.mark.gpu
@pytest.mark.parametrize(("kind", "side", "one"), POSSIBLE.values(), ids=POSSIBLE)
def test_one_of_each_kind(cuda, random, kind, side, one):
    """Quick ones, which compute-sanitizer runs too."""
    if not square.runs_here(kind, side, one):
        pytest.skip("this GPU is too small for it")
    x = drawn(random, kind, side, 2)
    wanted = exact(kind, x)
    out = cuda.full(wanted.shape, np.nan, "float32" if kind == "irfft2" else "complex64")
    square.transform(kind, side, one)(cuda.asarray(x), out)
    assert error(out.get(), wanted) < WITHIN


@pytest.mark.gpu
@pytest.mark.parametrize(("kind", "side"), CASES, ids=str)
def test_every_variant(cuda, random, kind, side):
    variants = list(those_that_run(kind, side))
    for count in (1, 3, 67):
        x = drawn(random, kind, side, count)
        wanted = exact(kind, x)
        there, out = (  # both begin where a number may, and nothing longer
            cuda.full(array.size + 1, np.nan, dtype)[1:].reshape(array.shape)
            for array, dtype in ((x, x.dtype), (wanted, "f4" if kind == "irfft2" else "c8"))
        )
        there[...] = cuda.asarray(x)
        for one, run in variants:
            out.fill(np.nan)
            run(there, out)
            assert error(out.get(), wanted) < WITHIN, (count, one)
            assert (there.get() == x).all(), one
            if kind in ("fft2", "ifft2"):
                here = there.copy()
                run(here, here)
                assert (here == out).all(), (count, one)


@pytest.mark.gpu
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", ["fft2", "rfft2"])
def test_kernels_that_overlap_wait_for_each_other(cuda, random, kind, side):
    """Each reads what the one before has written, the first after a kernel that takes its time."""
    back = "i" + kind
    forth, home = dict(those_that_run(kind, side)), dict(those_that_run(back, side))
    for count in (1, 40):
        x = drawn(random, kind, side, count)
        wanted = exact(kind, x), x
        late = cuda.asarray(x)
        for one in forth.keys() & home.keys():
            with cuda.cuda.Stream(non_blocking=True) as stream:
                planes = [
                    cuda.full(wanted[i % 2].shape, np.nan, ("complex64", x.dtype)[i % 2])
                    for i in range(8)
                ]
                first = cuda.zeros_like(late)
                busy(cuda)
                first[...] = late
                for i, (given, made) in enumerate(zip([first, *planes], planes, strict=False)):
                    (forth, home)[i % 2][one](given, made)
                first.fill(np.nan)
                stream.synchronize()
            for i, plane in enumerate(planes):
                assert error(plane.get(), wanted[i % 2]) < 10 * WITHIN, (count, one, i)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_what_was_chosen_is_called(cuda, random, monkeypatch, kind):
    x = drawn(random, kind, 64, 2)
    called, plain = [], square.transform
    monkeypatch.setattr(square, "choices", lambda: {(kind, 64): {1: Variant(8, 1)}})
    monkeypatch.setattr(square, "transform", lambda *a: called.append(a) or plain(*a))
    square._here.cache_clear()
    found = getattr(fft, kind)(cuda.asarray(x))
    square._here.cache_clear()
    assert called == [(kind, 64, Variant(8, 1))]
    assert error(found.get(), exact(kind, x)) < WITHIN
    other = drawn(random, kind, 32, 2)
    assert error(getattr(fft, kind)(cuda.asarray(other)).get(), exact(kind, other)) < WITHIN
    assert len(called) == 1


def test_the_choice_is_that_of_the_nearest_batch():
    few, many = Variant(8, 16), Variant(8, 1)
    measured = {1: few, 132: None, 1024: many}
    found = [nearest(measured, batch) for batch in (1, 11, 12, 300, 400, 5000)]
    assert found == [few, few, None, None, many, many]
    assert nearest({}, 5) is None


def test_oblong_pictures_and_what_was_not_measured_are_left_to_small(monkeypatch):
    monkeypatch.setattr(square, "choices", lambda: {("fft2", 64): {1: None}})
    assert square.chosen("fft2", 64, 128, 1) is None
    assert square.chosen("fft2", 128, 128, 1) is None
    assert square.chosen("fft2", 64, 64, 9) is None
    assert small.transform("fft2", 64, 64) is small.transform("fft2", 64, 64)


def test_choices_are_read(tmp_path, monkeypatch):
    variant = Variant(16, 8, resident=2)
    row = {"kind": "fft2", "side": 256, "batch": 132}
    file = tmp_path / "choices.json"
    rows = [row | {"variant": asdict(variant)}, row | {"batch": 1, "variant": None}]
    file.write_text(json.dumps({"rows": rows}))
    monkeypatch.setattr(square, "CHOICES", file)
    square.choices.cache_clear()
    assert square.choices() == {("fft2", 256): {132: variant, 1: None}}
    square.choices.cache_clear()
    monkeypatch.undo()
    for (kind, side), measured in square.choices().items():
        for one in filter(None, measured.values()):
            assert possible(kind, side, one)
    square.choices.cache_clear()


@pytest.mark.parametrize(("kind", "side"), CASES, ids=str)
def test_candidates_fit(kind, side):
    for batch in (1, 16, 132, 1024):
        found = candidates(kind, side, batch)
        assert len(found) == len(set(found)) > 2
        for one in found:
            need = sizes(kind, side, one)
            assert need.threads <= 1024
            assert need.shared <= 227 * 1024
            assert len(kernels(kind, side, one)) == 1 + one.two_launches
