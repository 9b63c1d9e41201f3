"""The buffers of one frame in flight on a GPU: see `engine`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.gpu.pages import pinned

Arrays = tuple[Any, ...]
"""NumPy or CuPy arrays."""

Kind = tuple[tuple[int, ...], npt.DTypeLike]
"""Shape and type of an array."""

LARGE = 1 << 20  # bytes of an array from which on it is uploaded as it is, see `Slot.send`


class Flight:
    """The arrays that the GPU reads and writes for a frame, held until the host has seen `done`."""

    inputs: Arrays
    outputs: Arrays

    def __init__(self, inputs: Arrays, outputs: Arrays, sleeps: bool):
        import cupy

        self.inputs = tuple(array for array in inputs if not isinstance(array, np.ndarray))
        self.outputs = outputs
        # Who waits for it sleeps; waking takes 0.05 ms, as much as a copy of 2 MB.
        self.done = cupy.cuda.Event(block=sleeps, disable_timing=True)

    def release(self) -> None:
        """Drop the arrays."""
        self.inputs = self.outputs = ()


class Slot:
    """Buffers for one frame at a time on the current GPU."""

    def __init__(self, inputs: Sequence[Kind], outputs: Sequence[Kind], staged: int | None = None):
        import cupy

        self._staged = [pinned(*kind) for kind in inputs[:staged]]
        self.inputs = tuple(cupy.zeros(*kind) for kind in inputs)
        self.outputs = tuple(cupy.empty(*kind) for kind in outputs)
        self.arrived, self.made = (cupy.cuda.Event(disable_timing=True) for _ in range(2))
        self.launch: Callable[[], object] = nothing
        self.flight: Flight | None = None

    def vacate(self) -> None:
        """Wait until the frame before has left the GPU, and drop its arrays."""
        if self.flight:
            self.flight.done.synchronize()
            self.flight = None

    def check(self, inputs: Arrays, ordinal: int) -> None:
        """Refuse (InputError) a frame of other shapes, or on another GPU."""
        for number, (array, there) in enumerate(zip(inputs, self.inputs, strict=True)):
            if array.shape != there.shape:
                raise InputError(f"got an array of shape {array.shape}; expected {there.shape}")
            if isinstance(array, np.ndarray):
                if number >= len(self._staged):
                    raise InputError(f"got a NumPy array; expected it on cuda:{ordinal}")
            elif array.device.id != ordinal:
                raise InputError(
                    f"got an array on cuda:{array.device.id}; expected it on cuda:{ordinal}"
                )

    def send(self, inputs: Arrays, stream: Any) -> bool:
        """Queue the upload of host memory on a stream; return whether any is the caller's.

        Large arrays are uploaded as they are: CUDA copies ordinary memory through a little
        page-locked memory of its own, which stays in the cache, and uploads one part while it
        copies the next. That takes half as long as a copy to page-locked memory of ours, which the
        others take. Where other inputs are on the GPU, uploads may have to wait for these, and so
        would the caller: then all arrays are copied.
        """
        lent, from_host = False, all(isinstance(array, np.ndarray) for array in inputs)
        for array, staged, there in zip(inputs, self._staged, self.inputs, strict=False):
            if not isinstance(array, np.ndarray):
                continue
            whole = array.dtype == staged.dtype and array.flags.c_contiguous
            if from_host and whole and array.nbytes >= LARGE:
                lent, source = True, array
            else:
                np.copyto(staged, array)
                source = staged
            copy(source.ctypes.data, there.data.ptr, staged.nbytes, UP, stream)
        return lent

    def receive(self, inputs: Arrays, stream: Any) -> None:
        """Queue the copies of arrays that are on the GPU, on a stream, which is current."""
        for array, there in zip(inputs, self.inputs, strict=True):
            if isinstance(array, np.ndarray):
                continue
            if array.dtype == there.dtype and array.flags.c_contiguous:
                copy(array.data.ptr, there.data.ptr, there.nbytes, ON_GPU, stream)
            else:
                there[...] = array


UP, DOWN, ON_GPU = 1, 2, 3  # cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, …DeviceToDevice


def copy(source: int, target: int, size: int, kind: int, stream: Any) -> None:
    """Queue a copy of `size` bytes between two addresses."""
    from cupy.cuda.runtime import memcpyAsync

    memcpyAsync(target, source, size, kind, stream.ptr)


def nothing() -> None:
    """Stand for the work of a slot that is being made."""
