"""The whole benchmark of MAD: scores are checked, then everything is timed in one run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import snellen.gpu.device
from snellen.bench import host as machines
from snellen.bench.clock import copy_rate
from snellen.bench.mad import exact, gpu, host, steps, throughput
from snellen.bench.mad.cases import CASES, pair
from snellen.bench.origin import commit
from snellen.jobs.machine import facts
from snellen.mad.scorer import DTYPES

PORTS = 3  # timed runs of the plain port, at most; beyond the first case one

Say = Callable[[str], None]


def run(repeats: int, say: Say, *, device: str = "auto", quick: bool = False) -> dict[str, Any]:
    """Check, measure, and return everything as a JSON object.

    Parameters
    ----------
    repeats : of each line on the CPU, four times as many on the GPU
    say : gets each line as it comes
    device : "auto", "cpu", "cuda" or "cuda:N"
    quick : fewer pictures and sizes

    Raises
    ------
    SnellenError
        A check is red: no speed is told then.
    """
    chosen = snellen.gpu.device.resolve(device)
    report: dict[str, Any] = {
        "benchmark": "mad", "machine": facts(), "commit": commit(), "device": chosen,
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "repeats": repeats,
        "quick": quick,
    }  # fmt: skip
    report["sgemm_gflops"] = machines.sgemm()
    machine = report["machine"]
    say(f"{machine['cpu']}, {machine['threads']} threads, sgemm {report['sgemm_gflops']:.0f} "
        f"GFLOP/s; {', '.join(machine['gpu']) or 'no GPU'}; {chosen}")  # fmt: skip
    with snellen.gpu.device.using(chosen):
        work = (
            on_cpu(repeats, quick, say) if chosen == "cpu" else on_gpu(chosen, repeats, quick, say)
        )
    return report | work


def on_cpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness, the CPU's lines beside the plain port, stages and memory."""
    first, *others = CASES
    say("\nExactness")
    arms = [("cpu", dtype) for dtype in reversed(DTYPES)]
    found: dict[str, Any] = {"exactness": exact.examine([first], arms, quick, say)}
    found["cases"] = [host.measure(first, repeats, min(PORTS, repeats), say)]
    if not quick:
        found["cases"] += [host.measure(case, min(PORTS, repeats), 1, say) for case in others[:1]]
    found["memory"] = host.footprints(first if quick else CASES[-1], say)
    found["cpu_steps"] = stages_of_cpu(found["cases"], repeats, say)
    return found


def on_gpu(device: str, repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness, then times of the GPU arm and of PyTorch's lines beside it."""
    say("\nExactness")
    cases = CASES[:1] if quick else CASES
    # The CPU arm is the truth of large pictures, so it comes first.
    exactness = exact.examine(CASES[:1], [exact.CPU], True, say)
    exactness += exact.examine(cases, [(device, None)], quick, say)
    copy = copy_rate()
    say(f"\nA copy on the GPU: {copy / 1e3:.2f} TB/s, read and written")
    rows = [gpu.measure(case, device, repeats, say) for case in cases]
    return {
        "exactness": exactness, "copy_gb_s": copy, "gpu_cases": rows,
        "batch": throughput.batch(throughput.SMALL, device, repeats, say),
        "cpu_steps": stages_of_cpu(rows[:2], min(PORTS, repeats), say),
        **throughput.several(repeats, quick, say),
    }  # fmt: skip


def stages_of_cpu(rows: list[dict[str, Any]], repeats: int, say: Say) -> list[dict[str, Any]]:
    """Return milliseconds of the CPU arm's stages for the cases of some rows."""
    found = []
    named = {case.name: case for case in CASES}
    for row in rows:
        taken = steps.measure(pair(named[row["case"]]), host.OURS, repeats)
        told = ", ".join(f"{name} {step['median']:.1f}" for name, step in taken.items())
        say(f"\nStages on the CPU, {row['case']}, {host.OURS}, ms: {told}")
        found.append({"case": row["case"], "dtype": host.OURS, "steps": taken})
    return found
