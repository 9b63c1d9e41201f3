"""Compiling works with a cache on disk and without."""

from __future__ import annotations

import numba
import numpy as np

from snellen.cpu.compiled import compiled


def twice(x):
    return x + x


def test_the_code_is_cached_on_disk():
    loop = compiled(twice)
    assert loop(np.float32(1.5)) == 3
    assert loop.stats.cache_path is not None


def test_without_a_folder_for_the_cache(monkeypatch):
    """A read-only container: Numba finds no folder that it may write to."""
    real = numba.njit

    def refuse(*, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", refuse)
    loop = compiled(twice)
    assert loop(np.float32(1.5)) == 3
    assert loop.stats.cache_path is None
