"""The CPU's transforms: SciPy's, which our CPU arm works with, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from snellen.bench.fft import exact
from snellen.bench.fft.cases import Case, drawn
from snellen.bench.mia.turns import Line, beside, in_turns, milliseconds
from snellen.cpu.threads import available

OURS = "SciPy, the CPU arm's"
NUMPY = "NumPy"
TIMES = 20  # transforms of a small plane that are timed as one

Say = Callable[[str], None]


def measure(case: Case, repeats: int, say: Say) -> dict[str, Any]:
    """Return errors and microseconds of one transform of the batch."""
    planes = drawn(case)
    size = (case.shape,) if case.kind == "irfft2" else ()
    workers = available() if case.batch > 1 else 1
    lines: dict[str, Callable[[], Any]] = {
        OURS: lambda: getattr(fft, case.kind)(planes, *size, workers=workers),
        NUMPY: lambda: getattr(np.fft, case.kind)(planes, *size),
    }
    wanted = exact.truth(case)
    errors = {name: exact.error(line(), wanted) for name, line in lines.items()}
    for name, off in errors.items():
        exact.refuse(off, name, case)
    times = TIMES if case.batch == 1 else 1

    def often(line: Callable[[], Any]) -> Line:
        return Line(lambda: None, lambda: [line() for _ in range(times)])

    taken = in_turns({name: often(line) for name, line in lines.items()}, repeats, milliseconds)
    micro = {name: [1e3 * ms / times for ms in found] for name, found in taken.items()}
    row: dict[str, Any] = {"kind": case.kind, "case": case.name, "batch": case.batch,
                           "errors": errors, "lines": beside(micro, OURS)}  # fmt: skip
    ours, theirs = row["lines"][OURS], row["lines"][NUMPY]
    say(f"  {case.kind:<6} {case.batch:>5} × {case.name:<8} {ours['median']:10.1f} µs, NumPy "
        f"{theirs['median']:10.1f}, {theirs['ratio']['median']:5.2f} × ours; off "
        f"{errors[OURS]:.1e}")  # fmt: skip
    return row
