"""MAD on the CPU beside a plain NumPy port, all in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from snellen.bench import memory
from snellen.bench.clock import timed
from snellen.bench.mad import plain
from snellen.bench.mad.cases import Case, Pair, pair
from snellen.mad.scorer import DTYPES, Scorer

PORT = "plain NumPy"
OURS = "float64"  # the line that ratios are against

Say = Callable[[str], None]


def measure(case: Case, repeats: int, ports: int, say: Say) -> dict[str, Any]:
    """Return medians and spreads of all lines of one case, in seconds a pair.

    Parameters
    ----------
    ports : int
        Timed runs of the plain port.
    """
    say(f"\n{case.name}, a pair of 8 bit, seconds")
    given = pair(case)
    lines: dict[str, Any] = {}
    for dtype in reversed(DTYPES):
        whole, again = ours(given, dtype, repeats)
        lines[dtype] = whole
        lines[f"{dtype}, the reference held"] = again
    grey = given.grey()
    lines[PORT] = timed(lambda: plain.score(*grey), ports)
    for name, line in lines.items():
        line["ratio"] = line["median"] / lines[OURS]["median"]
        say(f"  {name:<28} {line['median']:8.3f} s  ({line['min']:.3f} … {line['max']:.3f})"
            f"  {line['ratio']:6.3g} × ours in {OURS}")  # fmt: skip
    return {"case": case.name, "lines": lines}


def ours(given: Pair, dtype: str, repeats: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return seconds of a pair, and of one more picture against the reference held."""
    with Scorer(device="cpu", dtype=dtype) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        whole = timed(lambda: scorer.run(given.reference, given.distorted), repeats)
        return whole, timed(lambda: scorer.compare(given.distorted), repeats)


def footprints(case: Case, say: Say) -> list[dict[str, Any]]:
    """Return the memory that a pair takes in a process of its own, MB."""
    found = []
    for dtype in reversed(DTYPES):
        before, peak = memory.alone(__name__, "hold", case.width, case.height, dtype)
        say(f"  memory of its own process, {case.name}, {dtype}: {before:.0f} MB prepared, "
            f"{peak:.0f} MB at most")  # fmt: skip
        found.append({"case": case.name, "dtype": dtype, "before_mb": before, "peak_mb": peak})
    return found


def hold(width: str, height: str, dtype: str) -> None:
    """Score one pair and print the memory held before it and the peak, MB."""
    given = pair(Case(int(width), int(height)))
    with Scorer(device="cpu", dtype=dtype) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        before = memory.forget_peak()
        scorer.run(given.reference, given.distorted)
        print(before, memory.peak())
