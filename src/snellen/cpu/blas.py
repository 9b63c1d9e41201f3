"""BLAS for compiled loops; and limited to one thread, for code with several threads of its own."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import scipy
from threadpoolctl import OpenBLASController, ThreadpoolController

from snellen import process
from snellen.cpu.external import External
from snellen.cpu.gate import GATE

MODULE = "scipy.linalg.cython_blas"

_lock = process.lock()


@cache
def _module() -> Any:
    """Return SciPy's functions for Cython, which loads its BLAS, and not all of scipy.linalg."""
    # That takes as long to import as A+ takes for a small picture.
    spec = PathFinder.find_spec(MODULE, [str(Path(scipy.__file__).parent / "linalg")])
    if MODULE in sys.modules or spec is None or spec.loader is None:
        return import_module(MODULE)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(MODULE, None)  # it has put itself there, but its package is not
    return module


def _address(name: str) -> int:
    """Return the address of a function of SciPy's BLAS, called as from Fortran."""
    capsule = _module().__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(pointer_of(capsule, name_of(capsule)))


sgemm = External("snellen_sgemm", 13, partial(_address, "sgemm"))
"""C = α·A·B + β·C in float32; a loop passes the address of each argument."""
sgemv = External("snellen_sgemv", 11, partial(_address, "sgemv"))
"""y = α·A·x + β·y in float32, likewise."""


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit every BLAS library of this process to one thread; restore the old numbers at the end.

    The number of BLAS threads is a setting of the whole process, so the block runs under a lock. If
    two blocks overlapped, the first to end would lift the limit for the other, which would then
    restore a limit of one thread for good. A block uses all cores by itself, so waiting costs
    nothing. A thread may nest blocks.
    """
    with _lock:
        with GATE:  # a fork meanwhile would leave OpenBLAS's own locks taken in the child
            _module()  # so that it is limited, too
            _claim()
            limit = ThreadpoolController().limit(limits=1, user_api="blas")
        try:
            yield
        finally:
            with GATE:
                _claim()
                limit.restore_original_limits()
                _claim()


def _claim() -> None:
    """Have threadpoolctl heed whichever thread is next to set the number of OpenBLAS's threads."""
    # From 3.8 on it heeds the first one only, for as long as that lives, and ignores all others
    # without a word: the main thread of a program, or a thread of VapourSynth.
    clear = getattr(OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
