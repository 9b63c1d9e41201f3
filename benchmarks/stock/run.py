"""Ours beside stock libraries: all are checked, then timed in rounds on one machine."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from snellen.bench import clock, runner
from snellen.bench.clock import Line, spread
from snellen.bench.runner import Case, Figures, Say
from snellen.errors import SnellenError
from snellen.gpu import device as devices

OURS = "Snellen"
CASES = {method: f"snellen.bench.{method}" for method in runner.METHODS} | {
    "fft": "snellen_lab.bench.fft"
}
"""Modules that have cases, by the names of their commands."""
PER_REPEAT = 2
"""Timed rounds on a GPU for each of the CPU's."""


@dataclass
class Stock:
    """The same work by another library."""

    line: Line
    check: Callable[[], Figures] = dict
    """Returns how far its result is off.

    Raises SnellenError where it is wrong; by default nothing is compared: it does less, or it is
    the reference itself."""
    count: float = 1.0
    """The number of the case's computations that one run of the line does."""
    facts: Figures = field(default_factory=dict)
    """A remark."""


def within(figures: Figures, most: float) -> Figures:
    """Return the figures where all are small enough.

    Raises
    ------
    SnellenError
        One is not.
    """
    for name, value in figures.items():
        if not value <= most:  # NaN is no small error
            raise SnellenError(f"{name} is {value:.1e}; expected {most:.0e} at most")
    return figures


def run(
    method: str, repeats: int, say: Say, *, device: str = "auto", quick: bool = False
) -> dict[str, Any]:
    """Check and time all cases of a method beside stock libraries; return a JSON object."""
    chosen = devices.resolve(device)
    found = runner.header(method, chosen, repeats, quick, say) | {"comparison": "stock"}
    cases: list[Case] = import_module(CASES[method]).cases(chosen, quick)
    stock = import_module(f"benchmarks.stock.{method}")
    with devices.using(chosen):
        rows = [measure(case, stock.lines, chosen, repeats, say) for case in cases]
    found["rows"] = [row for row in rows if row]
    found["failed"] = sum("error" in row for row in found["rows"])
    return found


def measure(case: Case, lines: Any, device: str, repeats: int, say: Say) -> Figures:
    """Return the row of a case; {} where there is nothing to compare it with."""
    row: Figures = {"size": case.size, "batch": case.batch, "kind": case.kind}
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        if device != "cpu":
            stack.enter_context(clock.stream(device))
        others: dict[str, Stock] = {}
        try:
            others = stack.enter_context(lines(case, device, missing))
        except Exception as error:  # whatever another library raises
            missing["stock libraries"] = reason(error)
        if not others and not missing:
            return {}
        kernel = stack.enter_context(case.open(device))
        kernel.before()
        kernel.run()
        try:
            checks = {OURS: case.check(kernel.result(), device)}
        except SnellenError as error:
            say(f"  {case.name}: WRONG, nothing is timed: {error}")
            return row | {"error": str(error)}
        for name in list(others):  # a line that cannot run is named, and is no error
            try:
                others[name].line.before()
                others[name].line.work()
                checks[name] = others[name].check()
            except Exception as error:  # likewise
                missing[name] = reason(error)
                del others[name]
        timed = {OURS: Line(kernel.run, kernel.before)}
        timed |= {name: other.line for name, other in others.items()}
        watch = clock.host if device == "cpu" else clock.events()
        rounds = repeats if device == "cpu" else PER_REPEAT * repeats
        taken = clock.in_rounds(timed, rounds, watch)
        counts = {OURS: kernel.count} | {name: other.count for name, other in others.items()}
        each = {name: [ms / counts[name] for ms in times] for name, times in taken.items()}
        found = ratios(each, OURS)
        facts = {name: other.facts for name, other in others.items() if other.facts}
    for name, check in checks.items():
        found[name] |= {"check": check, **facts.get(name, {})}
    report(case.name, found, missing, say)
    return row | {"lines": found, "missing": missing}


def ratios(taken: Mapping[str, list[float]], ours: str) -> dict[str, Any]:
    """Return the spread of each line and of its ratio to ours, which is taken round by round."""
    return {
        name: {"ms": spread(times)}
        | {"ratio": spread(other / own for other, own in zip(times, taken[ours], strict=True))}
        for name, times in taken.items()
    }


def reason(error: Exception) -> str:
    """Return an error as one line."""
    return "".join(traceback.format_exception_only(error)).strip()


def report(name: str, found: Figures, missing: dict[str, str], say: Say) -> None:
    """Print the times of a case."""
    say(f"  {name}")
    for line, figures in found.items():
        ms, ratio = figures["ms"], figures["ratio"]["median"]
        say(f"    {line:<42} {ms['median']:10.4g} ms ({ms['min']:.4g} … {ms['max']:.4g})"
            f"{'' if line == OURS else f'  {ratio:8.3g} × ours'}")  # fmt: skip
    for line, why in missing.items():
        say(f"    {line} is left out: {why}")
