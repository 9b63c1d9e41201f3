"""Variants of small transforms on a GPU, checked and timed: `python -m benchmarks.fft_variants`.

`python -m benchmarks.fft_variants choose FILE` then writes src/snellen/fft/choices.json from what
was measured; it needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, replace
from itertools import product
from math import nan
from multiprocessing import get_context
from operator import truediv
from pathlib import Path
from typing import Any

from benchmarks.command import arguments, write
from benchmarks.cubin import usage
from benchmarks.fft_candidates import candidates
from benchmarks.stock.fft import cufft
from snellen.bench import clock, runner
from snellen.bench.clock import Line, spread
from snellen.fft import small, square
from snellen.fft.square import Variant
from snellen.gpu import device as devices
from snellen.gpu import graph
from snellen.gpu.reserved import Reserved
from snellen_lab.bench.fft import KINDS, SIDES, WITHIN, Transform

REPEATED = {1: 100, 16: 60, 132: 20, 1024: 4}
"""Batches, and how often each is transformed in one CUDA graph."""
CUFFT, TODAY = "cuFFT", "small.cu"
GAIN = 1.02
"""The least ratio of the time of the kernels of small.cu to that of others, to be replaced."""

Run = Callable[[Any, Any], None]
Row = dict[str, Any]


def compiled(kind: str, side: int, variant: Variant, arch: str) -> Row:
    """Compile a variant into the cache on disk; return its registers and local memory."""
    used = [usage(one.compile(arch), one.name) for one in square.kernels(kind, side, variant)]
    return {
        "registers": max(usage.registers for usage in used),
        "local": max(usage.local for usage in used),
    }


def cells(quick: bool) -> list[tuple[str, int, int]]:
    """Return kind, side and batch of what is measured."""
    batches = (1, 132) if quick else tuple(REPEATED)
    return [(kind, side, batch) for side, kind, batch in product(SIDES, KINDS, batches)]


def compile_all(
    wanted: list[tuple[str, int, int]], arch: str
) -> dict[tuple[str, int, Variant], Row]:
    """Compile what all cells need, side by side; return what each variant uses."""
    variants = {
        (kind, side, replace(one, ahead=0)): None  # the same kernel
        for kind, side, batch in wanted
        for one in candidates(kind, side, batch)
    }
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as workers:
        found = {key: workers.submit(compiled, *key, arch) for key in variants}
        return {key: used.result() for key, used in found.items()}


def inputs(kind: str, side: int, batch: int) -> tuple[Any, Any]:
    """Return pictures, and what they become in float64 by cuFFT."""
    import cupy

    random = cupy.random.default_rng(side + batch)
    x = random.standard_normal((batch, side, side), cupy.float32)
    if kind == "rfft2":
        return x, cupy.fft.rfft2(x.astype(cupy.float64))
    if kind == "irfft2":
        spectra = cupy.fft.rfft2(x.astype(cupy.float64)).astype(cupy.complex64)
        return spectra, cupy.fft.irfft2(spectra.astype(cupy.complex128), (side, side))
    x = x + cupy.complex64(1j) * random.standard_normal(x.shape, cupy.float32)
    return x, getattr(cupy.fft, kind)(x.astype(cupy.complex128))


def error(found: Any, wanted: Any) -> float:
    """Return the largest relative L2 error of a picture; NaN is infinite."""
    import cupy

    worst = 0.0
    for part in range(0, len(found), 128):  # float64 of all at once is large
        far = found[part : part + 128] - wanted[part : part + 128]
        size = cupy.linalg.norm(wanted[part : part + 128].reshape(len(far), -1), axis=1)
        away = cupy.linalg.norm(far.reshape(len(far), -1), axis=1) / size
        worst = max(worst, float(cupy.where(cupy.isnan(away), cupy.inf, away).max()))
    return worst


def measure(kind: str, side: int, batch: int, device: str, rounds: int) -> Row:
    """Check all variants of a cell, then time them and cuFFT round by round."""
    import cupy

    x, wanted = inputs(kind, side, batch)
    out = cupy.empty(wanted.shape, cupy.float32 if kind == "irfft2" else cupy.complex64)
    given = x.copy()  # cuFFT's irfft2 destroys it
    runs: dict[Variant | str, Run] = {TODAY: small.transform(kind, side, side)}
    for candidate in candidates(kind, side, batch):
        if square.runs_here(kind, side, candidate):
            runs[candidate] = square.transform(kind, side, candidate)
    row: Row = {"kind": kind, "side": side, "batch": batch, "wrong": {}}
    errors: dict[Variant | str, float] = {}
    lines: dict[str, Line] = {}
    names: dict[str, Variant | str] = {}
    reserved = Reserved(device)  # scratch in graphs
    with closing(reserved), reserved.allocating():
        runs[CUFFT] = cufft(Transform(kind, side, side, batch))
        for one, run in runs.items():
            source = given if one == CUFFT else x
            try:
                out.fill(cupy.nan)
                run(source, out)
                scale = 1 / side**2 if one == CUFFT and kind in square.INVERSE else 1.0
                errors[one] = error(out * out.dtype.type(scale), wanted)
                if not errors[one] <= WITHIN:
                    raise ValueError(f"off by {errors[one]:.1e}")
                launch = graph.record(repeated(run, source, out, REPEATED[batch]))
                launch()  # and in the graph, as it is timed
                again = error(out * out.dtype.type(scale), wanted) if one != CUFFT else 0.0
                if not again <= WITHIN:
                    raise ValueError(f"off by {again:.1e} in a graph")
            except Exception as fault:  # named, and not timed
                row["wrong"][str(one)] = f"{type(fault).__name__}: {fault}"
                continue
            names[str(one)], lines[str(one)] = one, Line(launch)
        taken = clock.in_rounds(lines, rounds, clock.events())
    each = {name: [ms / REPEATED[batch] for ms in times] for name, times in taken.items()}
    row["lines"] = [
        {
            "variant": asdict(one) if isinstance(one, Variant) else one,
            "ms": spread(each[name]),
            "ratio": spread(map(truediv, each.get(CUFFT, [nan] * rounds), each[name])),
            "relative_l2": errors[one],
        }
        for name, one in names.items()
    ]
    return row


def repeated(run: Run, x: Any, out: Any, times: int) -> Callable[[], None]:
    """Return what transforms so many times."""

    def work() -> None:
        for _ in range(times):
            run(x, out)

    return work


def report(row: Row, say: Callable[[str], None]) -> None:
    """Print cuFFT, small.cu and the three best variants of a cell."""
    name = f"{row['kind']} {row['side']}² × {row['batch']}"
    timed = sorted(row["lines"], key=lambda line: float(line["ms"]["median"]))
    theirs = [line for line in timed if isinstance(line["variant"], str)]
    ours = [line for line in timed if not isinstance(line["variant"], str)]
    text = "  ".join(
        f"{short(line['variant'])} {1e3 * line['ms']['median']:.2f}"
        for line in [*theirs, *ours[:3]]
    )
    say(f"{name}: {text}" + "".join(f"\n  WRONG {k}: {v}" for k, v in row["wrong"].items()))


def short(variant: Any) -> str:
    """Return a variant in a few letters: values, blocks, and what else it is."""
    if isinstance(variant, str):
        return variant
    flags = {"apart": "a", "overlap": "o", "two_launches": "t"}
    letters = "".join(letter for name, letter in flags.items() if variant[name])
    ahead = f"+{variant['ahead']}" if variant["ahead"] else ""
    return f"{variant['values']}v{variant['cluster']}b{variant['resident']}r{letters}{ahead}"


def choose(report: dict[str, Any], say: Callable[[str], None]) -> dict[str, Any]:
    """Return what choices.json holds: the fastest of each cell, or None for small.cu."""
    rows, ratios = [], []
    for row in report["rows"]:
        timed = {short(line["variant"]): line for line in row["lines"]}
        median = {name: float(line["ms"]["median"]) for name, line in timed.items()}
        ours = [name for name in median if name not in (CUFFT, TODAY)]
        best = min(ours, key=median.__getitem__, default=None)
        today = median.get(TODAY, float("inf"))
        if best is None or today < GAIN * median[best]:
            best = TODAY
        chosen = timed[best]["variant"]
        rows.append({
            "kind": row["kind"], "side": row["side"], "batch": row["batch"],
            "variant": None if best == TODAY else chosen,
        })  # fmt: skip
        ratio = timed[best].get("ratio", {"median": float("nan")})["median"]
        if row["batch"] != 16:  # what the benchmark's table has
            ratios.append(ratio)
        cell = f"{row['kind']:>7} {row['side']:>3}² × {row['batch']:<4}"
        times = f"{1e3 * median[best]:8.2f} µs  small.cu {1e3 * today:8.2f}  cuFFT {ratio:5.2f} ×"
        say(f"{cell} {best:<10} {times}")
    middle, least = statistics.median(ratios), min(ratios)
    say(f"cuFFT takes {middle:.2f} × in the median cell, {least:.2f} × at least")
    made = {key: report[key] for key in ("date", "commit") if key in report}
    return made | {"rows": rows}


def main() -> int:
    """Measure and write the report; or choose from one."""
    if sys.argv[1:2] == ["choose"]:
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("choose")
        parser.add_argument("report", type=Path)
        parser.add_argument("-o", "--output", type=Path, default=square.CHOICES)
        given = parser.parse_args()
        write(choose(json.loads(given.report.read_text(encoding="utf-8")), print), given.output)
        return 0
    given = arguments(__doc__, lambda parser: parser.add_argument(
        "--seconds", type=float, default=240, help="begin no cell after so many"))  # fmt: skip
    began = time.perf_counter()
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    result = runner.header("fft", device, given.repeats, given.quick, print)
    wanted = cells(given.quick)
    with devices.using(device):
        import cupy

        arch = f"sm_{cupy.cuda.Device().compute_capability}"
        used = compile_all(wanted, arch)
        print(f"{len(used)} variants compiled in {time.perf_counter() - began:.0f} s")
        result["compiled"] = [
            {"kind": kind, "side": side, "variant": asdict(one)} | usage
            for (kind, side, one), usage in used.items()
        ]
        result["rows"], result["left_out"] = [], []
        for cell in wanted:
            if time.perf_counter() - began > given.seconds:
                result["left_out"].append(cell)
                continue
            with clock.stream(device):
                result["rows"].append(measure(*cell, device, given.repeats))
            cupy.get_default_memory_pool().free_all_blocks()
            report(result["rows"][-1], print)
            write(result, given.output)  # what is measured is kept, whatever comes
    print(f"{time.perf_counter() - began:.0f} s; left out: {result['left_out']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
