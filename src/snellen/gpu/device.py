"""Which device works, and what it has: threads of the CPU; the GPU's architecture and memory.

CuPy and cuda.core are imported when a GPU is asked about, never with the package.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import DeviceError

OLDEST = 75  # compute capability 7.5, Turing: the oldest that CUDA 13 compiles for
NO_MEMORY = 2  # cudaErrorMemoryAllocation


def resolve(device: str) -> str:
    """Return the device to use: "cpu" or "cuda:N".

    Parameters
    ----------
    device : str
        "cpu"; "cuda", which is "cuda:0"; "cuda:N"; or "auto": the first GPU where it works, else
        the CPU (`why_not` then says why).

    Raises
    ------
    DeviceError
        The GPU asked for cannot work, or the name is unknown.
    """
    if device == "cpu":
        return "cpu"
    if device == "auto":
        return "cpu" if why_not() else "cuda:0"
    number = ordinal(device)
    if reason := why_not(number):
        raise DeviceError(f"device {device!r} cannot be used: {reason}; or use --device cpu")
    return f"cuda:{number}"


def several(device: str) -> tuple[str, ...]:
    """Return the devices of a list, "cuda:0,cuda:1", as `resolve` does; one is the plain case.

    Raises
    ------
    DeviceError
        One that cannot work, one that comes twice, or the CPU among others.
    """
    found = tuple(resolve(name) for name in names(device))
    if len(found) > 1 and ("cpu" in found or len(set(found)) < len(found)):
        raise DeviceError(
            f"devices {device!r} came, expected one, or several GPUs, each once: cuda:0,cuda:1"
        )
    return found


def names(device: str) -> list[str]:
    """Return the names in a list of devices."""
    if not isinstance(device, str):
        raise DeviceError(f"device={device!r} came, expected a name: auto, cpu, cuda or cuda:N")
    return [name.strip() for name in device.split(",")]


def ordinal(device: str) -> int:
    """Return N of "cuda:N", and 0 of "cuda"."""
    name, _, number = device.partition(":")
    if device == "cuda":
        return 0
    if name != "cuda" or not (number.isascii() and number.isdigit()):
        raise DeviceError(f"no device {device!r}; there are auto, cpu, cuda and cuda:N")
    return int(number)


def why_not(ordinal: int = 0) -> str:
    """Return why a GPU cannot be used and what to do about it; "" where it works.

    What can be tried is tried: CuPy and cuda.core are imported and the GPU gets a context.
    """
    driver = driver_version()
    if not driver:
        return "no NVIDIA driver answers here; install one (and the GPU), see nvidia.com/drivers"
    extra = 13 if driver >= 13000 else 12
    try:
        import cupy

        from snellen.gpu import nvrtc

        toolkit = max(cupy.cuda.runtime.runtimeGetVersion() // 1000, nvrtc.version()[0])
        if reason := too_old(driver, toolkit):
            return reason
        if ordinal >= (count := cupy.cuda.runtime.getDeviceCount()):
            return f"there are {count} GPUs, counted from 0; choose cuda:{count - 1} or lower"
        if reason := unsuited(int(cupy.cuda.Device(ordinal).compute_capability), nvrtc.archs()):
            return reason
        with using(f"cuda:{ordinal}"):
            cupy.cuda.runtime.memGetInfo()
    except ImportError as error:
        return f'{error}; run: pip install "snellen[cuda{extra}]"'
    except DeviceError as error:
        return str(error)
    except Exception as error:  # whatever a half-installed CUDA raises is a reason, not a crash
        return f"{type(error).__name__}: {error}; `snellen doctor` tells what is installed"
    return ""


def too_old(driver: int, toolkit: int) -> str:
    """Return what to do where the driver is older than the CUDA that CuPy and NVRTC are of.

    Parameters
    ----------
    driver : int
        The newest CUDA that the driver knows: 12040 for CUDA 12.4.
    toolkit : int
        The CUDA that is installed: 13.
    """
    if driver // 1000 >= toolkit:
        return ""
    told = f"the driver is for CUDA {driver // 1000}.{driver % 1000 // 10}"
    if driver // 1000 < 12:
        return f"{told}, CUDA 12 is the oldest that works; update the driver"
    return (
        f"{told}, what is installed is for CUDA {toolkit}; update the driver, or run: "
        f'pip uninstall cupy-cuda{toolkit}x; pip install "snellen[cuda{driver // 1000}]"'
    )


def unsuited(capability: int, archs: list[int]) -> str:
    """Return why a GPU of a compute capability (75 is 7.5) cannot run what NVRTC compiles."""
    told = f"the GPU has compute capability {capability // 10}.{capability % 10}"
    if capability < OLDEST:
        return f"{told}, 7.5 (Turing, GTX 16 and RTX 20) is the oldest that works; take the CPU"
    if capability not in archs:
        return f"{told}, which NVRTC here does not know; run: pip install -U cuda-toolkit"
    return ""


def library() -> Any:
    """Return the driver's library; None where there is none."""
    with suppress(OSError):
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    return None


