"""The paper's second table: how far results are from the truth, and the GPU's from the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from snellen.aplus import protocol
from snellen.aplus.model import load
from snellen.aplus.upscaler import Upscaler
from snellen.bench import exact
from snellen.bench.cases import Float32, photograph, picture
from snellen.bicubic import bicubic
from snellen.frame import Format, Frame

PAPER = {"cpu_gpu": 88.97, "truth_cpu": 37.84, "truth_gpu": 37.84, "truth_bicubic": 35.37}
"""dB, of Zhao, Song et al.'s own picture."""

SIZE = (1920, 1080)


def measure(on_gpu: bool, say: Callable[[str], None], scale: int = 2) -> dict[str, Any]:
    """Return dB of truth against bicubic, CPU and GPU, and of CPU against GPU (as floats)."""
    path = photograph()
    drawn = path is None
    truth = protocol.crop(picture(*SIZE) if path is None else protocol.luma(path), scale)
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
        off = results["gpu"].astype(np.float64) - results["cpu"]
        found["cpu_gpu"] = exact.psnr(off)
    name = "drawn" if drawn or path is None else path.name
    say(f"\nPSNR in dB, {name} {truth.shape[1]}×{truth.shape[0]}, ×{scale}: "
        + ", ".join(f"{key.replace('_', ' – ')} {'identical' if value is None else f'{value:.2f}'}"
                    for key, value in found.items()))  # fmt: skip
    return {"picture": name, "width": truth.shape[1], "height": truth.shape[0], "scale": scale,
            **found}  # fmt: skip


def upscaled(low: Float32, scale: int, device: str) -> Float32:
    """Return the float result of one arm."""
    with Upscaler(scale, load(None, scale), device) as upscaler:
        upscaler.prepare(Format(low.shape[1], low.shape[0], 0))
        return np.array(upscaler.run(Frame((low,))).planes[0], np.float32)
