"""Pictures in flight on a GPU: one is uploaded while another is restored and a third comes back.

It serves periods whose iterations are one launch (see `fused`), so that nothing waits for the GPU
from the upload to the download.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.engine import Engine
from snellen.gpu.profile import stage
from snellen.mia import samples
from snellen.mia.cuda.frames import Frames
from snellen.mia.cuda.fused import Backend

Array = npt.NDArray[Any]
Results = tuple[Array, Array, Array]
"""Pictures (B, rows, columns), white being 1, PSFs (B, M, K, K) and the data fidelity (B,)."""


class InFlight:
    """Restores pictures of one shape, several in flight.

    Parameters
    ----------
    device : str
        "cuda:N".
    shape : tuple of int
        (B, M, rows, columns) of a batch of pictures.
    side : int
        K, of the PSFs.
    frames, backend : Frames, Backend
        Both are used by this object alone from `submit` until `settle`.
    start : (B, M, H, W) CuPy array
        The PSFs that each picture starts from, on the period.
    iterations : int
    recentre : bool

    Raises
    ------
    DeviceError
        The GPU's memory does not suffice.
    """

    def __init__(
        self,
        device: str,
        shape: tuple[int, int, int, int],
        side: int,
        frames: Frames,
        backend: Backend,
        start: Any,
        iterations: int,
        recentre: bool,
    ):
        self._frames, self._backend, self._start = frames, backend, start
        self._iterations, self._recentre = iterations, recentre
        batch, count, rows, columns = shape
        results = batch * (rows * columns + count * side**2) + 1
        # Temporary arrays of `_restore` change from call to call, which a graph does not allow.
        self._engine = Engine(
            device,
            inputs=[(shape, np.float32)],
            outputs=[((results,), np.float32), ((batch,), np.float64)],
            work=self._restore,
            slots=backend.slots,
            graphs=False,
        )

    def submit(self, frames: Array, peak: float) -> Callable[[], Results]:
        """Begin a batch of pictures (B, M, rows, columns); return a function that waits for it.

        `peak` is the sample value of white. The function raises InputError where samples are
        negative, not finite or far beyond white.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # refused later
            scaled = np.divide(frames, np.float32(peak), dtype=np.float32, casting="unsafe")
        pending = self._engine.submit((scaled,))

        def result() -> Results:
            results, fit = pending.result()
            samples.refuse(int(results[-1]), peak)
            return *self._frames.views(results), fit.copy()

        return result

    def settle(self) -> None:
        """Wait until nothing is in flight; results that were not asked for stay valid."""
        self._engine.streams.settle()

    def close(self) -> None:
        """Wait for what is in flight, and release the buffers."""
        self._engine.close()

    def _restore(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Queue the restoration of a batch on CuPy's current stream."""
        with stage("place on the period"):
            y, f = self._frames.place(inputs[0], 1.0)
            self._backend.start(y, f, self._start)
        with stage("iterations"):
            self._backend.iterate(self._iterations)
        with stage("data fidelity"):
            outputs[1][...] = self._backend.fit_on_gpu()
        with stage("centre and cut"):
            self._frames.finish(self._backend.estimate, self._backend.psf, self._recentre)
        outputs[0][...] = self._frames.results
