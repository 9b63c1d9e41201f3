"""SciPy's Fourier transforms with threads, which a fork in another thread does not break.

Before a fork SciPy ends the threads of its transforms, and makes new ones after it. A transform
that another thread begins in between raises RuntimeError; so forks and transforms wait for each
other here.

The package scipy.fft takes longer to import than a small picture takes to score. So its compiled
module is loaded alone, where it is as we know it; otherwise scipy.fft serves.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.gate import GATE

MODULES = "_pocketfft.pypocketfft", "_duccfft.pyduccfft"
"""SciPy's, until 1.17 and from 1.18 on: c2c, r2c, c2r and good_size."""
NOT_SCALED, BY_SIZE = 0, 2
"""The module's names for its scalings of a transform, and of its inverse."""

Array = npt.NDArray[Any]


def next_fast_len(target: int, real: bool = False) -> int:
    """Return the smallest length from `target` on that has small prime factors only."""
    return int(_module().good_size(target, real))


def fft(x: Array, axis: int = -1, *, workers: int = 1, overwrite_x: bool = False) -> Array:
    """Return the transform of complex numbers along an axis."""
    return _complex(x, (axis,), True, workers, overwrite_x)


def ifft(x: Array, axis: int = -1, *, workers: int = 1, overwrite_x: bool = False) -> Array:
    """Return the inverse transform of complex numbers along an axis."""
    return _complex(x, (axis,), False, workers, overwrite_x)


def fft2(x: Array, *, workers: int = 1, overwrite_x: bool = False) -> Array:
    """Return the transform of complex, or real, planes: the last two axes."""
    return _complex(x, (-2, -1), True, workers, overwrite_x)


def ifft2(x: Array, *, workers: int = 1, overwrite_x: bool = False) -> Array:
    """Return the inverse transform of complex planes."""
    return _complex(x, (-2, -1), False, workers, overwrite_x)


def rfft(x: Array, *, workers: int = 1) -> Array:
    """Return the half spectra of real numbers along the last axis."""
    return _half(x, (-1,), workers)


def rfft2(x: Array, s: Sequence[int] | None = None, *, workers: int = 1) -> Array:
    """Return the half spectra of real planes, with zeros beside them up to the size `s`."""
    if s is not None:
        beside = [(0, size - length) for size, length in zip(s, x.shape[-2:], strict=True)]
        x = np.pad(x, [(0, 0)] * (x.ndim - 2) + beside)
    return _half(x, (-2, -1), workers)


def irfft(x: Array, n: int, *, workers: int = 1) -> Array:
    """Return real numbers, n along the last axis, of half spectra."""
    return _real(x, (-1,), n, workers)


def irfft2(x: Array, s: Sequence[int], *, workers: int = 1, overwrite_x: bool = False) -> Array:
    """Return real planes of the size `s` of half spectra."""
    return _real(x, (-2, -1), s[1], workers)


def _complex(x: Array, axes: tuple[int, ...], forward: bool, workers: int, over: bool) -> Array:
    out = x if over and x.dtype.kind == "c" else None
    with GATE:
        found: Array = _module().c2c(
            x, axes, forward, NOT_SCALED if forward else BY_SIZE, out, workers
        )
    return found


def _half(x: Array, axes: tuple[int, ...], workers: int) -> Array:
    with GATE:
        found: Array = _module().r2c(x, axes, True, NOT_SCALED, None, workers)
    return found


def _real(x: Array, axes: tuple[int, ...], last: int, workers: int) -> Array:
    if x.shape[axes[-1]] != last // 2 + 1:
        raise ValueError(f"got half spectra {x.shape}; expected {last // 2 + 1} columns")
    with GATE:
        found: Array = _module().c2r(x, axes, last, False, BY_SIZE, None, workers)
    return found


@cache
def _module() -> Any:
    """Return SciPy's compiled transforms, or what calls scipy.fft in their place."""
    with suppress(Exception):  # whatever another version of SciPy has there
        package = find_spec("scipy")
        assert package is not None and package.submodule_search_locations
        for name in MODULES:
            full = f"scipy.fft.{name}"
            folder = Path(package.submodule_search_locations[0], "fft", name.partition(".")[0])
            spec = PathFinder.find_spec(full, [str(folder)])
            if spec is None or spec.loader is None:
                continue
            module = sys.modules.get(full)
            if module is None:
                module = module_from_spec(spec)
                spec.loader.exec_module(module)
                sys.modules.pop(full, None)  # its package is not there
            _try(module)
            return module
    return _Public()


def _try(module: Any) -> None:
    """Raise an exception if a compiled module does not do what it did."""
    plane = np.arange(12, dtype=np.float32).reshape(3, 4)
    half = module.r2c(plane, (-2, -1), True, NOT_SCALED, None, 1)
    same = module.c2r(half, (-2, -1), 4, False, BY_SIZE, None, 1)
    whole = module.c2c(plane + 0j, (-2, -1), True, NOT_SCALED, None, 1)
    back = module.c2c(whole, (-2, -1), False, BY_SIZE, whole, 1)
    expected = np.fft.fft2(plane)
    pairs = (half, expected[:, :3]), (same, plane), (back, plane)
    if module.good_size(11, True) != 12 or not all(np.allclose(*pair) for pair in pairs):
        raise ImportError


class _Public:
    """The functions of the compiled module, by scipy.fft."""

    def __init__(self) -> None:
        from scipy import fft

        self._fft, self.good_size = fft, fft.next_fast_len

    def c2c(self, x: Array, axes: Any, forward: bool, _: int, out: Any, workers: int) -> Any:
        """Transform complex numbers, or back."""
        transform = self._fft.fftn if forward else self._fft.ifftn
        return transform(x, axes=axes, workers=workers, overwrite_x=out is not None)

    def r2c(self, x: Array, axes: Any, _forward: bool, _: int, _out: Any, workers: int) -> Any:
        """Transform real numbers."""
        return self._fft.rfftn(x, axes=axes, workers=workers)

    def c2r(
        self, x: Array, axes: Any, last: int, _forward: bool, _: int, _out: Any, workers: int
    ) -> Any:
        """Transform half spectra back."""
        sizes = [*(x.shape[axis] for axis in axes[:-1]), last]
        return self._fft.irfftn(x, sizes, axes, workers=workers)
