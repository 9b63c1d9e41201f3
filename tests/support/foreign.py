"""Arrays of other libraries."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np


class Tensor:
    """As little as a library has to offer: memory that DLPack can name."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Picture:
    """An object that NumPy can read."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


def install(monkeypatch):
    """Make Tensor a class of a library that takes DLPack, too."""
    library = ModuleType("tensorlib")
    library.from_dlpack = lambda array: Tensor(np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "tensorlib", library)
    monkeypatch.setattr(Tensor, "__module__", "tensorlib.core")
