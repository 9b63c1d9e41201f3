"""A check of the progress on a GPU as one CUDA graph: else it is a dozen launches by the host."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy.typing as npt

from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.gpu.graph import record
from snellen.gpu.memory import lasting
from snellen.gpu.pages import pinned
from snellen.gpu.reserved import Reserved
from snellen.mia import backend
from snellen.mia.backend import Float64, Later
from snellen.mia.cuda.change import greatest

T = TypeVar("T")
Array = npt.NDArray[Any]

FEW = 1 << 20
"""Samples on their periods of a batch up to which launches take longer than the kernels, about. A
graph keeps the memory of its temporary arrays, so larger batches have none."""


class Checked(backend.Backend):
    """The part of a backend on a GPU that says how its pictures change, and what they explain.

    Parameters
    ----------
    device : str
        "cuda:N".
    dtype : str
        "float32" or "float64", of the estimates.
    frames : int
        M frames of each picture.
    """

    def __init__(self, device: str, dtype: str, frames: int):
        self._device, self._dtype, self._frames = device, dtype, frames
        self._check = Check(device)

    def change_on_gpu(self, before: Any) -> Any:
        """Queue the comparison with `before`, which becomes a copy; return its sums by picture."""
        raise NotImplementedError

    def fit_on_gpu(self) -> Any:
        """Queue the data fidelity; return a CuPy array for `_fitted`."""
        raise NotImplementedError

    def fit(self) -> Float64:
        """Return the data fidelity of each picture, (B,) float64; see `Restored.fit`."""
        return self.measure()()

    def measure(self) -> Later[Float64]:
        """Begin the same; return a function that waits for it."""
        with devices.on(self._device):
            return self._later(fetched(self.fit_on_gpu()), self._fitted)

    def change(self, before: Any) -> Later[float]:
        """Compare the pictures with `before`, which becomes a copy: `backend.Backend.change`."""
        with devices.on(self._device):
            return self._later(fetched(self.change_on_gpu(before)), self._greatest)

    def checks(self) -> backend.Check:
        """Return the check of the progress: of few samples as a graph."""
        if not few(self.estimate, self._frames):
            return backend.one_by_one(self)
        check = self._check
        with devices.on(self._device):
            check.begin(self)

        def both(fit: bool) -> tuple[Later[Float64], Later[float]]:
            with devices.on(self._device):
                if not fit:
                    return backend.no_fit, self._later(check.change(self), self._greatest)
                change, found = check(self)
            return self._later(found, self._fitted), self._later(change, self._greatest)

        return both

    def _fitted(self, found: Float64) -> Float64:
        """Return the data fidelity (B,) from what `fit_on_gpu` has returned."""
        raise NotImplementedError

    def _greatest(self, sums: Float64) -> float:
        return greatest(sums, self._dtype)

    def _later(self, found: Later[Float64], made: Callable[[Float64], T]) -> Later[T]:
        """Return a function that waits for numbers, and returns what is made of them."""

        def result() -> T:
            with devices.on(self._device):
                return made(found())

        return result


class Check:
    """Compares estimates with those of the check before, and computes the data fidelity.

    The first check launches kernel by kernel, as a graph cannot load them, the second one becomes
    a graph. Where nothing can be captured, or stages are timed, each is launched so.

    Parameters
    ----------
    device : str
        "cuda:N".
    """

    def __init__(self, device: str):
        self._device = device
        self._reserved: Reserved | None = None
        self._before: Any = None
        self._there: tuple[Any, Any] | None = None  # what the graph fills
        self._launch: Callable[[], None] | None = None
        self._checks = 0
        self._down: Any = None  # the stream of copies, beside which iterations go on
        self._copied: Any = None

    def begin(self, of: Checked) -> None:
        """Keep a copy of the estimates of a backend, on CuPy's current stream."""
        import cupy

        if self._before is None:
            with lasting():
                self._before = cupy.empty(of.estimate.shape, of.estimate.dtype)
        of.change_on_gpu(self._before)

    def change(self, of: Checked) -> Later[Array]:
        """Queue the comparison alone; return a function that waits for what it returns."""
        return fetched(of.change_on_gpu(self._before))

    def __call__(self, of: Checked) -> tuple[Later[Array], Later[Array]]:
        """Queue both; return functions that wait for the comparison and for the data fidelity."""
        import cupy

        if self._checks == 1:
            self._capture(of)
        self._checks += 1
        current = cupy.cuda.get_current_stream()
        if self._copied is not None:
            current.wait_event(self._copied)
        if self._launch is None or profile.active():
            change, fit = self._both(of)
        else:
            assert self._there is not None
            self._launch()
            change, fit = self._there
        if self._down is None:
            self._down = cupy.cuda.Stream(non_blocking=True)
        made = cupy.cuda.Event(disable_timing=True)
        made.record(current)
        self._down.wait_event(made)
        with self._down:
            later = fetched(change), fetched(fit)
            self._copied = cupy.cuda.Event(disable_timing=True)
            self._copied.record(self._down)
        return later

    def close(self) -> None:
        """Give the memory back; the GPU has done all work."""
        self._launch = self._there = self._before = self._copied = None
        if self._reserved:
            self._reserved.close()

    def _both(self, of: Checked) -> tuple[Any, Any]:
        return of.change_on_gpu(self._before), of.fit_on_gpu()

    def _capture(self, of: Checked) -> None:
        """Capture a check on a stream of its own, as the current one may be the default."""
        import cupy

        self._reserved = reserved = Reserved(self._device)

        def work() -> None:
            with reserved.allocating():
                self._there = self._both(of)

        try:
            with cupy.cuda.Stream(non_blocking=True):
                self._launch = record(work)
        except (RuntimeError, MemoryError):  # CUDA's and ours; a capture cannot wait for memory
            self._there = None
            reserved.close()


def few(estimates: Any, frames: int) -> bool:
    """Return whether a batch of estimates (B, H, W), of so many frames each, is small."""
    return bool(prod(estimates.shape) * frames <= FEW)


def fetched(there: Any) -> Later[Array]:
    """Queue the copy of a CuPy array to main memory; return a function that waits for it.

    So the copies of many checks are done beside the iterations, and not one by one after them.
    """
    import cupy

    here, arrived = pinned(there.shape, there.dtype), cupy.cuda.Event(disable_timing=True)
    there.data.copy_to_host_async(here.ctypes.data, here.nbytes)
    arrived.record(cupy.cuda.get_current_stream())
    held: list[Any] = [there]

    def result() -> Array:
        arrived.synchronize()
        held.clear()
        return here

    return result
