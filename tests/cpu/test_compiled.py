"""Compiling works also where nothing can be kept."""

from __future__ import annotations

import numba
import numpy as np

from snellen.cpu.compiled import compiled


def twice(x):
    return x + x


def test_kept_on_disk():
    loop = compiled(twice)
    assert loop(np.float32(1.5)) == 3
    assert loop.stats.cache_path is not None


def test_without_a_place_for_the_cache(monkeypatch):
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
