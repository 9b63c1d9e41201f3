"""The kernels of tiles.cu by g++, thread by thread: the bytes of NumPy, and no GPU is needed."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from functools import cache
from math import prod

import numpy as np
import pytest

from snellen.frames.frame import Format
from snellen.frames.luma import Codes, samples
from snellen.frames.quantise import quantise
from snellen.gpu import device as devices
from snellen.mia.cuda import tiles as cuda_tiles
from snellen.mia.tiles import Tiles

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="no g++")

CUDA = r"""
typedef decltype(sizeof 0) size_t;
inline float rint(float x) { return __builtin_rintf(x); }
inline double rint(double x) { return __builtin_rint(x); }
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
struct { int x, y; } blockIdx, threadIdx, gridDim;
int __syncthreads_or(int value) { return value; }
float __fmul_rn(float a, float b) { return a * b; }
float __fadd_rn(float a, float b) { return a + b; }
float __fdiv_rn(float a, float b) { return a / b; }
double __dmul_rn(double a, double b) { return a * b; }
double __dadd_rn(double a, double b) { return a + b; }
double __ddiv_rn(double a, double b) { return a / b; }
"""
RUN = r"""
extern "C" void run(int blocks_x, int blocks_y, %(types)s) {
  gridDim = {blocks_x, blocks_y};
  for (blockIdx.y = 0; blockIdx.y < blocks_y; blockIdx.y++)
    for (blockIdx.x = 0; blockIdx.x < blocks_x; blockIdx.x++)
      for (threadIdx.x = 0; threadIdx.x < THREADS; threadIdx.x++) %(name)s(%(names)s);
}
"""


def built(folder, kernel):
    """Return a function (grid, *arguments) of a kernel whose threads run one after another."""
    source = kernel.file.read_text(encoding="utf-8")
    # Each thread tells its own findings, instead of the first one those of all.
    source = source.replace("if (threadIdx.x) continue;", "")
    given = re.search(rf"\b{kernel.name}\((.*?)\) {{", source, re.S)[1]
    names = ", ".join(re.findall(r"(\w+)(?:,|$)", given))
    run = RUN % {"types": given, "name": kernel.name, "names": names}
    macros = [f"-D{name}={value}" for name, value in kernel.constants.items()]
    code, library = folder / "kernel.cpp", folder / f"{abs(hash(repr(kernel)))}.so"
    code.write_text(CUDA + source + run, encoding="utf-8")
    subprocess.run(
        [COMPILER, "-std=c++17", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-w", *macros,
         code, "-o", library],
        check=True,
    )  # fmt: skip
    function = ctypes.CDLL(str(library)).run

    def launch(grid, threads, *arguments):
        function(*grid, *map(_argument, arguments))

    return launch


def _argument(value):
    if isinstance(value, np.ndarray):
        assert value.flags.c_contiguous
        return value.ctypes.data_as(ctypes.c_void_p)
    if isinstance(value, np.generic):
        return {"f": ctypes.c_float, "d": ctypes.c_double}[value.dtype.char](value)
    return None if value is None else int(value)


@pytest.fixture
def cutters(monkeypatch, tmp_path):
    """Have `Tiles.on_gpu` cut and blend by the compiled kernels, on arrays of NumPy."""
    original = cuda_tiles._kernel.__wrapped__
    kernel = cache(lambda *how: built(tmp_path, original(*how)))
    monkeypatch.setattr(cuda_tiles, "upload", np.ascontiguousarray)
    monkeypatch.setattr(cuda_tiles, "_kernel", kernel)
    monkeypatch.setattr(devices, "GRID_ROWS", 3)
    return lambda tiles, *how: tiles.on_gpu(*how)


GRIDS = [((33, 47), 20, 9), ((20, 97), 64, 31), ((20, 20), 3, 1)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_planes_of_floats(cutters, random, dtype):
    for sizes in GRIDS:
        tiles = Tiles(*sizes)
        cutter, planes = cutters(tiles, dtype), random.random((2, 3, *sizes[0])).astype(dtype)
        wanted = tiles.split(planes)
        found = np.full_like(wanted, np.nan)
        cutter.cut(planes, found)
        assert found.tobytes() == wanted.tobytes()
        parts = np.ascontiguousarray(wanted[:, 1])
        merged = np.full((2, *sizes[0]), np.nan, dtype)
        cutter.blend(parts, merged)
        assert merged.tobytes() == tiles.merge(parts).tobytes()


@pytest.mark.parametrize("bits", [8, 10])
def test_planes_of_code_values(cutters, random, bits):
    """Tiles and pictures of one value among them."""
    format = Format(8, 8, bits)
    codes = Codes.of(format)
    for sizes in GRIDS:
        tiles = Tiles(*sizes)
        cutter, count = cutters(tiles, "float32", codes, codes), prod(tiles.grid)
        raw = random.integers(0, 1 << bits, (3, 2, *sizes[0])).astype(codes.dtype)
        raw[0, :, : tiles.shape[0], : tiles.shape[1]] = 77
        raw[1] = 99
        floats = np.stack([[samples(frame, format) for frame in frames] for frames in raw])
        wanted = tiles.split(floats)
        found = np.full_like(wanted, np.nan)
        values = np.full(3 * count + 3, np.nan, np.float32), np.full(3 * count + 3, 7, np.int32)
        cutter.cut(raw, found, values)
        assert found.tobytes() == wanted.tobytes()
        flat = wanted.min((1, 2, 3)) == wanted.max((1, 2, 3))
        whole = floats.min((1, 2, 3)) == floats.max((1, 2, 3))
        assert (values[1] == [*~flat, *~whole]).all()
        assert (values[0] == [*wanted[:, 0, 0, 0], *floats[:, 0, 0, 0]]).all()
        sharp = (random.random((3 * count, *tiles.shape)) * 1.2 - 0.1).astype(np.float32)
        out = np.full((3, *sizes[0]), 77, codes.dtype)
        cutter.blend(sharp, out, values)
        clipped = sharp.clip(0)
        clipped[flat] = wanted[flat, :1, 0, 0, None]
        merged = np.where(whole[:, None, None], floats[:, 0], tiles.merge(clipped))
        for plane, one in zip(merged, out, strict=True):
            coded = np.empty(sizes[0], codes.dtype)
            quantise(plane, (codes.white - codes.black, codes.black), bits, coded)
            assert one.tobytes() == coded.tobytes()
