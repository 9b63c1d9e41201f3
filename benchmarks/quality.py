"""The paper's second table: how far results are from the truth, and the GPU's from the CPU's."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from snellen.aplus.model import load
from snellen.aplus.training import protocol
from snellen.aplus.upscaler import Upscaler
from snellen.bench import exact
from snellen.bench.cases import Float32, photograph, picture
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format, Frame

PAPER = {"cpu_gpu": 88.97, "truth_cpu": 37.84, "truth_gpu": 37.84, "truth_bicubic": 35.37}
"""dB, of Zhao, Song et al.'s own picture."""

SIZE = (1920, 1080)  # of the picture that is drawn where no others are at hand


def measure(on_gpu: bool, say: Callable[[str], None], scale: int = 2) -> dict[str, Any]:
    """Return dB of truth against bicubic, CPU and GPU, and of CPU against GPU.

    By the authors' protocol, and the last of float results: of each picture of Set14 where
    SNELLEN_DATA has it, else of one that is drawn. For all of them their mean, and of CPU against
    GPU the least; None where all are identical.
    """
    path = photograph()
    found = {"drawn": picture(*SIZE)} if path is None else protocol.planes(path.parent)
    each = {name: one(protocol.crop(plane, scale), scale, on_gpu) for name, plane in found.items()}
    told: dict[str, Any] = {
        name: statistics.fmean(figures[name] for figures in each.values())
        for name in next(iter(each.values()))
        if name != "cpu_gpu"
    }
    if on_gpu:
        decibels = [figures["cpu_gpu"] for figures in each.values()]
        told["cpu_gpu"] = min((dB for dB in decibels if dB is not None), default=None)
    name = "drawn" if path is None else path.parent.name
    say(f"\nPSNR in dB, {name}, ×{scale}: " + ", ".join(
        f"{key.replace('_', ' – ')} {'identical' if value is None else f'{value:.2f}'}"
        for key, value in told.items()))  # fmt: skip
    return {"pictures": name, "count": len(each), "scale": scale, **told, "each": each}


def one(truth: Float32, scale: int, on_gpu: bool) -> dict[str, Any]:
    """Return the figures of one picture."""
    low = protocol.shrink(truth, 1 / scale)
    mid = np.empty(truth.shape, np.float32)
    bicubic(low, scale, mid)
    results = {"bicubic": mid, "cpu": upscaled(low, scale, "cpu")}
    if on_gpu:
        results["gpu"] = upscaled(low, scale, "cuda")
    found: dict[str, Any] = {
        f"truth_{name}": protocol.psnr(truth, result, scale) for name, result in results.items()
    }
    if on_gpu:
        found["cpu_gpu"] = exact.psnr(results["gpu"].astype(np.float64) - results["cpu"])
    return found


def upscaled(low: Float32, scale: int, device: str) -> Float32:
    """Return the float result of one arm."""
    with Upscaler(scale, load(None, scale), device) as upscaler:
        upscaler.prepare(Format(low.shape[1], low.shape[0], 0))
        return np.array(upscaler.run(Frame((low,))).planes[0], np.float32)
