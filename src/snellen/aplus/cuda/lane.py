"""A lane: one frame on its way from main memory through the GPU and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.frames.frame import Format, Plane
from snellen.gpu.memory import pinned


class Lane:
    """Room for one frame at a time on the current GPU.

    Parameters
    ----------
    source, target : Format
        Of what comes and of what goes.
    count : int
        How many of a frame's planes take this way: the first, or all.

    Attributes
    ----------
    planes, out : tuple of CuPy arrays
        The frame and its result on the GPU.
    arrived, made, done : cupy.cuda.Event
        The frame is on the GPU; its result is there; its result is in main memory. Who waits for
        `done` sleeps.
    graph : cupy.cuda.graph.Graph or None
        What leads from `planes` to `out`, recorded.
    """

    def __init__(self, source: Format, target: Format, count: int):
        import cupy

        self._staged = [pinned(shape, source.dtype) for shape in source.shapes[:count]]
        self.planes = tuple(cupy.zeros(shape, source.dtype) for shape in source.shapes[:count])
        self.out = tuple(cupy.empty(shape, target.dtype) for shape in target.shapes[:count])
        self.arrived, self.made = (cupy.cuda.Event(disable_timing=True) for _ in range(2))
        self.done = cupy.cuda.Event(block=True, disable_timing=True)
        self.graph: Any = None
        self._copy = cupy.cuda.runtime.memcpyAsync
        self._up = cupy.cuda.runtime.memcpyHostToDevice
        self._down = cupy.cuda.runtime.memcpyDeviceToHost

    def stage(self, planes: tuple[Plane, ...]) -> None:
        """Copy a frame into page-locked memory, its rows end to end: from there it can be sent."""
        for plane, staged in zip(planes, self._staged, strict=False):
            np.copyto(staged, plane)

    def upload(self, stream: Any) -> None:
        """Let a stream send what is staged to `planes`."""
        for plane, staged in zip(self.planes, self._staged, strict=True):
            self._copy(plane.data.ptr, staged.ctypes.data, plane.nbytes, self._up, stream.ptr)
        self.arrived.record(stream)

    def download(self, out: tuple[Plane, ...], stream: Any) -> None:
        """Let a stream send the result, once it is made, to page-locked planes."""
        stream.wait_event(self.made)
        for plane, large in zip(self.out, out, strict=False):
            self._copy(large.ctypes.data, plane.data.ptr, plane.nbytes, self._down, stream.ptr)
        self.done.record(stream)