def driver_version() -> int:
    """Return the newest CUDA that the driver knows, 13000 for 13.0; 0 where no driver works."""
    driver, version = library(), ctypes.c_int()
    if driver is None or driver.cuInit(0) or driver.cuDriverGetVersion(ctypes.byref(version)):
        return 0
    return version.value


@contextmanager
def using(device: str) -> Iterator[None]:
    """Make a GPU the current one of this thread; for "cpu", do nothing."""
    if device == "cpu":
        yield
        return
    import cupy

    with cupy.cuda.Device(ordinal(device)) as chosen:
        chosen.use()  # `with` alone makes no context in a new thread where the device is 0 already
        yield


@contextmanager
def reporting() -> Iterator[None]:
    """Raise what CuPy and CUDA say as DeviceError."""
    from cupy.cuda.memory import OutOfMemoryError
    from cupy.cuda.runtime import CUDARuntimeError

    advice = "close other programs, take smaller pictures, or use --device cpu"
    try:
        yield
    except OutOfMemoryError as error:
        raise DeviceError(f"the GPU's memory does not suffice ({error}): {advice}") from error
    except CUDARuntimeError as error:
        if error.status == NO_MEMORY:
            raise DeviceError(
                f"the GPU's memory, or what can be page-locked, does not suffice: {advice}"
            ) from error
        raise DeviceError(
            f"CUDA says {error}: start again, update the driver, or use --device cpu"
        ) from error


def name(device: str) -> str:
    """Return what a device calls itself, as "NVIDIA H200"; "cpu" for the CPU."""
    if device == "cpu":
        return "cpu"
    from cupy.cuda.runtime import getDeviceProperties

    return str(getDeviceProperties(ordinal(device))["name"].decode())


def arch() -> str:
    """Return the architecture of the current GPU, as "sm_90"."""
    import cupy

    return f"sm_{cupy.cuda.Device().compute_capability}"


def multiprocessors() -> int:
    """Return how many multiprocessors the current GPU has."""
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def free_memory() -> int:
    """Return how many bytes may still be allocated on the current GPU.

    That is what the driver has free and what CuPy's pool holds unused, within the pool's limit
    where one is set (CUPY_GPU_MEMORY_LIMIT).
    """
    import cupy

    pool = cupy.get_default_memory_pool()
    free = int(cupy.cuda.runtime.memGetInfo()[0]) + int(pool.free_bytes())
    limit = int(pool.get_limit())
    return min(free, limit - int(pool.used_bytes())) if limit else free


def pinned(shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return an array in page-locked memory, which copies to and from the GPU want.

    When nobody holds it any more, nor a view of it, its memory goes back to CuPy's pool, which
    hands it out again at the next call of the same size: the slow cudaHostAlloc is called for the
    first frames only. So hold the array until a copy that runs meanwhile is done.
    """
    import cupy

    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    # The array holds the pool's block through the buffer protocol; the last view gives it back.
    memory = cupy.cuda.alloc_pinned_memory(math.prod(shape) * np.dtype(dtype).itemsize)
    return np.ndarray(shape, dtype, buffer=memory)


def threads() -> int:
    """Return how many CPU cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
