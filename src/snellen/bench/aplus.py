"""A+: one luma plane of 8 bits, all seven steps, by the models of 2014 or by others.

Where two anchors tie within float32 rounding either is right, and the pixels of that patch may
differ: of 54.7 million patches, 42 did (docs/aplus.md). So a small share of pixels may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from snellen.aplus.model import Model
from snellen.bench.inputs import codes, picture
from snellen.bench.reference import aplus as reference
from snellen.bench.runner import Case, Figures, Kernel
from snellen.errors import ModelError, SnellenError, quoted
from snellen.frames.frame import Format, Frame, Plane
from snellen.gpu import graph
from snellen.upscaling.image import upscale
from snellen.upscaling.models import load, named
from snellen.upscaling.shipped import OF_2014
from snellen.upscaling.upscaler import Upscaler

SIZES = (
    (2, 1920, 1080), (3, 1280, 720), (4, 960, 540), (2, 3840, 2160), (2, 1280, 720), (2, 960, 540)
)  # fmt: skip
"""Scale, width and height of the input."""
DIFFERING = 1e-4
"""Share of pixels that may differ: ten times what the ties above touch, nine patches a pixel."""
WINDOW = 64
"""Side of the windows of the input that are compared with float64."""
REACH = 8
"""Pixels of the input at a cut of a window that depend on what was cut off: patch, differences and
bicubic reach 6."""


def cases(device: str, quick: bool, models: Sequence[str] = ()) -> list[Case]:
    """Return what is measured.

    Parameters
    ----------
    device : str
    quick : bool
    models : sequence of str
        Names or files of models to measure instead of those of 2014, each at sizes of its scale.
    """
    most = 4 if device == "cpu" else len(SIZES)
    if not models:
        count = (1 if device == "cpu" else 3) if quick else most
        return [Upscale(*size) for size in SIZES[:count]]
    found: list[Case] = []
    for name in models:
        given = of_aplus(named(name), name)
        sizes = [size for size in SIZES[:most] if size[0] == given.scale]
        found += [Upscale(*size, name) for size in sizes[: 1 if quick else None]]
    return found


class Upscale(Case):
    """One input size.

    Parameters
    ----------
    scale, width, height : int
    model : str, optional
        Name or file of the model; None: that of 2014.
    """

    def __init__(self, scale: int, width: int, height: int, model: str | None = None):
        super().__init__(f"{width}×{height} ×{scale}", Path(model).stem if model else "luma")
        self.scale, self.width, self.height = scale, width, height
        self.model = of_aplus(load(model or OF_2014.format(scale), scale), model)

    def check(self, result: Plane, device: str) -> Figures:
        """Compare windows with float64 and, on a GPU, the whole with the CPU."""
        low = plane(self.width, self.height)
        shape = tuple(self.scale * side for side in low.shape)
        if result.shape != shape or result.dtype != low.dtype:
            raise SnellenError(
                f"got {result.shape} of {result.dtype}; expected {shape} of {low.dtype}"
            )
        found = [self._window(result, low, *corner) for corner in self._corners()]
        figures: Figures = {"pixels": result.size, "float64": max(found)}
        if device != "cpu":
            figures["cpu"] = self._differing(result, on_cpu(self.model, self.width, self.height))
        return figures

    def call(self, device: str) -> Callable[[], Any]:
        """Return the call of `snellen.upscale`."""
        low = plane(self.width, self.height)
        return lambda: upscale(low, self.scale, self.model, device=device)

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the plane."""
        low, source = plane(self.width, self.height), Format(self.width, self.height)
        if device == "cpu":
            with Upscaler(self.scale, self.model, device="cpu") as upscaler:
                upscaler.prepare(source)
                frame = Frame((low,))
                yield Kernel(
                    lambda: upscaler.run(frame), lambda: upscaler.run(frame).planes[0]
                )  # fmt: skip
            return
        import cupy

        from snellen.aplus.cuda.luma import Luma

        target = source.scaled(self.scale)
        luma, there = Luma(self.model, source, target), cupy.asarray(low)
        out = cupy.zeros((target.height, target.width), target.dtype)

        def work() -> None:
            luma(there, out)

        work()  # kernels are loaded before they are captured
        run = graph.capture(work)
        out.fill(0)
        yield Kernel(run, out.get, facts={"graph": run is not work})

    def _corners(self) -> list[tuple[int, int]]:
        """Return the first row and column of each window: top left, middle, bottom right."""
        ends = [max(0, side - WINDOW) for side in (self.height, self.width)]
        return [(0, 0), (ends[0] // 2, ends[1] // 2), (ends[0], ends[1])]

    def _window(self, result: Plane, low: Plane, top: int, left: int) -> float:
        """Return the share of pixels of one window that differ from float64."""
        bottom, right = min(top + WINDOW, self.height), min(left + WINDOW, self.width)
        exact = reference.bordered(low[top:bottom, left:right], self.model, white=255)
        wanted = np.rint(exact).clip(0, 255).astype(np.uint8)
        # What is cut off is missing in the window alone: its pixels are left out.
        cut = (top > 0, left > 0, bottom < self.height, right < self.width)
        first, second, third, fourth = (REACH * side * self.scale for side in cut)
        inner = np.s_[first : len(wanted) - third, second : wanted.shape[1] - fourth]
        s = self.scale
        return self._differing(result[top * s : bottom * s, left * s : right * s][inner],
                               wanted[inner])  # fmt: skip

    def _differing(self, found: Plane, wanted: Plane) -> float:
        """Return the share of pixels that differ; SnellenError: ties do not explain so many."""
        count = int((found != wanted).sum())
        patch = (self.model.window * self.scale) ** 2
        if count > max(patch, DIFFERING * found.size):
            raise SnellenError(f"{count} of {found.size} pixels differ from the reference")
        return count / found.size


def of_aplus(model: object, name: str | None) -> Model:
    """Return a model.

    Raises
    ------
    ModelError
        It is of another method.
    """
    if not isinstance(model, Model):
        raise ModelError(f"`model`={quoted(name)} is not a model of A+", parameter="model")
    return model


@cache
def plane(width: int, height: int) -> Plane:
    """Return the input, 8-bit codes (height, width)."""
    return codes(picture(width, height), 8).astype(np.uint8, copy=False)


@cache
def on_cpu(model: Model, width: int, height: int) -> Plane:
    """Return the result of the CPU backend."""
    with Upscaler(model.scale, model, device="cpu") as upscaler:
        upscaler.prepare(Format(width, height))
        found: Plane = upscaler.run(Frame((plane(width, height),))).planes[0]
        return found
