"""A+ on the CPU beside bicubic and beside a plain NumPy port, all in one run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from snellen.aplus.model import load
from snellen.aplus.upscaler import Upscaler
from snellen.bench import plain
from snellen.bench.cases import Case, Float32, codes, picture
from snellen.bench.clock import timed
from snellen.errors import SnellenError
from snellen.frame import Format, Frame

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
    before, memory = footprint(case)
    say(f"  memory of its own process: {before:.0f} MB prepared, {memory:.0f} MB at most")
    return {
        "case": case.name, "max_difference": error, "lines": lines,
        "peak_memory_mb": memory, "memory_before_mb": before,
    }  # fmt: skip


def footprint(case: Case) -> tuple[float, float]:
    """Return the memory of a fresh process that has prepared, and its peak in `run`, MB."""
    code = "import sys; from snellen.bench.host import hold; hold(*map(int, sys.argv[1:]))"
    words = [sys.executable, "-c", code, str(case.scale), str(case.width), str(case.height)]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    before, after = map(float, told.split())
    return before, after


def hold(scale: int, width: int, height: int) -> None:
    """Enlarge one frame and print the memory held before it and the peak, MB."""
    with Upscaler(scale, device="cpu") as upscaler:
        upscaler.prepare(Format(width, height))
        plane = np.zeros((height, width), np.uint8)
        plane[:] = np.arange(width) % 251
        before = forget_peak()
        upscaler.run(Frame((plane,)))
        print(before, peak())


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


def peak() -> float:
    """Return the most memory that this process held since `forget_peak`, MB.

    Since it began, where the system (not Linux) does not forget.
    """
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024 / 1e6
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def forget_peak() -> float:
    """Begin anew with the memory held now, and return that, MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # proc(5): resets VmHWM
    return peak()
