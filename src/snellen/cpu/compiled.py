"""How loops are compiled: Numba, without Python's lock, kept on disk where that works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a function at its first call for each set of types.

    The result is cached beside the source, or in the user's cache folder where that is not
    writable; where nothing is (a service account in a read-only container), each process compiles
    for itself. Floating point is IEEE: no fastmath.
    """
    try:
        return numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:  # Numba finds no place for its cache
        return numba.njit(nogil=True)(loop)
