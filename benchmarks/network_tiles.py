"""Tiles of the network kernel on a GPU, checked and timed: `python -m benchmarks.network_tiles`.

`snellen.cnn.cuda.layout.TILES` is to begin with the fastest of those that fit, and WARPGROUP_TILES
with those of warpgroups. Networks have the sizes of the package, or those that are given: `6x32` is
6 layers of 32 channels. With `--known` only tiles of these two and of KNOWN are tried.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from benchmarks.command import arguments, write
from snellen.bench import clock, runner
from snellen.bench.clock import Line, spread
from snellen.bench.cnn import DIFFERING, SIZES, drawn
from snellen.bench.inputs import plane
from snellen.cnn.cuda.layout import WARPGROUP_ARCH, Layout, layouts, takes_warpgroups
from snellen.cnn.definition import SIZES as NETWORKS
from snellen.cnn.model import Model
from snellen.frames.frame import Format
from snellen.gpu import device as devices

TILES = (
    (8, 8), (16, 8), (16, 16), (32, 16), (64, 16), (32, 24), (32, 32), (48, 32), (64, 32), (32, 64),
)  # fmt: skip
"""Samples across and down."""
WARPS = ((4, 4), (8, 1), (8, 2), (12, 1), (16, 1))
"""Warps of a block, and how many blocks a multiprocessor is to hold at least."""

KNOWN = ((40, 20), (34, 24), (32, 24), (30, 24), (32, 20), (26, 24), (32, 16))
"""Tiles for warpgroups whose sums fill whole rounds of 64 samples."""

Say = Callable[[str], None]


def candidates(
    model: Model, source: Format, limit: int, arch: str = "", known: bool = False
) -> Iterator[Layout]:
    """Yield the layouts that fit into so many bytes of shared memory of a block."""
    usual = layouts(model, source)[0]
    for tile, (warps, blocks) in product(() if known else TILES, WARPS):
        found = replace(usual, tile=tile, warps=warps, blocks=blocks)
        if found.fits(limit):
            yield found
    for found in layouts(model, source) if known else ():
        if found.fits(limit):
            yield found
    if arch == WARPGROUP_ARCH and takes_warpgroups(model):
        for tile, warps in product(KNOWN, (8, 12, 16)):
            found = replace(usual, tile=tile, warps=warps, blocks=1, warpgroups=True)
            if found.fits(limit):
                yield found


def network(text: str) -> tuple[int, int]:
    """Return layers and channels of a network, as 6x32."""
    layers, channels = map(int, text.split("x"))
    return layers, channels


def measure(
    device: str,
    sizes: list[tuple[int, int]],
    quick: bool,
    known: bool,
    repeats: int,
    say: Say,
) -> list[dict[str, Any]]:
    """Return a row for each network and size."""
    cases = list(product(sizes, SIZES[:1] if quick else SIZES))
    with devices.using(device), clock.stream(device):
        return [row(network, *size, known, repeats, say) for network, size in cases]


def row(
    network: tuple[int, int],
    scale: int,
    width: int,
    height: int,
    known: bool,
    repeats: int,
    say: Say,
) -> dict[str, Any]:
    """Return the times of all tiles for one network and size, and which of them are wrong."""
    import cupy

    from snellen.cnn.cuda.luma import Luma

    model, source = drawn(network, scale), Format(width, height)
    target, there = source.scaled(scale), cupy.asarray(plane(width, height))
    here = cupy.cuda.Device()
    limit = int(here.attributes["MaxSharedMemoryPerBlockOptin"])
    tried = candidates(model, source, limit, f"sm_{here.compute_capability}", known)
    # All of them are made first: they compile side by side.
    stages = [Luma(model, source, target, layout=one) for one in tried]
    usual = Luma(model, source, target)
    out = cupy.empty(target.shapes[0], target.dtype)
    wanted: dict[bool, Any] = {}  # by whether warpgroups compute it
    wrong = []
    for stage in [usual, *stages]:
        out.fill(0)
        stage(there, out)
        first = wanted.setdefault(stage.layout.warpgroups, out.copy())
        if not (out == first).all():
            wrong.append(f"{stage.layout}: other bytes than the first of its kind")
    off = 0.0
    if len(wanted) == 2:
        difference = abs(wanted[True].astype(int) - wanted[False])
        off = float((difference != 0).mean())
        if difference.max() > 1 or off > DIFFERING:
            wrong.append(f"warpgroups are off by up to {difference.max()}, in {off:.2%} of pixels")
    lines = {
        str(number): Line(lambda stage=stage: stage(there, out))
        for number, stage in enumerate([usual, *stages])
    }
    taken = clock.in_rounds(lines, 4 * repeats, clock.events())
    found = []
    for stage, times in zip([usual, *stages], taken.values(), strict=True):
        used = stage.kernel.attributes()
        found.append({
            "tile": stage.layout.tile, "warps": stage.layout.warps,
            "warpgroups": stage.layout.warpgroups, "usual": stage is usual,
            "shared": stage.layout.shared, "registers": used.registers, "local": used.local,
            "ms": spread(times),
        })  # fmt: skip
    name = "{} × {}".format(*network)
    say(f"  {name}, {width}×{height} ×{scale}; pixels that warpgroups give others: {off:.4%}")
    for line in wrong:
        say(f"    WRONG: {line}")
    for one in sorted(found, key=lambda one: one["ms"]["median"]):
        kind = "warps in groups" if one["warpgroups"] else "warps"
        say(f"    {one['tile']}, {one['warps']} {kind}{', usual' if one['usual'] else ''}: "
            f"{one['ms']['median']:.4f} ms; {one['registers']} registers, {one['local']} bytes "
            f"spilled, {one['shared']} shared")  # fmt: skip
    return {
        "network": name,
        "differing": off,
        "wrong": wrong,
        "size": f"{width}×{height} ×{scale}",
        "tiles": found,
    }


def add(parser: argparse.ArgumentParser) -> None:
    """Add this command's own arguments."""
    parser.add_argument("network", nargs="*", type=network, help="layers x channels, as 6x32")
    parser.add_argument("--known", action="store_true", help="fewer tiles")


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__, add)
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    report = runner.header("cnn", device, given.repeats, given.quick, print)
    sizes = given.network or list(NETWORKS.values())
    report["tiles"] = measure(device, sizes, given.quick, given.known, given.repeats, print)
    write(report, given.output)
    return int(any(row["wrong"] for row in report["tiles"]))


if __name__ == "__main__":
    sys.exit(main())
