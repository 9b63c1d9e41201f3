"""Every kernel of the package compiles for each architecture it declares, and spills nothing.

A stage that gets a kernel gets a row in CASES. No GPU is needed.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cubin import usage, usages
from benchmarks.fft_candidates import candidates as fft_candidates
from snellen.aplus.cuda import features, group, match, orientation, overlap, regress
from snellen.aplus.model import Model
from snellen.cnn import model as cnn_model
from snellen.cnn.cuda import layout as cnn_layout
from snellen.cnn.cuda import luma as cnn_luma
from snellen.cnn.definition import SIZES
from snellen.fft import small, square
from snellen.filters.lut import cuda as lut
from snellen.filters.nlm.cuda import group as nlm_group
from snellen.frames import bicubic
from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel
from snellen.gpu.nvrtc import PACKAGE
from snellen.jobs import checkup
from snellen.mad.cuda import combine, csf, flat, lightness, loggabor, masking, statistics, subbands
from snellen.mad.cuda import pictures as mad_pictures
from snellen.mad.definition import Definition
from snellen.mia.cuda import change as mia_change
from snellen.mia.cuda import frames as mia_frames
from snellen.mia.cuda import fused as mia_fused
from snellen.mia.cuda import measure as mia_measure
from snellen.mia.cuda import pointwise as mia_pointwise
from snellen.mia.cuda import scale as mia_scale
from snellen.mia.cuda import tiles as mia_tiles
from snellen.mia.cuda.layout import Gpu, Layout, candidates
from snellen.mia.definition import Definition as Mia
from snellen.mia.l0.cuda import level as mia_level
from snellen.upscaling.cuda import samples
from snellen.upscaling.models import load


def empty(scale, window, anchors, dims, dtype, strengths=None):
    """A model of a size that does not ship: kernels know sizes and types only."""
    projections = anchors * (1 + len(strengths or ()))
    patch = (window * scale) ** 2
    return Model(
        scale=scale,
        window=window,
        anchors=np.eye(1, dims, dtype=np.float32).repeat(anchors, axis=0),
        basis=np.zeros((4 * patch, dims), np.float32),
        projections=np.broadcast_to(dtype(0), (projections, patch, dims)),
        strengths=strengths and np.array(strengths, np.float32),
    )


SHIPPED = [load(f"t91-x{scale}", scale) for scale in (2, 3, 4)]
ORIENTED = [empty(*size, 256, 28, np.float16, [1, 2, 3])
            for size in ((2, 3), (3, 3), (4, 3), (3, 5))]  # fmt: skip
FLOAT = [replace(model, projections=model.projections.astype(np.float32)) for model in SHIPPED]
LARGE = empty(4, 3, 8192, 96, np.float16)
WIDE = empty(3, 5, 1024, 28, np.float32)
OTHERS = [*FLOAT, LARGE, WIDE]
LUMA = [Format(64, 48, bits) for bits in (8, 10, 16, 0)]


def aplus(models):
    """Kernels of A+ with some models."""
    for model in models:
        yield match.match_kernel(model)
        yield match.settle_kernel(model)
        yield regress.kernel(model)
        yield from group.kernels(len(model.anchors))
        for format in LUMA:
            yield features.kernel(model, format)
            yield overlap.kernel(model, format, format.scaled(model.scale))
    for to in (8, 10, 0):  # a change of type
        yield overlap.kernel(models[0], LUMA[2], LUMA[2].scaled(2, to))


def cnn_model_of(scale, layers, channels):
    """A model of zeros."""
    arrays = {
        name: np.zeros(shape, np.float16)
        for name, shape in cnn_model.shapes(scale, layers, channels, 5).items()
    }
    return cnn_model.Model(scale, **arrays)


def cnn(*cases, arch=""):
    """Kernels of compact networks: scale, layers, channels, bits before and after, memory."""
    for scale, layers, channels, bits, to, limit in cases:
        source = Format(64, 48, bits)
        layout = cnn_layout.choose(cnn_model_of(scale, layers, channels), source, limit, arch)
        yield cnn_luma.kernel(layout, source, source.scaled(scale, to))


def slow_cnn():
    """The same for every scale, for two parts of v and for more channels, on every architecture."""
    for limit in cnn_layout.MEMORY.values():
        yield from cnn(
            (2, 4, 16, 8, 8, limit), (2, 6, 32, 8, 8, limit), (2, 2, 64, 8, 8, limit),
            (3, 6, 32, 0, 0, limit), (4, 6, 32, 16, 8, limit), (4, 4, 16, 10, 10, limit),
        )  # fmt: skip
    most = cnn_layout.MEMORY["sm_90"]
    yield from cnn(
        (2, 6, 32, 8, 8, most), (2, 6, 32, 0, 0, most), (3, 6, 32, 8, 10, most),
        (4, 6, 32, 16, 16, most), (2, 9, 20, 10, 8, most), (4, 1, 32, 0, 8, most), arch="sm_90",
    )  # fmt: skip


def oriented(models, formats):
    """Those of format 2 that are not those of format 1; `features` knows no scale."""
    for model in models:
        for format in formats:
            yield from orientation.kernels(model, format)
            yield features.kernel(model, format)
            yield overlap.kernel(model, format, format.scaled(model.scale))


def mad():
    """Kernels of MAD: both precisions, every type of sample and definition, even and odd widths."""
    for dtype in ("float32", "float64"):
        for format in LUMA:
            yield from combine.kernels(format, dtype)
            yield flat.kernel(format, dtype)
            for how in ({}, {"variant": "paper"}, {"eight_bit_lut": True}):
                yield from lightness.kernels(Definition(**how), format, dtype)
        for width in (64, 65):
            yield from statistics.kernels(width, dtype)
        if dtype == "float32":
            yield from statistics.kernels(64, dtype, tiles=True)
            yield from subbands.kernels(1080, 1920)
        yield from masking.kernels(dtype)
        yield csf.kernel(dtype)
        yield loggabor.kernel(dtype)


HOPPER = Gpu(capability=90, shared=232_448, multiprocessors=132)


def mia_kernel(layout, frames=1, **how):
    return mia_fused.kernel(layout, Mia(**how), frames)


SQUARES = [(32, 32), (64, 64), (128, 128), (256, 256)]
OBLONGS = [(32, 256), (256, 64), (128, 64)]
BATCHES = (1, 3000)
OPTIONS = ({"noise": "gaussian"}, {"blind": False}, {"tv": 0.004})


def mia():
    """Kernels of MIA: layouts of square periods, for few pictures and for many; every option."""
    for size in SQUARES:
        for batch in BATCHES:
            yield mia_kernel(candidates(*size, batch, HOPPER)[0])
    yield mia_kernel(candidates(128, 128, 3000, HOPPER, True)[0], noise="gaussian")
    yield mia_kernel(candidates(32, 32, 1, HOPPER)[-1])  # what every GPU takes
    for how in OPTIONS:
        yield mia_kernel(Layout(64, 64, 4, 4, 16, 64, concurrent=True), **how)
    for dtype in ("float32", "float64"):
        yield from mia_frames.kernels(dtype)
        yield from mia_frames.of_samples(dtype, dtype).values()
        yield from mia_pointwise.kernels(dtype)
        yield mia_change.kernel(dtype)
    yield from mia_tiles.kernels()
    yield from mia_scale.kernels()
    yield from mia_level.kernels()
    for noise in ("poisson", "gaussian"):
        yield from mia_measure.kernels(noise)


def nlm(*cases):
    """Kernels of non-local means: bits before and after, and planes with common weights."""
    for bits, to, planes in cases:
        yield from nlm_group.kernels(Format(64, 48, bits), Format(64, 48, to), planes)


def pictures(*kinds):
    """Kernels between samples and planes of A+, for types, channels and bits."""
    for dtype, channels, bits in kinds:
        yield from samples.kernels(np.dtype(dtype), channels, bits, Format(1, 1, bits).dtype)


def slow_pictures():
    """The same for all types, and those from samples to luma of MAD."""
    for dtype in ("uint8", "uint16", "float16", "float32", "float64"):
        yield from (mad_pictures.kernel(dtype, channels) for channels in (1, 3))
    yield from pictures(("uint8", 4, 8), ("uint16", 1, 8), ("uint16", 3, 16))
    for dtype in ("float16", "float32", "float64"):
        yield from pictures(*((dtype, channels, 0) for channels in (1, 3, 4)))


def slow_mad():
    """Transforms of other lengths: each factor, odd and even, of whole tiles or not."""
    for size in ((2160, 3840), (1440, 2560), (1125, 1500), (4096, 4096), (98, 75)):
        yield from subbands.kernels(*size)


def slow_mia():
    """The same for oblong periods, for several frames and for columns sequential."""
    for dtype in ("float32", "float64"):
        for sample in C_TYPES:
            yield from mia_frames.of_samples(dtype, sample).values()
    for size in OBLONGS:
        for batch in BATCHES:
            yield mia_kernel(candidates(*size, batch, HOPPER)[0])
    yield mia_kernel(candidates(256, 256, 1, HOPPER)[-1])
    for layout in (
        Layout(64, 64, 4, 4, 16, 64, concurrent=True),
        Layout(64, 64, 8, 8, threads=256),
    ):
        for how in OPTIONS:
            for frames in (1, 2):
                yield mia_kernel(layout, frames, **how)


def transforms():
    """Kernels of small transforms, of every size of a line and of every kind."""
    for size in SQUARES:
        for inverse, real in ((False, False), (True, False), (False, True), (True, True)):
            tile = ["tile_fft"] if not real and max(size) < 256 else []
            for name in ("row_fft", "column_fft", *tile):
                yield small.kernel(name, *size, inverse, real)

    yield from square.kernels("rfft2", 64, square.Variant(8, 1))
    yield from square.kernels("fft2", 64, square.Variant(8, 8, apart=True, overlap=True))


def slow_transforms():
    """The same for oblong pictures; every fifth variant of square ones."""
    for kind, side in product(square.KINDS, square.SIDES):
        for batch in (1, 132):
            for variant in fft_candidates(kind, side, batch)[::5]:
                yield from square.kernels(kind, side, variant)
    for size in ((64, 128), (128, 64), (32, 256), (256, 32), (64, 256), (256, 64)):
        yield small.kernel("tile_fft", *size, False, False)


def distinct(*kernels):
    """Each kernel once: models of other scales, and options that change nothing, share some."""
    return list({repr(kernel): kernel for kernel in kernels}.values())


QUICK = "sm_90"
"""The architecture that every run compiles for; every kernel declares it. The others are slow."""

# Each stage's kernels, with the constants of the models that ship.
CASES = [
    *distinct(*aplus(SHIPPED), *oriented(ORIENTED[:1], LUMA[:1]), *mad(), *mia(), *transforms()),
    *cnn(*((2, *size, 8, 8, cnn_layout.MEMORY[QUICK]) for size in SIZES.values())),
    *nlm((8, 8, 1), (16, 16, 2)),
    *pictures(("uint8", 3, 8), ("uint16", 1, 10), ("float16", 4, 0), ("float64", 1, 0)),
    mad_pictures.kernel("uint8", 3),
    mad_pictures.kernel("float32", 1),
    *(kernel for dimensions in (1, 3) for kernel in lut.kernels(LUMA[0], LUMA[0], dimensions)),
    checkup.KERNEL,
    *(
        bicubic.kernel(*case)
        for case in (
            (2, LEFT, "uint8", "uint8"),
            (3, TOP_LEFT, "uint16", "uint8"),
            (4, CENTRE, "float32", "float32"),
            (4, LEFT, "uint16", "uint16"),
        )
    ),
]

SLOW = distinct(
    *CASES, *aplus(OTHERS), *oriented(ORIENTED, LUMA), *slow_pictures(),
    *slow_mad(), *slow_mia(), *slow_transforms(), *slow_cnn(), *lut.kernels(LUMA[1], LUMA[0], 3),
    *lut.kernels(LUMA[0], LUMA[1], 3),
    *nlm((8, 8, 2), (8, 10, 1), (10, 10, 1), (10, 10, 2), (16, 16, 1)),
)[len(CASES) :]  # fmt: skip
"""More constants of the kernels of CASES, and models that do not ship."""

HERE = Path(__file__).parent / "kernels"


def check(kernel, binary):
    assert "warning" not in binary.log
    used = usage(binary, kernel.name)
    assert used.local <= kernel.spills, (
        f"{kernel!r} for {binary.arch}: each thread takes {used.local} bytes of local memory "
        f"({used.registers} registers), {kernel.spills} are declared"
    )


def rows(kernels, quick):
    """A parameter for each kernel and architecture, slow but for those that `quick` names."""
    return [
        pytest.param(k, arch, id=f"{k!r}-{arch}", marks=[] if arch in quick else pytest.mark.slow)
        for k in kernels
        for arch in k.arches
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "arch"), [*rows(CASES, [QUICK]), *rows(SLOW, [])])
def test_compiles_and_spills_nothing(nvrtc, kernel, arch):
    check(kernel, kernel.compile(arch))


def test_every_kernel_is_compiled_by_every_run():
    assert all(QUICK in kernel.arches for kernel in CASES)


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.cu")), ids=lambda file: file.stem)
def test_every_kernel_of_every_file_is_checked(nvrtc, file):
    checked = [kernel for kernel in CASES if kernel.file == file]
    assert checked, f"{file} has no row in CASES"
    found = {name for kernel in checked for name in usages(kernel.compile(QUICK).code)}
    assert found == {kernel.name for kernel in checked}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "declared"), [("spills", 400), ("indexed", 396)])
def test_local_memory_fails_the_check(nvrtc, name, declared):
    kernel = Kernel(HERE / "add.cu", name, weight=1, spills=declared)
    with pytest.raises(AssertionError, match=rf"add.cu, {name}.* for sm_80: .* {declared} are"):
        check(kernel, kernel.compile("sm_80"))


def test_declared_local_memory_passes(nvrtc):
    kernel = Kernel(HERE / "add.cu", "indexed", weight=1, spills=400)
    check(kernel, kernel.compile("sm_80"))
