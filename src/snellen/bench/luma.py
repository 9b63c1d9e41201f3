"""One luma plane of 8 bits that a method enlarges: windows of it are compared with float64."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from snellen.bench.inputs import plane
from snellen.bench.runner import Case, Figures, Kernel
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Plane
from snellen.gpu import graph
from snellen.upscaling.image import upscale
from snellen.upscaling.methods import LumaOnGpu, Model

WINDOW = 64
"""Side of the windows of the input that are compared with float64."""


class Enlargement(Case):
    """One model and input size.

    Parameters
    ----------
    width, height : int
        Of the input.
    reach : int
        Pixels of the input at a cut of a window that depend on what was cut off.
    """

    def __init__(self, model: Model, width: int, height: int, kind: str, reach: int):
        super().__init__(f"{width}×{height} ×{model.scale}", kind)
        self.scale, self.width, self.height, self.reach = model.scale, width, height, reach
        self.source = Format(width, height)
        self.target = self.source.scaled(self.scale)
        self.model: Any = model

    @abstractmethod
    def exact(self, low: Plane) -> Any:
        """Return a window of the input enlarged in float64, neither rounded nor clipped."""

    @abstractmethod
    def differing(self, found: Plane, wanted: Plane) -> float:
        """Return the share of pixels that differ; SnellenError: they are too many."""

    @cached_property
    def on_cpu(self) -> Plane:
        """The result of the CPU backend."""
        with self.open("cpu") as kernel:
            kernel.run()
            found: Plane = kernel.result()
            return found

    def check(self, result: Plane, device: str) -> Figures:
        """Compare windows with float64 and, on a GPU, the whole with the CPU."""
        low, shape = plane(self.width, self.height), self.target.shapes[0]
        if result.shape != shape or result.dtype != low.dtype:
            raise SnellenError(
                f"got {result.shape} of {result.dtype}; expected {shape} of {low.dtype}"
            )
        ends = [max(0, side - WINDOW) for side in low.shape]
        corners = [(0, 0), (ends[0] // 2, ends[1] // 2), (ends[0], ends[1])]
        found = [self._window(result, low, *corner) for corner in corners]
        figures: Figures = {"pixels": result.size, "float64": max(found)}
        if device != "cpu":
            figures["cpu"] = self.differing(result, self.on_cpu)
        return figures

    def call(self, device: str) -> Callable[[], Any]:
        """Return the call of `snellen.upscale`."""
        low = plane(self.width, self.height)
        return lambda: upscale(low, self.scale, self.model, device=device)

    def captured(self, luma: LumaOnGpu) -> Kernel:
        """Return the kernel of what enlarges the plane on the current GPU, as a CUDA graph."""
        import cupy

        there = cupy.asarray(plane(self.width, self.height))
        out = cupy.zeros(self.target.shapes[0], self.target.dtype)

        def work() -> None:
            luma(there, out)

        work()  # kernels are loaded before they are captured
        run = graph.capture(work)
        out.fill(0)
        return Kernel(run, out.get, facts={"graph": run is not work})

    def _window(self, result: Plane, low: Plane, top: int, left: int) -> float:
        """Return the share of pixels of one window that differ from float64."""
        bottom, right = min(top + WINDOW, self.height), min(left + WINDOW, self.width)
        exact = self.exact(low[top:bottom, left:right])
        wanted = np.rint(exact).clip(0, 255).astype(np.uint8)
        # What is cut off is missing in the window alone: its pixels are left out.
        cut = (top > 0, left > 0, bottom < self.height, right < self.width)
        first, second, third, fourth = (self.reach * side * self.scale for side in cut)
        inner = np.s_[first : len(wanted) - third, second : wanted.shape[1] - fourth]
        s = self.scale
        part = result[top * s : bottom * s, left * s : right * s]
        return self.differing(part[inner], wanted[inner])
