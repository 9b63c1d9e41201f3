"""PSNR of A+: the truth against bicubic, CPU and GPU, and CPU against GPU.

This is the second table of Zhao, Song et al.: `SNELLEN_DATA=… python -m benchmarks.quality`. It
takes the pictures of Set14 where SNELLEN_DATA has them, else one that is drawn.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Callable
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.command import arguments, write
from snellen.bench import runner
from snellen.bench.inputs import picture
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices
from snellen.upscaling.models import load
from snellen.upscaling.shipped import OF_2014
from snellen.upscaling.upscaler import Upscaler
from snellen_lab import protocol

Float32 = npt.NDArray[np.float32]

PAPER = {"cpu_gpu": 88.97, "truth_cpu": 37.84, "truth_gpu": 37.84, "truth_bicubic": 35.37}
"""dB, of Zhao, Song et al.'s own picture."""

SIZE = (1920, 1080)  # of the picture that is drawn where no others are at hand


def measure(on_gpu: bool, say: Callable[[str], None], scale: int = 2) -> dict[str, Any]:
    """Return dB by the authors' protocol: of each picture, and the mean of all.

    CPU against GPU is compared as floats, without rounding: of these the least counts, and None
    says that all are identical.
    """
    folder = Path(os.environ.get("SNELLEN_DATA") or ".") / "Set14"
    found = protocol.planes(folder) if folder.is_dir() else {"drawn": picture(*SIZE)}
    each = {name: one(protocol.crop(plane, scale), scale, on_gpu) for name, plane in found.items()}
    total: dict[str, Any] = {
        name: statistics.fmean(figures[name] for figures in each.values())
        for name in next(iter(each.values()))
        if name != "cpu_gpu"
    }
    if on_gpu:
        decibels = [figures["cpu_gpu"] for figures in each.values()]
        total["cpu_gpu"] = min((dB for dB in decibels if dB is not None), default=None)
    for key, value in total.items():
        paper = f"(their picture: {PAPER[key]:.2f})"
        say(f"  {key:<14} {'identical' if value is None else f'{value:.2f} dB'} {paper}")
    return {"count": len(each), "scale": scale, **total, "each": each}


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
        error = float(np.mean((results["gpu"].astype(np.float64) - results["cpu"]) ** 2))
        found["cpu_gpu"] = -10 * log10(error) if error else None
    return found


def upscaled(low: Float32, scale: int, device: str) -> Float32:
    """Return the float result of one backend."""
    with Upscaler(scale, load(OF_2014.format(scale), scale), device) as upscaler:
        upscaler.prepare(Format(low.shape[1], low.shape[0], 0))
        return np.array(upscaler.run(Frame((low,))).planes[0], np.float32)


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve(given.device)
    report = runner.header("aplus", device, given.repeats, given.quick, print)
    report["quality"] = measure(device != "cpu", print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
