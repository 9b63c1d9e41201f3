"""A+: one luma plane of 8 bits, all seven steps, by the models of 2014 or by others.

Where two anchors tie within float32 rounding either is right, and the pixels of that patch may
differ: of 54.7 million patches, 42 did (docs/aplus.md). So a small share of pixels may differ.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snellen.aplus.model import Model
from snellen.bench.inputs import plane
from snellen.bench.luma import Enlargement
from snellen.bench.reference import aplus as reference
from snellen.bench.runner import Case, Kernel
from snellen.errors import ModelError, SnellenError, quoted
from snellen.frames.frame import Frame, Plane
from snellen.upscaling.models import load, named
from snellen.upscaling.shipped import OF_2014
from snellen.upscaling.upscaler import Upscaler

SIZES = (
    (2, 1920, 1080), (3, 1280, 720), (4, 960, 540), (2, 3840, 2160), (2, 1280, 720), (2, 960, 540)
)  # fmt: skip
"""Scale, width and height of the input."""
DIFFERING = 1e-4
"""Share of pixels that may differ: ten times what the ties above touch, nine patches a pixel."""
REACH = 8
"""Pixels of the input at a cut of a window that depend on what was cut off: patch, differences and
bicubic reach 6."""


def cases(device: str, quick: bool, models: Sequence[str] = ()) -> list[Case]:
    """Return what is measured: of each named model the sizes of its scale, or those of 2014."""
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


class Upscale(Enlargement):
    """One input size, by a model of a name or a file; None: that of 2014."""

    def __init__(self, scale: int, width: int, height: int, model: str | None = None):
        found = of_aplus(load(model or OF_2014.format(scale), scale), model)
        super().__init__(found, width, height, Path(model).stem if model else "luma", REACH)

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the plane."""
        if device != "cpu":
            from snellen.aplus.cuda.luma import Luma

            yield self.captured(Luma(self.model, self.source, self.target))
            return
        with Upscaler(self.scale, self.model, device="cpu") as upscaler:
            upscaler.prepare(self.source)
            frame = Frame((plane(self.width, self.height),))
            done: deque[Frame] = deque(maxlen=1)
            yield Kernel(lambda: done.append(upscaler.run(frame)), lambda: done[-1].planes[0])

    def exact(self, low: Plane) -> Any:
        """Return a window of the input enlarged in float64."""
        return reference.bordered(low, self.model, white=255)

    def differing(self, found: Plane, wanted: Plane) -> float:
        """Return the share of pixels that differ; SnellenError: ties do not explain so many."""
        count = int((found != wanted).sum())
        patch = (self.model.window * self.scale) ** 2
        if count > max(patch, DIFFERING * found.size):
            raise SnellenError(f"{count} of {found.size} pixels differ from the reference")
        return count / found.size


def of_aplus(model: object, name: str | None) -> Model:
    """Return a model (ModelError: it is of another method)."""
    if not isinstance(model, Model):
        raise ModelError(f"`model`={quoted(name)} is not a model of A+", parameter="model")
    return model
