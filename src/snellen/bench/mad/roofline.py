"""What the statistics kernels take of a multiprocessor: registers, memory, warps at once."""

from __future__ import annotations

from math import prod
from typing import Any

from snellen.mad.cuda.strips import LANES, THREADS

WARPS = 64  # that a multiprocessor holds, but:
FEWER = {"75": 32, "86": 48, "87": 48, "89": 48, "120": 48, "121": 48}
"""CUDA Programming Guide, technical specifications per compute capability."""


def kernels(arm: Any) -> dict[str, dict[str, Any]]:
    """Return what each kernel takes as an arm launches it, by the name of its stage."""
    import cupy

    stage = next(iter(arm.appearance._statistics.values()))
    most = FEWER.get(cupy.cuda.Device().compute_capability, WARPS)
    found = {}
    for name, kernel in (("statistics", stage._describe), ("difference", stage._compare)):
        usage = kernel.attributes()
        found[name] = {
            "registers": usage.registers, "local_bytes": usage.local, "shared_bytes": usage.shared,
            "warps": kernel.blocks_per_multiprocessor(THREADS) * THREADS // LANES,
            "warps_at_most": most, "blocks": prod(stage._strips.grid), "threads": THREADS,
        }  # fmt: skip
    return found


def told(takes: dict[str, Any]) -> str:
    """Return one line of what a kernel takes."""
    return (f"{takes['registers']} registers, {takes['local_bytes']} bytes of local memory, "
            f"{takes['warps']} of {takes['warps_at_most']} warps at once, {takes['blocks']} blocks "
            f"of {takes['threads']}")  # fmt: skip
