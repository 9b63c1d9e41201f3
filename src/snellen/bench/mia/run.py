"""The whole benchmark of MIA: pictures are checked, then everything is timed in one run."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import snellen.gpu.device
from snellen.bench import host as machines
from snellen.bench.mia import gpu, host, latency, options
from snellen.bench.mia.cases import BATCH, OPTIONS, Case, cases
from snellen.bench.origin import commit
from snellen.errors import InputError
from snellen.jobs.machine import facts

PORTS = 3  # timed runs on the CPU beside a GPU, at most

Say = Callable[[str], None]


def run(
    repeats: int, say: Say, *, device: str = "auto", quick: bool = False, levin: bool = False
) -> dict[str, Any]:
    """Check, measure, and return everything as a JSON object.

    Parameters
    ----------
    repeats : of each line on the CPU, twice as many on the GPU
    say : gets each line as it comes
    device : "auto", "cpu", "cuda" or "cuda:N"
    quick : fewer periods, batches, options and frames
    levin : whether Levin's pictures are restored too

    Raises
    ------
    SnellenError
        A check is red: no speed is told then.
    """
    chosen = snellen.gpu.device.resolve(device)
    pictures = protocol() if levin else None
    report: dict[str, Any] = {
        "benchmark": "mia", "machine": facts(), "commit": commit(), "device": chosen,
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
        work["latency"] = latency.measure(chosen, quick, say)
        if pictures:
            work["levin"] = pictures(chosen, say)
    return report | work


def protocol() -> Callable[[str, Say], dict[str, Any]]:
    """Return what restores and judges Levin's pictures, given the device.

    Raises
    ------
    InputError
        The pictures are not there, which is said before anything is measured.
    """
    folder = os.environ.get("SNELLEN_DATA")
    if not folder or not any((Path(folder) / "levin09").glob("*.npz")):
        raise InputError(
            "--levin wants the pictures of Levin et al. 2009 in the folder levin09 of "
            "SNELLEN_DATA, which is " + (f"{folder}: nothing is there" if folder else "not set")
        )
    judge: Any = import_module("snellen.bench.mia.levin")
    return judge.measure  # type: ignore[no-any-return]


def on_cpu(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness, and the CPU's lines beside the plain port."""
    say("\nNo GPU is measured: this is the CPU arm, beside a plain NumPy port\n\nExactness")
    wanted, asked = of_cpu(cases(quick)), OPTIONS[:1] if quick else OPTIONS
    exactness = [row for case in wanted for row in host.check(case, say)]
    exactness += options.check("cpu", asked, say)
    rows = [host.measure(case, repeats, say) for case in wanted]
    found = [options.measure("cpu", asked, 1, repeats, say)]
    return {"exactness": exactness, "cpu_cases": rows, "cpu_options": found}


def on_gpu(device: str, repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return exactness, then times of the GPU arm and of cuFFT's lines beside it, and the CPU's."""
    say("\nExactness")
    wanted, asked = cases(quick), OPTIONS[:1] if quick else OPTIONS
    few, rounds = min(PORTS, repeats), gpu.PER_REPEAT * repeats
    exactness = [row for case in of_cpu(wanted) for row in host.check(case, say)]
    exactness += [gpu.check(case, device, say) for case in wanted]
    exactness += options.check(device, asked, say)
    rows = []
    for case in wanted:
        checked, row = gpu.measure(case, device, rounds, say)
        exactness += checked
        rows.append(row)
    return {
        "exactness": exactness, "gpu_cases": rows,
        "cpu_cases": [host.measure(case, few, say) for case in of_cpu(wanted)],
        "options": [options.measure(device, asked, batch, rounds, say) for batch in (1, BATCH)],
        "cpu_options": [options.measure("cpu", asked, 1, few, say)],
    }  # fmt: skip


def of_cpu(every: list[Case]) -> list[Case]:
    """Return the cases that are measured on the CPU too."""
    return [case for case in every if case.batch <= BATCH]
