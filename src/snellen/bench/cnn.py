"""Compact networks: one luma plane of 8 bits, the sizes fast and fine.

Their weights are drawn by chance: a time does not depend on them. Results are as small beside the
picture as those of trained networks, so the promise for these is checked: at most a hundredth of
the pixels is off by one from float64, none by more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from snellen.bench.aplus import plane
from snellen.bench.reference import cnn as reference
from snellen.bench.runner import Case, Figures, Kernel
from snellen.cnn.cpu import Luma as OnCpu
from snellen.cnn.definition import SIZES as NETWORKS
from snellen.cnn.definition import radius
from snellen.cnn.model import Model, shapes
from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Plane
from snellen.gpu import graph
from snellen.upscaling.image import upscale

SIZES = ((2, 1920, 1080), (3, 1280, 720), (4, 960, 540))
"""Scale, width and height of the input."""
DIFFERING = 0.01
"""Share of pixels that may be off by one: half-precision activations take 0.1 to 0.2 %."""
WINDOW = 64
"""Side of the windows of the input that are compared with float64."""
SIDE = 5
"""Side of the linear filter."""


def cases(device: str, quick: bool) -> list[Case]:
    """Return what is measured."""
    return [Upscale(name, *size) for name, size in product(NETWORKS, SIZES[: 1 if quick else None])]


class Upscale(Case):
    """One network and input size."""

    def __init__(self, network: str, scale: int, width: int, height: int):
        super().__init__(f"{width}×{height} ×{scale}", network)
        self.network, self.scale, self.width, self.height = network, scale, width, height

    def check(self, result: Plane, device: str) -> Figures:
        """Compare windows with float64 and, on a GPU, the whole with the CPU."""
        low = plane(self.width, self.height)
        shape = tuple(self.scale * side for side in low.shape)
        if result.shape != shape or result.dtype != low.dtype:
            raise SnellenError(
                f"got {result.shape} of {result.dtype}; expected {shape} of {low.dtype}"
            )
        ends = [max(0, side - WINDOW) for side in low.shape]
        corners = [(0, 0), (ends[0] // 2, ends[1] // 2), (ends[0], ends[1])]
        found = [self._window(result, low, *corner) for corner in corners]
        figures: Figures = {"pixels": result.size, "float64": max(found)}
        if device != "cpu":
            figures["cpu"] = differing(
                result, on_cpu(self.network, self.scale, self.width, self.height)
            )
        return figures

    def call(self, device: str) -> Callable[[], Any]:
        """Return the call of `snellen.upscale`."""
        low, model = plane(self.width, self.height), drawn(self.network, self.scale)
        return lambda: upscale(low, self.scale, model, device=device)

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the plane."""
        low, source = plane(self.width, self.height), Format(self.width, self.height)
        model, target = drawn(self.network, self.scale), source.scaled(self.scale)
        if device == "cpu":
            luma, enlarged = OnCpu(model, source, target), np.empty(target.shapes[0], target.dtype)
            with Pool(threads.available()) as pool, single_threaded():
                yield Kernel(
                    lambda: [task.result() for task in luma.tasks(pool, low, enlarged)],
                    lambda: enlarged,
                )
            luma.close()
            return
        import cupy

        from snellen.cnn.cuda.luma import Luma

        stage, there = Luma(model, source, target), cupy.asarray(low)
        out = cupy.zeros(target.shapes[0], target.dtype)

        def work() -> None:
            stage(there, out)

        work()  # kernels are loaded before they are captured
        run = graph.capture(work)
        out.fill(0)
        used = stage.kernel.attributes()
        facts = {"registers": used.registers, "shared": stage.layout.shared}
        yield Kernel(run, out.get, facts={"graph": run is not work, **facts})

    def _window(self, result: Plane, low: Plane, top: int, left: int) -> float:
        """Return the share of pixels of one window that differ from float64."""
        bottom, right = min(top + WINDOW, self.height), min(left + WINDOW, self.width)
        model, s = drawn(self.network, self.scale), self.scale
        exact = reference.upscale(low[top:bottom, left:right].astype(np.float64), model)
        wanted = np.rint(exact).clip(0, 255).astype(np.uint8)
        # What is cut off is missing in the window alone: its pixels are left out.
        reach = radius(model.layers) * s
        cut = (top > 0, left > 0, bottom < self.height, right < self.width)
        first, second, third, fourth = (reach * side for side in cut)
        inner = np.s_[first : len(wanted) - third, second : wanted.shape[1] - fourth]
        part = result[top * s : bottom * s, left * s : right * s]
        return differing(part[inner], wanted[inner])


def differing(found: Plane, wanted: Plane) -> float:
    """Return the share of pixels that are off by one.

    Raises
    ------
    SnellenError
        It is more than half precision explains, or some are off by more.
    """
    off = np.abs(found.astype(np.int16) - wanted)
    share = float((off > 0).mean())
    if off.max() > 1 or share > DIFFERING:
        raise SnellenError(
            f"{share:.1e} of the pixels differ from the reference, by up to {off.max()}; expected "
            f"{DIFFERING:.0e}, by 1"
        )
    return share


@cache
def drawn(network: str | tuple[int, int], scale: int) -> Model:
    """Return a network, by its name or its layers and channels, of weights by chance."""
    size = NETWORKS[network] if isinstance(network, str) else network
    random = np.random.default_rng(scale)
    arrays: dict[str, Any] = {}
    for name, shape in shapes(scale, *size, SIDE).items():
        inputs = np.prod(shape[-3:]) if name in {"body_weight", "last_weight"} else 9
        wide = 0.2 if "bias" in name else inputs**-0.5
        values = random.normal(0, wide, shape)
        if "slope" in name:
            values = random.uniform(0.1, 0.3, shape)
        arrays[name] = values * (0.05 if "last" in name or name == "skip" else 1)
    return Model(scale, **{name: array.astype(np.float16) for name, array in arrays.items()})


@cache
def on_cpu(network: str, scale: int, width: int, height: int) -> Plane:
    """Return the result of the CPU backend."""
    with Upscale(network, scale, width, height).open("cpu") as kernel:
        kernel.run()
        found: Plane = kernel.result()
        return found
