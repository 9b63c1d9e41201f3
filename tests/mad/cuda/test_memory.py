"""The GPU's memory: how much a pair takes, that runs take none, and what is said where it lacks."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest

from snellen.errors import DeviceError
from snellen.frames.frame import Format
from snellen.mad.cuda.backend import Backend
from snellen.mad.cuda.precision import samples
from snellen.mad.cuda.subbands import Subbands
from snellen.mad.definition import Definition, grid
from snellen.mad.scorer import Scorer
from support.gpu import memory_state
from support.mad import drawn
from support.mad.precision import DTYPES

pytestmark = pytest.mark.gpu


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


def buffers(height, width, itemsize, bands, real):
    """Bytes that a backend holds, without cuFFT's: `bands` at once, numbers of `real` bytes."""
    pixels, spectrum = height * width, height * (width // 2 + 1)
    rows, columns = grid(height, width)
    return (
        2 * itemsize * pixels  # samples
        + 2 * real * pixels  # grey, and lightness
        + (3 if real == 4 else 2) * 2 * real * spectrum  # of lightness, grey: in float32 of both
        + bands * 2 * real * pixels  # responses
        + (20 * (3 + 1) + 3)
        * real
        * rows
        * columns  # statistics, differences; mean, deviation, mask
    )


def work_areas(backend):
    """Bytes that cuFFT's plans hold, each its own."""
    stages = backend._detection, backend.appearance
    plans = [stage._forward for stage in stages]
    plans += [backend._detection._back]
    plans += getattr(backend.appearance._responses, "_inverse", {}).values()
    return sum(plan._plan.work_area.mem.size for plan in plans)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [8, 16, 0])
@pytest.mark.parametrize("size", [(2160, 3840), (1080, 1920), (721, 1283)])
def test_memory_is_what_the_formula_says(pool, size, bits, dtype):
    format = Format(size[1], size[0], bits)
    before = pool.used_bytes()
    backend = Backend(Definition(), format, 255.0, "cuda:0", dtype)
    used, work = pool.used_bytes() - before, work_areas(backend)
    bands = len(backend.appearance._responses.scratch)
    real = np.dtype(dtype).itemsize
    held = buffers(*size, samples(format, dtype).itemsize, bands, real)
    pixels = size[0] * size[1]
    if isinstance(backend.appearance._responses, Subbands):
        held += 8 * pixels + bands * pixels  # table of coordinates, moments of tiles
    backend.close()
    print(
        f"\n{format.width}×{format.height} of {bits} bits, {dtype}, {bands} bands at once: "
        f"{used / 1e6:.0f} MB = {used / pixels:.1f} H·W; our buffers {held / pixels:.1f} H·W, "
        f"cuFFT's work areas {work / pixels:.1f} H·W"
    )
    # Partial sums, the table of lightness, and the pool's blocks of 512 bytes.
    assert held + work <= used <= 1.005 * (held + work) + (1 << 20)
    # Sizes without large primes: a plan's work area is at most what it transforms.
    if size[0] != 721:
        most = 2 * real * (3 * size[0] * (size[1] // 2 + 1) + 2 * bands * pixels)
        assert used <= 1.15 * (held + most)


@pytest.mark.parametrize("bits", [8, 16, 0])
@pytest.mark.parametrize(("areas", "most"), [("plain", 3e9), ("flat", 3.5e9)])
def test_a_pair_of_4k_stays_below_3_gb(cuda, random, pool, bits, areas, most):
    """With large areas of one value the float64 backend lies beside that of float32."""
    before = pool.total_bytes()
    format = Format(3840, 2160, bits)
    plane = random.integers(0, 200, format.shapes[0]).astype(format.dtype)
    if areas == "flat":
        plane[:200] = 7
    with Scorer(device="cuda") as scorer:
        scorer.prepare(replace(format, white=255))
        scorer.run(plane, plane)
        assert pool.total_bytes() - before < most
        scorer.run(plane, plane, maps=True)
        assert pool.total_bytes() - before < most
        assert bool(scorer._backends.finer) == (areas == "flat")


@pytest.mark.alone
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("size", [(96, 128), (61, 83)])
def test_runs_allocate_nothing(cuda, random, pool, size, there):
    planes = drawn.pair(random, size)
    if there:  # with a pitch, as what is copied then is no plain block of memory
        planes = [cuda.asarray(np.pad(plane, ((0, 0), (3, 2))))[:, 3:-2] for plane in planes]

    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(size[1], size[0]))
        wanted = scorer.run(*planes)  # what CuPy and CUDA make at first use
        before = memory_state(cuda)
        assert all(scorer.run(*planes) == wanted for _ in range(100))
        assert memory_state(cuda) == before


def test_close_gives_back_the_memory(random, pool):
    planes = drawn.pair(random, (480, 640))

    def run():
        with Scorer(device="cuda") as scorer:
            scorer.prepare(Format(640, 480))
            scorer.run(*planes, maps=True)

    run()
    gc.collect()
    used, total = pool.used_bytes(), pool.total_bytes()
    for _ in range(3):
        run()
        gc.collect()
        assert pool.used_bytes() == used
    # The memory stays in the pool of the host program, and serves the next one that is prepared.
    assert pool.total_bytes() == total


def test_preparing_again_holds_one_set_of_buffers(pool):
    format = Format(640, 480)
    with Scorer(device="cuda") as scorer:
        scorer.prepare(format)
        used = pool.used_bytes()
        for _ in range(3):
            scorer.prepare(format)
        assert pool.used_bytes() == used


@pytest.mark.parametrize("room", [1, 20, 60, 150])
def test_too_little_memory(random, pool, room):
    """So many MB are not enough for 1080p, wherever in the making that shows; afterwards all works.

    Parts of subbands do not help: a limit below all that is not subbands.
    """
    planes = drawn.pair(random, (61, 83))
    refused = pytest.raises(DeviceError, match=r"memory (does|may) not suffice.*device.cpu")
    with Scorer(device="cuda") as scorer:
        scorer.prepare(Format(83, 61))
        wanted = scorer.run(*planes)
        pool.set_limit(size=pool.total_bytes() + (room << 20))
        with refused:
            scorer.prepare(Format(1920, 1080))
        pool.set_limit(size=0)
        gc.collect()
        scorer.prepare(Format(83, 61))
        assert scorer.run(*planes) == wanted
