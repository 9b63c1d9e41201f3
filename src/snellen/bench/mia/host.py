"""MIA on the CPU beside a plain NumPy port, all in one run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from snellen.bench.mia import arms, cases, exact, plain
from snellen.bench.mia.cases import ITERATIONS, PLAIN, Case, Problem
from snellen.bench.mia.turns import Line, beside, in_turns, milliseconds

OURS = "CPU, float32"
DOUBLE = "CPU, float64"
PORT = "plain NumPy"
SHORT = 20  # iterations of a batch on the CPU, told as if of all: each takes as long as the next

Say = Callable[[str], None]


class Port:
    """The plain port as an arm of one picture."""

    def __init__(self) -> None:
        self._state: tuple[plain.Float64, ...] = ()

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came, and where to start from."""
        self._state = tuple(array[0].astype(np.float64) for array in (y, f, h))

    def iterate(self, count: int) -> None:
        """Do so many iterations."""
        y, f, h = self._state
        self._state = (y, *plain.restore(y, f, h, count, PLAIN.definition))


def check(case: Case, say: Say) -> list[dict[str, Any]]:
    """Return by how much our arm is off float64: in both precisions, of a batch in single.

    Raises
    ------
    SnellenError
        Too much: nothing may be timed.
    """
    given, count = ready(case)
    found = []
    for name, dtype in dtypes(case).items():
        with arms.made(case, "cpu", dtype=dtype) as arm:
            found.append(exact.check(arm, given, case, name, dtype=dtype, count=count))
        say(exact.told(found[-1]))
    return found


def measure(case: Case, repeats: int, say: Say) -> dict[str, Any]:
    """Return milliseconds of all iterations; of one picture also in float64, and by the port."""
    given, count = ready(case)
    with ExitStack() as stack:
        lines = {name: line(stack.enter_context(arms.made(case, "cpu", dtype=dtype)), given, count)
                 for name, dtype in dtypes(case).items()}  # fmt: skip
        if case.batch == 1:
            lines[PORT] = line(Port(), given, count)
        taken = in_turns(lines, repeats, milliseconds)
    whole = ITERATIONS / count
    found = beside({name: [whole * ms for ms in times] for name, times in taken.items()}, OURS)
    row = {"case": case.name, "side": case.side, "batch": case.batch, "iterations": count,
           "lines": found}  # fmt: skip
    tell(row, say)
    return row


def ready(case: Case) -> tuple[Problem, int]:
    """Return a case's problem, and how many iterations of it are done."""
    given = cases.shifted(cases.problem(case.side), case.batch)
    return given, ITERATIONS if case.batch == 1 else SHORT


def dtypes(case: Case) -> dict[str, str]:
    """Return our arms' names and precisions."""
    return {OURS: "float32"} | ({DOUBLE: "float64"} if case.batch == 1 else {})


def line(arm: Any, given: Problem, count: int) -> Line:
    """Return what is timed of an arm: iterations that begin anew each time."""
    return Line(partial(arm.start, given.y, given.f, given.h), partial(arm.iterate, count))


def tell(row: dict[str, Any], say: Say) -> None:
    """Say what a case takes."""
    batch, count = row["batch"], row["iterations"]
    short = "" if count == ITERATIONS else f", from {count}"
    say(f"\n{row['case']}, {batch} at once, {ITERATIONS} iterations on the CPU{short}, ms")
    for name, taken in row["lines"].items():
        each = f", {taken['median'] / batch:.3f} an image" if batch > 1 else ""
        ratio = "" if name == OURS else f"  {taken['ratio']['median']:6.2f} × ours"
        say(f"  {name:<16} {taken['median']:10.2f} ({taken['min']:.2f} … {taken['max']:.2f})"
            f"{each}{ratio}")  # fmt: skip
