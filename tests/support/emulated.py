"""CUDA kernels on the CPU: a .cu file compiled by g++, and as much of CuPy as its callers use.

The threads of a block that wait for each other are coroutines, which take turns at barriers and
shuffles; others run one after another, and so do blocks. That tests indices, barriers that all
threads reach, and sums; it finds no races.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from snellen.gpu.kernel import _argument, _literal
from snellen.gpu.nvrtc import PACKAGE

HEAD = Path(__file__).with_suffix(".h")
WARPS = HEAD.with_name("warps")  # what stands for gpu/device.cuh
KERNEL = re.compile(r'extern "C" __global__ void\s+__launch_bounds__\([^()]*\)\s+(\w+)\(([^)]*)\)')
DYNAMIC = re.compile(r"extern __shared__ (\w+) (\w+)\[\];")

WAITS = "__syncthreads", "block_sum", "warp_sum", "flow.set", "cropped("
"""What makes threads wait for each other; those of other kernels run one after another."""


BOTH = [
    pytest.param("emulated", marks=pytest.mark.slow),
    pytest.param("gpu", marks=pytest.mark.gpu),
]
"""Parameters of a fixture that is CuPy, or what stands for it where kernels run on the CPU."""


def install(monkeypatch, kernels, *stages):
    """Put `cupy()` in the place of CuPy and these kernels into stages; return the module."""
    if not shutil.which("g++"):
        pytest.skip("no g++ to compile kernels for the CPU")
    monkeypatch.setitem(sys.modules, "cupy", module := cupy())
    for stage in stages:
        monkeypatch.setattr(stage, "Kernel", kernels)
    return module


class Array(np.ndarray):
    """An array of CuPy, as far as that."""

    @property
    def data(self):
        """Return the memory; a copy is done when it is queued."""
        here = self.ctypes.data
        return SimpleNamespace(
            copy_to_host_async=lambda address, size: ctypes.memmove(address, here, size)
        )

    def fill(self, value):
        self[...] = value

    def get(self):
        return np.array(self).view(np.ndarray)

    def set(self, other):
        assert (other.shape, other.dtype) == (self.shape, self.dtype)
        self[...] = other


class Stream:
    """A stream; work is done when it is queued."""

    def __init__(self, non_blocking=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        pass

    def record(self, stream):
        """Stand for an event, too."""

    def wait_event(self, event):
        """Find it done."""


def cupy():
    """A module in place of CuPy; new memory is not 0."""
    module = ModuleType("cupy")
    module.ndarray = Array
    module.zeros = lambda shape, dtype=np.float64: np.zeros(shape, dtype).view(Array)
    module.empty = empty
    module.asarray = lambda array: np.asarray(array, order="A").view(Array)  # Fortran's stays so
    module.cuda = SimpleNamespace(
        Stream=Stream, Event=lambda **options: Stream(), get_current_stream=Stream
    )
    module.ascontiguousarray = lambda array, dtype=None: np.ascontiguousarray(array, dtype).view(
        Array
    )
    module.empty_like = lambda array: empty(array.shape, array.dtype)
    for name in ("uint8", "uint16", "int32", "float32"):
        setattr(module, name, getattr(np, name))
    return module


def empty(shape, dtype=np.float64):
    """An array of NaN, or of ones as bits."""
    array = np.empty(shape, dtype)
    array.view(np.uint8)[...] = 0xFF
    return array.view(Array)


class Plan:
    """In place of `fft.plan.Plan`; an inverse destroys its input, as cuFFT does."""

    def __init__(self, kind, height, width, dtype):
        self.kind, self.shape = kind, (height, width)

    def __call__(self, array, out):
        assert not (array.ctypes.data % 16 or out.ctypes.data % 16)  # cuFFT wants it
        assert (array if self.kind == "r2c" else out).shape == self.shape
        if self.kind == "r2c":
            out[...] = np.fft.rfft2(np.asarray(array))
        else:
            out[...] = np.fft.irfft2(np.asarray(array), self.shape) * out.size
            array[...] = np.nan


class Kernels:
    """Makes kernels of one .cu file, in place of `gpu.kernel.Kernel`.

    Parameters
    ----------
    folder : Path
        For what is compiled.
    """

    def __init__(self, folder):
        self.folder, self.libraries, self.launches = folder, {}, []

    def __call__(self, file, name, *, spills=0, **constants):
        key = file, tuple(constants.items())
        if key not in self.libraries:
            place = self.folder / f"{file.stem}{len(self.libraries)}.cpp"
            self.libraries[key] = _compiled(file, constants, place)
        run = getattr(self.libraries[key], f"run_{name}")

        def launch(grid, block, *arguments, shared=0):
            self.launches.append(name)
            run(_pointers(arguments), _extent(grid), _extent(block))

        launch.name = name
        return launch


def _extent(extent):
    """Three numbers, as C++ gets them."""
    whole = extent if isinstance(extent, tuple) else (extent,)
    return (ctypes.c_int * 3)(*whole, *(1,) * (3 - len(whole)))


def _pointers(arguments):
    """Pointers to each argument, as CUDA gets them."""
    values = []
    for one in arguments:
        if isinstance(one, np.ndarray):
            values.append(np.array(one.ctypes.data, np.uint64))
        else:
            values.append(np.array(_argument(one)))
    pointers = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
    pointers.values = values  # held until the launch is over
    return pointers


def _compiled(file, constants, made):
    """The kernels of a file as functions run_NAME(pointers, grid, block), by a file of C++."""
    source = DYNAMIC.sub(
        r"\1 *\2 = reinterpret_cast<\1 *>(dynamic_shared);", file.read_text("utf-8")
    )
    lines = [f'#include "{HEAD}"', source]
    found = list(KERNEL.finditer(source))
    for kernel, after in zip(found, [*found[1:], None], strict=True):
        name, parameters = kernel.groups()
        body = source[kernel.end() : after and after.start()]
        waits = str(any(word in body for word in WAITS)).lower()
        kinds = [re.sub(r"__restrict__|\w+$", "", one.strip()).strip()
                 for one in re.sub(r"__restrict__", "", parameters).split(",")]  # fmt: skip
        passed = ", ".join(f"*({kind} *)a[{i}]" for i, kind in enumerate(kinds))
        lines += [
            f"static void call_{name}(void **a) {{ {name}({passed}); }}",
            f'extern "C" void run_{name}(void **a, Index *grid, Index *block) '
            f"{{ launch(call_{name}, a, *grid, *block, {waits}); }}",
        ]
    made.write_text("\n".join(lines), "utf-8")
    library = made.with_suffix(".so")
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-ffp-contract=off", "-fno-gnu-unique", "-Wl,-Bsymbolic",
         "-shared", "-fPIC",
         *(f"-D{name.upper()}={_literal(value)}" for name, value in constants.items()),
         f"-I{file.parent}", f"-I{WARPS}", f"-I{PACKAGE}", "-o", library, made],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(library))
