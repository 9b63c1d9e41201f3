"""Loops compiled by Numba, without the interpreter lock and with a cache on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(loop: Callable[..., Any]) -> Any:
    """Compile a function when it is first called with a set of types.

    The machine code is cached beside the source file or, if that folder is read-only, in the user's
    cache folder. If neither can be written (a service account in a read-only container), every
    process compiles anew. Floating-point arithmetic follows IEEE 754: fastmath is off.
    """
    try:
        return numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:  # Numba found no folder that it can write its cache to.
        return numba.njit(nogil=True)(loop)
