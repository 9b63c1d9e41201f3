"""Planes in main memory on their way to the samples of a pair, beside the work on other streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.engine.several import evenly
from snellen.gpu.pages import pinned

STRIP = 2 << 20
"""Bytes from which on another thread pays for the copy to page-locked memory."""
MOST = 4  # threads of a copy: together they reach what a processor's memory gives
UP = 1  # cudaMemcpyHostToDevice


class Upload:
    """Copies planes to an array on the current GPU through page-locked memory.

    Parameters
    ----------
    samples : (2, H, W) CuPy array
        The reference's samples, and the distorted picture's.
    """

    def __init__(self, samples: Any):
        import cupy

        self._samples = samples
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._staged = [pinned(samples.shape[1:], samples.dtype) for _ in range(2)]
        self._arrived = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]
        count = min(MOST, threads.available(), max(1, samples[0].nbytes // STRIP))
        self._strips = [slice(s.start, s.stop) for s in evenly(samples.shape[1], count)]
        self._pool = Pool(count) if count > 1 else None

    def __call__(self, number: int, plane: Any, free: Any) -> Any:
        """Copy a plane (H, W) to samples[number]; return the event of its arrival.

        The plane is read when this returns. After the event `free`, nobody reads the samples of
        before.
        """
        from cupy.cuda.runtime import memcpyAsync

        arrived, staged, there = self._arrived[number], self._staged[number], self._samples[number]
        arrived.synchronize()  # page-locked memory is read until then

        def copy(strip: slice) -> None:
            with np.errstate(all="ignore"):  # which a thread does not inherit
                np.copyto(staged[strip], plane[strip])

        list((self._pool.map if self._pool else map)(copy, self._strips))
        self._stream.wait_event(free)
        memcpyAsync(there.data.ptr, staged.ctypes.data, staged.nbytes, UP, self._stream.ptr)
        arrived.record(self._stream)
        return arrived

    def close(self) -> None:
        """Wait for copies, and end the threads."""
        self._stream.synchronize()
        if self._pool:
            self._pool.shutdown()
