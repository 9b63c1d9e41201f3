"""What backends say of their progress, and when: a GPU has not done it yet when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")

Later = Callable[[], T]
"""A function that waits for a result and returns it."""

Array = npt.NDArray[Any]
Float64 = npt.NDArray[np.float64]


class Checked(Protocol):
    """A backend whose checks are made one by one."""

    @property
    def estimate(self) -> Any:
        """See `backend.Backend`."""
        ...

    def measure(self) -> Later[Float64]:
        """See `backend.Backend`."""
        ...

    def change(self, before: Any) -> Later[float]:
        """See `backend.Backend`."""
        ...


Check = Callable[[bool], tuple[Later[Float64], Later[float]]]
"""check(fit) begins a check, with the data fidelity where it is asked for; it returns functions
that wait for the fit of each picture (else it says nothing) and for the greatest change."""


def one_by_one(backend: Checked) -> Check:
    """Return the check that begins with the present estimates."""
    before = backend.estimate.copy()

    def check(fit: bool) -> tuple[Later[Float64], Later[float]]:
        change = backend.change(before)
        return backend.measure() if fit else no_fit, change

    return check


def no_fit() -> Float64:
    """Stand for a fit that was not asked for."""
    return np.zeros(0)


def change(f: Array, before: Array) -> Later[float]:
    """Compare estimates (B, H, W) in main memory with `before`: see `Backend.change`."""
    change, size = (np.linalg.norm(x.reshape(len(x), -1), axis=1) for x in (f - before, f))
    greatest = float((change / np.maximum(size, np.finfo(f.dtype).tiny)).max())
    before[...] = f
    return lambda: greatest
