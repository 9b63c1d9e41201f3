"""A+ on the CPU beside bicubic and beside a plain NumPy port, all in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from snellen.aplus.model import load
from snellen.aplus.upscaler import Upscaler
from snellen.bench import memory, plain
from snellen.bench.cases import Case, Float32, codes, picture
from snellen.bench.clock import timed
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame

# Both arms compute in float32 in another order: features differ by 1e-6 of white, and a patch
# near a tie takes another anchor. Over the picture that leaves far under a grey level.
AGREE = 0.05 / 255


def measure(case: Case, repeats: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Return medians and spreads of all lines of one case, in seconds a frame."""
    model = load(None, case.scale)
    error = check(case.scale)
    say(
        f"\n{case.name} luma (largest difference from the plain port {error * 255:.4f} grey levels)"
    )
    low = picture(case.width, case.height)
    with Upscaler(case.scale, model, "cpu") as upscaler:
        frame = Frame((codes(low, 8),))
        upscaler.prepare(Format(case.width, case.height))
        lines = {"snellen": timed(lambda: upscaler.run(frame), repeats)}
    if case.beside:
        lines["plain NumPy"] = timed(lambda: plain.upscale(low, model), min(3, repeats))
        lines |= {name: timed(line, repeats) for name, line in bicubics(low, case.scale)}
    ours = lines["snellen"]["median"]
    for name, line in lines.items():
        line["ratio"] = line["median"] / ours
        say(f"  {name:<16} {line['median']:8.3f} s  ({line['min']:.3f} … {line['max']:.3f})"
            f"  {line['ratio']:6.3g} × ours")  # fmt: skip
    before, peak = memory.alone(__name__, "hold", case.scale, case.width, case.height)
    say(f"  memory of its own process: {before:.0f} MB prepared, {peak:.0f} MB at most")
    return {
        "case": case.name, "max_difference": error, "lines": lines,
        "peak_memory_mb": peak, "memory_before_mb": before,
    }  # fmt: skip


def hold(scale: str, width: str, height: str) -> None:
    """Enlarge one frame and print the memory held before it and the peak, MB."""
    format = Format(int(width), int(height))
    with Upscaler(int(scale), device="cpu") as upscaler:
        upscaler.prepare(format)
        plane = np.zeros((format.height, format.width), np.uint8)
        plane[:] = np.arange(format.width) % 251
        before = memory.forget_peak()
        upscaler.run(Frame((plane,)))
        print(before, memory.peak())


def check(scale: int) -> float:
    """Return the largest difference of the fast arm from the plain port, where both predict.

    Raises
    ------
    SnellenError
        They disagree: no speed is told then.
    """
    low = picture(123, 95)
    model = load(None, scale)
    with Upscaler(scale, model, "cpu") as upscaler:
        upscaler.prepare(Format(low.shape[1], low.shape[0], 0))
        fast = upscaler.run(Frame((low,))).planes[0]
    inner = np.s_[scale:-scale, scale:-scale]
    error = float(np.abs(fast - plain.upscale(low, model))[inner].max())
    if not error < AGREE:
        raise SnellenError(f"×{scale}: fast and plain arm differ by {error:.2e}: nothing is timed")
    return error


def bicubics(low: Float32, scale: int) -> list[tuple[str, Callable[[], object]]]:
    """Return other libraries' bicubic lines on the same float picture."""
    from PIL import Image

    image = Image.fromarray(low)
    size = (low.shape[1] * scale, low.shape[0] * scale)
    lines: list[tuple[str, Callable[[], object]]] = [
        ("bicubic, Pillow", lambda: image.resize(size, Image.Resampling.BICUBIC))
    ]
    try:
        import cv2
    except ImportError:
        return lines
    return [
        *lines,
        ("bicubic, OpenCV", lambda: cv2.resize(low, size, interpolation=cv2.INTER_CUBIC)),
    ]


def sgemm(size: int = 2048) -> float:
    """Return the machine's single-precision matrix product, all threads, GFLOP/s."""
    a = np.random.default_rng(0).random((size, size), np.float32)
    return 2e-9 * size**3 / float(timed(lambda: a @ a, 5)["median"])
