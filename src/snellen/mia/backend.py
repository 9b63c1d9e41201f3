"""The interface of the backends of MIA, and of the checks of their progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Float64 = npt.NDArray[np.float64]

Later = Callable[[], T]
"""A function that waits for a result and returns it: a GPU has not done it yet when asked for."""

Check = Callable[[bool], tuple[Later[Float64], Later[float]]]
"""check(fit) begins a check, with the data fidelity where it is asked for; it returns functions
that wait for the fit of each picture (else it says nothing) and for the greatest change."""


class Backend(Protocol):
    """Backend of MIA on one device, for one batch on one period: the CPU's, or one of the GPU's."""

    slots: int
    """How many batches may be in flight: more than 1 where the iterations need no host."""

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the observed planes y (B, M, H, W) and the first f (B, H, W) and h (B, M, H, W)."""
        ...

    def iterate(self, count: int) -> None:
        """Do `count` iterations of all pictures."""
        ...

    @property
    def estimate(self) -> Any:
        """The estimates f (B, H, W); valid until the next call."""
        ...

    @property
    def psf(self) -> Any:
        """The PSFs h (B, M, H, W), each of sum 1; valid until the next call."""
        ...

    def fit(self) -> Float64:
        """Return the data fidelity of y and h ⊛ f of each picture: (B,)."""
        ...

    def measure(self) -> Later[Float64]:
        """Begin what `fit` does; return a function that waits for it and returns the same."""
        ...

    def change(self, before: Any) -> Later[float]:
        """Begin to compare the estimates with `before` (B, H, W), which becomes a copy of them.

        Return a function that waits for the greatest ‖f − before‖ / ‖f‖ of all pictures, 0 for a
        black one, and returns it.
        """
        ...

    def checks(self) -> Check:
        """Return the check of the progress that begins with the present estimates."""
        ...

    def close(self) -> None:
        """Release threads and buffers."""
        ...


def one_by_one(backend: Backend) -> Check:
    """Return the check that begins with the present estimates and calls the backend each time."""
    before = backend.estimate.copy()

    def check(fit: bool) -> tuple[Later[Float64], Later[float]]:
        change = backend.change(before)
        return backend.measure() if fit else no_fit, change

    return check


def no_fit() -> Float64:
    """Stand for a fit that was not asked for."""
    return np.zeros(0)
