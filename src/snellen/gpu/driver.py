"""The NVIDIA driver: its CUDA version, and whether the installed packages suit it and the GPU."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from snellen.process import Home

_home: Home | None = None  # where CUDA was initialised
_foreign = False  # whether this is a child of a process where another library did so
NOT_INITIALISED = 3  # CUDA_ERROR_NOT_INITIALIZED, of cuInit: in such a child only
OLDEST = 75  # compute capability 7.5, Turing: the oldest that CUDA 13 compiles for


def library() -> Any:
    """Return the driver's library; None where there is none."""
    with suppress(OSError):
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    return None


def version() -> int:
    """Return the newest CUDA that the driver supports, 13000 for 13.0; 0 where none works."""
    global _home, _foreign
    driver, found = library(), ctypes.c_int()
    if driver is None or forked():
        return 0
    error = driver.cuInit(0)
    _foreign = error == NOT_INITIALISED
    if error or driver.cuDriverGetVersion(ctypes.byref(found)):
        return 0
    _home = _home or Home("the GPU's context")
    return found.value


def count() -> int:
    """Return the number of GPUs that the driver names; 0 where none works."""
    found = ctypes.c_int()
    if not version() or library().cuDeviceGetCount(ctypes.byref(found)):
        return 0
    return found.value


@contextmanager
def starting(ordinal: int) -> Iterator[None]:
    """Let a thread start CUDA and make a GPU's context meanwhile, where there is a driver.

    That takes some tenths of a second, without Python's lock. It is the context that CuPy and
    PyTorch use; once made, it lasts as long as the process.
    """
    thread = threading.Thread(target=_start, args=[ordinal], name="snellen-cuda")
    begun = False
    if library() is not None and not forked():
        with suppress(RuntimeError):  # there can be no more threads
            thread.start()
            begun = True
    try:
        yield
    finally:
        if begun:
            thread.join()


def _start(ordinal: int) -> None:
    driver = library()
    device, flags, active, context = (
        ctypes.c_int(), ctypes.c_uint(), ctypes.c_int(), ctypes.c_void_p()
    )  # fmt: skip
    if not version() or driver.cuDeviceGet(ctypes.byref(device), ordinal):
        return
    driver.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
    if not active.value:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def forked() -> bool:
    """Return whether this process was forked from one that had used a GPU: it cannot use any."""
    return _foreign or (_home is not None and not _home.here)


def too_old(version: int, toolkit: int) -> str:
    """Return what to do if the driver is older than the CUDA of CuPy and NVRTC; "" if it is not.

    Parameters
    ----------
    version : int
        The newest CUDA that the driver supports: 12040 for CUDA 12.4.
    toolkit : int
        The major version of the installed CUDA: 13.
    """
    if version // 1000 >= toolkit:
        return ""
    found = f"the driver is for CUDA {version // 1000}.{version % 1000 // 10}"
    if version // 1000 < 12:
        return f"{found}, CUDA 12 is the oldest that works; update the driver"
    return (
        f"{found}, the installed packages are for CUDA {toolkit}; update the driver, or run: "
        f'pip uninstall cupy-cuda{toolkit}x; pip install "snellen[cuda{version // 1000}]"'
    )


def unsuited(capability: int, archs: list[int]) -> str:
    """Return why a GPU of a compute capability (75 is 7.5) cannot run our kernels; "" if it can."""
    found = f"the GPU has compute capability {capability // 10}.{capability % 10}"
    if capability < OLDEST:
        return f"{found}, 7.5 (Turing, GTX 16 and RTX 20) is the oldest that works; take the CPU"
    if capability not in archs:
        return f"{found}, which NVRTC here does not know; run: pip install -U cuda-toolkit"
    return ""
