"""The search of a PSF on a GPU, level by level of the pyramid (level.py), by graphs.

The PSF comes to main memory once a level, to grow for the next one. Most kernels are small, so that
several searches, each on a stream of its own, run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.gpu.graph import synchronize
from snellen.gpu.memory import lasting
from snellen.mia.l0.cuda.buffers import Buffers
from snellen.mia.l0.cuda.level import OnLevel, Picture, kernels
from snellen.mia.l0.pyramid import grow, levels

Float64 = npt.NDArray[np.float64]
Steps = Generator[None, None, Float64]
"""The generator of a search, which returns its PSF."""


class Search:
    """The search of the PSF of pictures of one shape and one blur, on one GPU.

    Parameters
    ----------
    device : str
        "cuda:N"; it is current where `run` is called.
    shape : (int, int)
        Rows and columns.
    count : int
        Pictures.
    side : int
        Side of the PSF, odd.

    Raises
    ------
    DeviceError
        The memory of the GPU does not suffice, or CUDA reports an error.
    """

    def __init__(self, device: str, shape: tuple[int, int], count: int, side: int):
        import cupy

        self._device, self.levels = device, levels(shape, side)
        with devices.using(device):
            named = {kernel.name: kernel for kernel in kernels()}
            with lasting():
                self._at = Buffers(self.levels, count)
                self._on = [OnLevel(one, shape, count, self._at, named) for one in self.levels]
                blank = [Picture(cupy.zeros(shape), 1.0)] * count
            self._stream = cupy.cuda.Stream(non_blocking=True)
            with self._stream:
                for level in self._on:
                    level.record(blank)
                self._stream.synchronize()

    def run(self, *given: Any) -> Float64:
        """Return the PSF (side, side), in main memory, not centred: `begin`, to its end."""
        return together([self.begin(*given)])[0]

    def begin(
        self, pictures: Sequence[Any], exposure: float, psf: Float64,
        weights: Sequence[Sequence[float]], report: Callable[[int], object],
    ) -> Steps:  # fmt: skip
        """Return the steps to a PSF (side, side), in main memory, not centred.

        Each queues the work of a level, after it has waited for the level before.

        Parameters
        ----------
        pictures : sequence of (rows, columns) CuPy arrays
            Floats on the current GPU. They are only read.
        exposure : float
            Their samples are divided by it.
        psf : (K, K) float64
            The first PSF, of the coarsest level, in main memory.
        weights : sequence of sequences of float
            λ of each iteration at each level, the coarsest first.
        report : callable
            Called after each level with the number of iterations at it.
        """
        import cupy

        given = [Picture(picture, exposure) for picture in pictures]
        ready = cupy.cuda.Event(disable_timing=True)
        ready.record(cupy.cuda.get_current_stream())
        self._stream.wait_event(ready)
        for number, (level, each) in enumerate(zip(self._on, weights, strict=True)):
            with self._stream:
                level.start(given, grow(psf, level.side) if number else psf)
                for weight in each:
                    level.refine(weight)
            yield
            with self._stream:
                psf = level.psf()
            report(len(each))
        return psf

    def close(self) -> None:
        """Wait for the GPU and drop all arrays."""
        with devices.using(self._device):
            synchronize()
            for level in self._on:
                level.close()
            del self._on, self._at


def together(searches: Sequence[Steps]) -> list[Float64]:
    """Take the steps of several searches in turn; return what each of them has found.

    While stages are timed, one search follows the other.
    """
    found: dict[int, Float64] = {}
    try:
        while len(found) < len(searches):
            for number, steps in enumerate(searches):
                while number not in found:
                    try:
                        next(steps)
                    except StopIteration as end:
                        found[number] = end.value
                    if not profile.active():
                        break
    finally:
        for steps in searches:
            steps.close()
    return [found[number] for number in range(len(searches))]
