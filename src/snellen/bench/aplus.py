"""The whole benchmark of A+: the result is checked, then everything is timed in one run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import snellen.gpu.device
from snellen.aplus.model import load
from snellen.bench import gpu, host, sizes, steps, stock, throughput, truth
from snellen.bench.cases import CASES, GPU_CASES, Case, codes, picture
from snellen.bench.clock import copy_rate
from snellen.bench.origin import commit
from snellen.errors import InputError
from snellen.jobs.machine import facts

Say = Callable[[str], None]


def run(
    repeats: int,
    say: Say,
    *,
    device: str = "auto",
    quick: bool = False,
    video: int = 0,
    clip: Path | None = None,
) -> dict[str, Any]:
    """Check, measure, and return everything as a JSON object.

    Parameters
    ----------
    repeats : of each line on the CPU, four times as many on the GPU
    say : gets each line as it comes
    device : "auto", "cpu" or "cuda"
    quick : fewer pictures, sizes and windows
    video : frames of a whole conversion; 0: none
    clip : what is converted

    Raises
    ------
    SnellenError
        A check is red: no speed is told then.
    """
    chosen = snellen.gpu.device.resolve(device)
    report: dict[str, Any] = {
        "benchmark": "aplus", "machine": facts(), "commit": commit(), "device": chosen,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "repeats": repeats,
        "quick": quick,
    }  # fmt: skip
    report["sgemm_gflops"] = host.sgemm()
    machine = report["machine"]
    say(f"{machine['cpu']}, {machine['threads']} threads, sgemm {report['sgemm_gflops']:.0f} "
        f"GFLOP/s; {', '.join(machine['gpu']) or 'no GPU'}; {chosen}")  # fmt: skip
    with snellen.gpu.device.using(chosen):
        report |= on_cpu(repeats, quick, say) if chosen == "cpu" else on_gpu(repeats, quick, say)
        report["truth"] = truth.measure(chosen != "cpu", say)
        if video:
            report |= converted(clip, video, chosen, min(repeats, 3), say)
    return report


def on_cpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return the CPU's lines and, of the first case, its seven steps."""
    cases = [host.measure(case, repeats, say) for case in (CASES[:1] if quick else CASES)]
    first = CASES[0]
    plane = codes(picture(first.width, first.height), 8)
    taken = steps.measure(plane, load(None, first.scale), repeats)
    say(f"\nSteps of {first.name}, ms: "
        + ", ".join(f"{name} {step['median']:.1f}" for name, step in taken.items()))  # fmt: skip
    return {"cases": cases, "cpu_steps": {"case": first.name, "steps": taken}}


def on_gpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness, then times of the GPU arm and of PyTorch's line beside it."""
    say("\nExactness")
    cases = GPU_CASES[:3] if quick else GPU_CASES
    exactness = [row for case in cases for row in gpu.exactness(case, quick, say)]
    copy = copy_rate()
    say(f"\nA copy on the GPU: {copy / 1e3:.2f} TB/s, read and written")
    rows = [measured(case, repeats, say) for case in cases]
    found: dict[str, Any] = {
        "exactness": exactness, "copy_gb_s": copy, "gpu_cases": rows,
        "seven_steps": gpu.seven_steps(rows[0], cases[0], repeats, say),
        "sizes": sizes.measure(repeats, quick, say),
        "throughput": throughput.measure(say, quick),
    }  # fmt: skip
    return found


def measured(case: Case, repeats: int, say: Say) -> dict[str, Any]:
    """Return our milliseconds of a case, and PyTorch's beside them where there is PyTorch."""
    row = gpu.measure(case, repeats, say)
    if not case.beside:
        return row
    try:
        if not stock.torch().cuda.is_available():
            raise ImportError("PyTorch is here, but sees no GPU")
    except ImportError as error:
        say(f"  PyTorch's line is left out: {error}")
        return row | {"no_stock": str(error)}
    low = codes(picture(case.width, case.height), 8)
    line = stock.measure(load(None, case.scale), low.astype("float32"), 2 * repeats, say)
    for name in ("launches", "graph"):
        if name in row:
            line[f"ratio_{name}"] = line["whole"]["median"] / row[name]["median"]
    say("  " + ", ".join(f"{line[key]:.1f} × {key.removeprefix('ratio_')}"
                         for key in line if key.startswith("ratio_")))  # fmt: skip
    return row | {"stock": line}


def converted(
    clip: Path | None, frames: int, device: str, repeats: int, say: Say
) -> dict[str, Any]:
    """Return the whole conversion's figures, or why there are none."""
    from snellen.bench import road

    try:
        return {"video": road.measure(clip, frames, device, repeats, say)}
    except InputError as error:
        say(f"\nThe conversion is left out: {error}")
        return {"no_video": str(error)}
