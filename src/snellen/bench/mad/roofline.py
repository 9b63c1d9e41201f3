"""What the statistics kernels take of a multiprocessor: registers, memory, warps at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from snellen.bench.mad.cases import Case
from snellen.mad.cuda.loggabor import BANDS
from snellen.mad.cuda.statistics import kernels as statistics
from snellen.mad.cuda.strips import LANES, THREADS, Strips

WARPS = 64  # that a multiprocessor of 7.0, 8.0, 9.0 and 10.0 holds; 8.6, 8.9, 12.0: 48; 7.5: 32
HOLD = {(7, 5): 32, (8, 6): 48, (8, 7): 48, (8, 9): 48, (12, 0): 48, (12, 1): 48}


def kernels(cases: Iterable[Case], say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return for each size what the kernels of the reference and the distorted picture take."""
    rows = []
    for case in cases:
        cut = Strips(case.height, case.width, BANDS)
        for name, kernel in zip(("statistics", "difference"), statistics(case.width), strict=True):
            usage = kernel.attributes()
            warps = kernel.blocks_per_multiprocessor(THREADS) * THREADS // LANES
            row = {
                "case": case.name, "stage": name, "registers": usage.registers,
                "local_bytes": usage.local, "shared_bytes": usage.shared,
                "spilled_bytes": usage.spilled, "warps": warps, "occupancy": warps / most(),
                "blocks": cut.grid[0] * cut.grid[1] * cut.grid[2],
            }  # fmt: skip
            say(f"  {case.name}, {name}: {usage.registers} registers, {usage.local} bytes of local "
                f"memory, {warps} of {most()} warps at once, {row['blocks']} blocks")  # fmt: skip
            rows.append(row)
    return rows


def most() -> int:
    """Return how many warps a multiprocessor of the current GPU holds."""
    import cupy

    capability = cupy.cuda.Device().compute_capability
    return HOLD.get((int(capability[:-1]), int(capability[-1])), WARPS)
