"""Types of the arrays that public functions take and return, for type checkers."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np


class Exporting(Protocol):
    """An array of a library that exports by DLPack: NumPy's, CuPy's, PyTorch's."""

    def __dlpack__(self, *, stream: Any = ...) -> Any:
        """Return a capsule."""
        ...

    def __dlpack_device__(self) -> Any:
        """Return kind and number of the device."""
        ...


DLPack = TypeVar("DLPack", bound=Exporting)
"""The type of such an array: results have it too."""

Sample = TypeVar("Sample", bound=np.generic)
"""The type of the samples of NumPy's arrays; the shape of a result is not known."""
