"""The GPU's memory: what docs/mia.md computes for a picture, and batches where little is left."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from snellen import Deblurrer, clear_cache
from snellen.errors import DeviceError
from snellen.gpu import memory
from snellen.gpu.device import using
from snellen.mia import edges
from snellen.mia.batches import BYTES
from snellen.mia.definition import SIDES
from support.mia import drawn
from support.mia.images import image
from support.mia.plain import deblur

pytestmark = pytest.mark.gpu

SIDE = 9
ROUND = 512  # bytes, to which CuPy's pool rounds arrays up
OPTIONS = {
    "poisson": {},
    "variation": {"tv": 2e-4},
    "given": {"psf": np.ones((SIDE, SIDE))},
    "gaussian, variation": {"noise": "gaussian", "tv": 2e-4},
    "given, gaussian": {"psf": np.ones((SIDE, SIDE)), "noise": "gaussian"},
}


@pytest.fixture
def pool(cuda):
    """CuPy's, without what other tests left."""
    gc.collect()
    pool = cuda.get_default_memory_pool()
    pool.free_all_blocks()
    yield pool
    pool.set_limit(size=0)
    gc.collect()
    pool.free_all_blocks()


def formula(size, rule, frames, real, options, deblurrer):
    """Bytes of a picture, as docs/mia.md has them."""
    height, width = edges.period(size, SIDE, rule)
    period, spectrum, pixels = height * width, height * (width // 2 + 1), size[0] * size[1]
    gaussian, tv = options.get("noise") == "gaussian", "tv" in options
    numbers = (2 * frames + 1) * period + frames * pixels
    numbers += (3 * frames + 2) * period
    if {height, width} <= set(SIDES) and real == 4:
        layout = deblurrer._restorer.backend.layout
        outside = 0 if layout.in_shared else 2 * layout.workspace
        return real * (numbers + 2 * period * gaussian + outside)
    numbers += (4 * frames + 4) * spectrum + period * tv
    if gaussian:
        numbers += period + 2 * frames * spectrum
    if gaussian and "psf" not in options:
        numbers += frames * (period + 2 * spectrum)
    return real * numbers


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("counts", [(1, 1), (2, 3), (1, 40)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("size", "rule"),
    [((64, 64), "taper"), ((128, 128), "taper"), ((200, 240), "extend"), ((300, 420), "extend")],
)
def test_memory_is_what_the_formula_says(pool, size, rule, dtype, counts, option):
    frames, batch = counts
    before = pool.used_bytes()
    with Deblurrer(psf_size=SIDE, edges=rule, dtype=dtype, device="cuda", **OPTIONS[option],
                   frames=frames, batch=batch) as one:  # fmt: skip
        one.prepare(drawn.floats(size))
        used = pool.used_bytes() - before
        real = np.dtype(dtype).itemsize
        held = batch * formula(size, rule, frames, real, OPTIONS[option], one)
        plans = getattr(one._restorer.backend, "_plans", ())
        work = sum(plan._plan.work_area.mem.size for pair in plans for plan in pair)
    # Sums of PSFs by 512 shares, tables for each line of the period, and rounding.
    shares = 512 * 8 * batch * frames if plans else 0
    tables = sum(edges.period(size, SIDE, rule)) * 16
    assert held <= used - work <= held + shares + tables + 40 * ROUND


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("option", ["poisson", "gaussian, variation", "given, gaussian"])
@pytest.mark.parametrize("size", [(64, 64), (256, 256), (300, 420)])
def test_what_is_left_suffices(cuda, pool, random, size, option, dtype):
    """For a batch of as many pictures as it is reckoned for: no more than BYTES a sample."""
    came = cuda.asarray(np.array([image(random, "float32", size)] * 10))
    how = {"psf_size": SIDE, "iterations": 20, "edges": "taper", "dtype": dtype, **OPTIONS[option]}
    wanted = deblur(came[0], **how)
    clear_cache()
    pool.free_all_blocks()
    real = np.dtype(dtype).itemsize
    samples = size[0] * size[1] * real // 4
    floats = 0 if dtype == "float32" else came.size * real  # made before it is reckoned
    results = len(came) * (size[0] * size[1] + SIDE**2) * real
    pool.set_limit(size=pool.used_bytes() + floats + came.nbytes + results + 3 * BYTES * samples)
    found = deblur(came, **how)
    within = 1e-4 * float(wanted.image.max())
    for picture in found.image:
        np.testing.assert_allclose(picture.get(), wanted.image.get(), rtol=0, atol=within)


def test_what_does_not_fit_is_told(cuda, pool, random):
    clear_cache()
    came = cuda.asarray(image(random, "float32", (1500, 2100)))
    with using("cuda:0"):
        held = pool.total_bytes() + memory.held()
    pool.set_limit(size=held + 10 * came.nbytes)  # no fragments have so much
    with pytest.raises(DeviceError, match="memory does not suffice"):
        deblur(came, psf_size=SIDE)


def test_calls_keep_what_is_prepared(cuda, random, monkeypatch):
    """One Restorer for all calls of a kind, whatever PSF, start and iterations; equal results; none
    of it in the caller's pool; released by clear_cache."""
    from snellen import clear_cache
    from snellen.mia import batches

    made = []
    kind = batches.Restorer
    monkeypatch.setattr(batches, "Restorer", lambda *of: made.append(of) or kind(*of))
    clear_cache()
    came = image(random, "uint8", (300, 420))
    held = cuda.get_default_memory_pool().total_bytes()
    found = [deblur(came, psf_size=SIDE, iterations=n, start=s, device="cuda")
             for n, s in ((20, 2.0), (7, 1.0), (20, 2.0))]  # fmt: skip
    assert len(made) == 1 and cuda.get_default_memory_pool().total_bytes() == held
    assert found[0].image.tobytes() == found[2].image.tobytes()
    assert found[0].psf.tobytes() == found[2].psf.tobytes() and found[0].fit == found[2].fit
    with Deblurrer(psf_size=SIDE, iterations=7, start=1.0, edges="extend", device="cuda") as one:
        one.prepare(drawn.floats((300, 420), 255))
        again = one.run(came)
    assert again.image.tobytes() == found[1].image.tobytes()
    blur = found[0].psf
    for kernel in (blur, blur[::-1].copy()):
        deblur(came, kernel, iterations=5, device="cuda")
    assert len(made) == 2
    clear_cache()
    deblur(came, blur, iterations=5, device="cuda")
    assert len(made) == 3
