"""Tiles of the network kernel on a GPU, checked and timed: `python -m benchmarks.network_tiles`.

`snellen.cnn.cuda.layout.TILES` is to begin with the fastest of those that fit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.command import arguments, write
from snellen.bench import clock, runner
from snellen.bench.aplus import plane
from snellen.bench.clock import Line, spread
from snellen.bench.cnn import SIZES, drawn
from snellen.cnn.cuda.layout import RESERVED, Layout, layouts
from snellen.cnn.definition import SIZES as NETWORKS
from snellen.cnn.model import Model
from snellen.errors import SnellenError
from snellen.frames.frame import Format
from snellen.gpu import device as devices

TILES = (
    (8, 8), (16, 8), (16, 16), (32, 16), (64, 16), (32, 24), (32, 32), (48, 32), (64, 32), (32, 64),
)  # fmt: skip
"""Samples across and down."""
WARPS = ((4, 4), (8, 1), (8, 2), (12, 1), (16, 1))
"""Warps of a block, and how many blocks a multiprocessor is to hold at least."""

Say = Callable[[str], None]


def candidates(model: Model, source: Format, limit: int) -> Iterator[Layout]:
    """Yield the layouts that fit into so many bytes of shared memory of a block."""
    usual = layouts(model, source)[0]
    for tile, (warps, blocks) in product(TILES, WARPS):
        found = replace(usual, tile=tile, warps=warps, blocks=blocks)
        if found.shared <= limit and blocks * (found.shared + RESERVED) <= limit + RESERVED:
            yield found


def measure(device: str, quick: bool, repeats: int, say: Say) -> list[dict[str, Any]]:
    """Return a row for each network and size."""
    cases = list(product(NETWORKS, SIZES[:1] if quick else SIZES))
    with devices.using(device), clock.stream(device):
        return [row(network, *size, repeats, say) for network, size in cases]


def row(
    network: str, scale: int, width: int, height: int, repeats: int, say: Say
) -> dict[str, Any]:
    """Return the times of all tiles for one network and size.

    Raises
    ------
    SnellenError
        Their results differ.
    """
    import cupy

    from snellen.cnn.cuda.luma import Luma

    model, source = drawn(network, scale), Format(width, height)
    target, there = source.scaled(scale), cupy.asarray(plane(width, height))
    limit = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    # All of them are made first: they compile side by side.
    stages = [Luma(model, source, target, layout=one) for one in candidates(model, source, limit)]
    usual = Luma(model, source, target)
    wanted, out = (cupy.empty(target.shapes[0], target.dtype) for _ in range(2))
    usual(there, wanted)
    for stage in stages:
        out.fill(0)
        stage(there, out)
        if not (out == wanted).all():
            raise SnellenError(f"{stage.layout}: other bytes than those of {usual.layout}")
    lines = {
        str(number): Line(lambda stage=stage: stage(there, out))
        for number, stage in enumerate([usual, *stages])
    }
    taken = clock.in_rounds(lines, 4 * repeats, clock.events())
    found = []
    for stage, times in zip([usual, *stages], taken.values(), strict=True):
        used = stage.kernel.attributes()
        found.append({
            "tile": stage.layout.tile, "warps": stage.layout.warps, "usual": stage is usual,
            "shared": stage.layout.shared, "registers": used.registers, "local": used.local,
            "ms": spread(times),
        })  # fmt: skip
    say(f"  {network}, {width}×{height} ×{scale}")
    for one in sorted(found, key=lambda one: one["ms"]["median"]):
        say(f"    {one['tile']}, {one['warps']} warps{', usual' if one['usual'] else ''}: "
            f"{one['ms']['median']:.4f} ms; {one['registers']} registers, {one['local']} bytes "
            f"spilled, {one['shared']} shared")  # fmt: skip
    return {"network": network, "size": f"{width}×{height} ×{scale}", "tiles": found}


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    report = runner.header("cnn", device, given.repeats, given.quick, print)
    report["tiles"] = measure(device, given.quick, given.repeats, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
