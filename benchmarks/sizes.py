"""Random A+ models of many sizes on a GPU, checked and timed: `python -m benchmarks.sizes`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.command import arguments, write
from snellen.aplus.differences import FILTERS
from snellen.aplus.model import Model
from snellen.aplus.training import WINDOW
from snellen.bench import clock, runner
from snellen.bench.aplus import DIFFERING
from snellen.bench.clock import Line, spread
from snellen.bench.inputs import plane
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.upscaling.upscaler import Upscaler

DIMS = (16, 28, 48, 96)
ANCHORS = (256, 1024, 4096, 8192)
SIZES = (
    *((dims, 1024) for dims in DIMS),
    *((28, anchors) for anchors in ANCHORS if anchors != 1024),
    (16, 256),
    (96, 8192),
)
"""(dimensions, anchors): each alone, and both ends."""
SMALL, LARGE = (240, 135), (1920, 1080)

Say = Callable[[str], None]


def random_model(scale: int, anchors: int, dims: int) -> Model:
    """Return a model that is random, but shaped and scaled as a learnt one."""
    random = np.random.default_rng([scale, anchors, dims])
    patch = (WINDOW * scale) ** 2
    basis, _ = np.linalg.qr(random.normal(size=(FILTERS * patch, dims)))
    directions = random.normal(size=(anchors, dims))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    projections = random.standard_normal((anchors, patch, dims), np.float32)
    projections *= np.float32(0.3 / np.sqrt(dims))  # learnt rows have norms of 0.2 to 0.5
    return Model(
        scale, WINDOW, directions.astype(np.float32), basis.astype(np.float32),
        projections.astype(np.float16),
    )  # fmt: skip


def measure(device: str, repeats: int, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Return the milliseconds of a 1080p plane for each size of model."""
    rows = []
    for dims, anchors in SIZES[-2:] if quick else SIZES:
        model = random_model(2, anchors, dims)
        share = check(model, device)
        with devices.using(device):
            taken = spread(times(model, device, max(3, repeats)))
        say(f"  {dims:3} dimensions, {anchors:5} anchors: {taken['median']:8.3f} ms")
        rows.append({"dims": dims, "anchors": anchors, "ms": taken, "differing": share})
    return rows


def check(model: Model, device: str) -> float:
    """Return the share of pixels that differ between GPU and CPU on a small plane.

    Raises
    ------
    SnellenError
        Too many.
    """
    found = []
    for one in (device, "cpu"):
        with Upscaler(2, model, one) as upscaler:
            upscaler.prepare(Format(*SMALL))
            found.append(np.array(upscaler.run(Frame((plane(*SMALL),))).planes[0]))
    differing = (found[0] != found[1]).sum()
    if differing > max((2 * model.window) ** 2, DIFFERING * found[0].size):
        raise SnellenError(f"{differing} of {found[0].size} pixels differ from the CPU's")
    return float(differing / found[0].size)


def times(model: Model, device: str, rounds: int) -> list[float]:
    """Return milliseconds of each round on the current GPU."""
    import cupy

    from snellen.aplus.cuda.luma import Luma

    source = Format(*LARGE)
    target = source.scaled(model.scale)
    with clock.stream(device):
        luma, there = Luma(model, source, target), cupy.asarray(plane(*LARGE))
        out = cupy.empty((target.height, target.width), target.dtype)
        line = Line(lambda: luma(there, out))
        return clock.in_rounds({"": line}, rounds, clock.events())[""]


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    report = runner.header("aplus", device, given.repeats, given.quick, print)
    report["sizes"] = measure(device, given.repeats, given.quick, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
