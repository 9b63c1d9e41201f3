"""Peak memory of one picture in a process of its own, on a CPU: `python -m benchmarks.memory`."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.command import arguments, write
from snellen.bench import aplus, inputs, mad, runner
from snellen.frames.frame import Format, Frame
from snellen.mad.scorer import Scorer
from snellen.upscaling.upscaler import Upscaler


def upscaling(scale: str, width: str, height: str) -> None:
    """Enlarge one plane; print the memory before it and the peak, MB."""
    plane = inputs.plane(int(width), int(height))
    with Upscaler(int(scale), device="cpu") as upscaler:
        upscaler.prepare(Format(int(width), int(height)))
        before = forget_peak()
        upscaler.run(Frame((plane,)))
        print(before, peak())


def scoring(width: str, height: str, dtype: str) -> None:
    """Score one pair; print the memory before it and the peak, MB."""
    one, other = mad.planes(int(width), int(height))
    with Scorer(device="cpu", dtype=dtype) as scorer:
        scorer.prepare(Format(int(width), int(height)))
        before = forget_peak()
        scorer.run(one, other)
        print(before, peak())


def alone(function: str, *words: object) -> dict[str, float]:
    """Return what a function of this module prints in a fresh process, MB."""
    command = [sys.executable, "-m", __spec__.name, function, *map(str, words)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    before, most = map(float, printed.split())
    return {"before_mb": before, "peak_mb": most}


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


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return the memory of the sizes of A+ and MAD."""
    rows: list[dict[str, Any]] = []
    for scale, width, height in aplus.SIZES[: 1 if quick else 4]:
        found = alone("upscaling", scale, width, height)
        rows.append({"method": "aplus", "size": f"{width}×{height} ×{scale}", **found})
    for width, height in mad.SIZES[:1] if quick else mad.SIZES:
        for dtype in ("float64", "float32"):
            found = alone("scoring", width, height, dtype)
            rows.append({"method": "mad", "size": f"{width}×{height}", "dtype": dtype, **found})
    for row in rows:
        print("  " + ", ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    return rows


def main() -> int:
    """Measure, and write the report; with a function's name, do its work alone."""
    functions = {"upscaling": upscaling, "scoring": scoring}
    if sys.argv[1:] and sys.argv[1] in functions:
        functions[sys.argv[1]](*sys.argv[2:])
        return 0
    given = arguments(__doc__)
    report = runner.header("aplus", "cpu", given.repeats, given.quick, print)
    report["memory"] = measure(given.quick)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
