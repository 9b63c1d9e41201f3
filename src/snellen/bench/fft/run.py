"""The whole benchmark of small transforms: they are checked, then timed in one run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import snellen.gpu.device
from snellen.bench.clock import copy_rate
from snellen.bench.fft import gpu, host
from snellen.bench.fft.cases import DISTINCT, Case, cases
from snellen.bench.origin import commit
from snellen.jobs.machine import facts

Say = Callable[[str], None]


def run(repeats: int, say: Say, *, device: str = "auto", quick: bool = False) -> dict[str, Any]:
    """Check, measure, and return everything as a JSON object.

    Parameters
    ----------
    repeats : rounds of each line on the CPU, twice as many on the GPU
    say : gets each line as it comes
    device : "auto", "cpu", "cuda" or "cuda:N"
    quick : fewer sizes, batches and kinds

    Raises
    ------
    SnellenError
        A check is red: no speed is told then.
    """
    chosen = snellen.gpu.device.resolve(device)
    report: dict[str, Any] = {
        "benchmark": "fft", "machine": facts(), "commit": commit(), "device": chosen,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "repeats": repeats,
        "quick": quick,
    }  # fmt: skip
    machine = report["machine"]
    say(f"{machine['cpu']}, {machine['threads']} threads; "
        f"{', '.join(machine['gpu']) or 'no GPU'}; {chosen}")  # fmt: skip
    with snellen.gpu.device.using(chosen):
        work = on_cpu(repeats, quick, say) if chosen == "cpu" else on_gpu(repeats, quick, say)
    return report | work


def on_cpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return what the CPU's libraries take."""
    say("\nNo GPU is measured, and our small transforms are for GPUs: these are the CPU's, µs")
    wanted = [Case(case.kind, case.shape, min(case.batch, DISTINCT)) for case in cases(quick)
              if case.batch <= 132]  # fmt: skip
    return {"cpu_cases": [host.measure(case, repeats, say) for case in wanted]}


def on_gpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness and times of ours and of cuFFT's."""
    rounds = gpu.PER_REPEAT * repeats
    say("\nExactness, relative L2, against float64")
    found: dict[str, Any] = {"mixed": gpu.mixed(say), "copy_gb_s": copy_rate()}
    say(f"\nA transform of a batch; a copy on the GPU: {found['copy_gb_s'] / 1e3:.2f} TB/s")
    found["gpu_cases"] = [gpu.measure(case, rounds, say) for case in cases(quick)]
    return found
