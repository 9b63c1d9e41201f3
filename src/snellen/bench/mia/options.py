"""What each option takes, beside the default."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from snellen.bench.mia import arms, exact, gpu, host
from snellen.bench.mia.cases import OPTIONS_SIDE, PLAIN, Case, Option
from snellen.bench.mia.turns import Clock, beside, gpu_clock, in_turns, milliseconds

Say = Callable[[str], None]


def check(device: str, options: Iterable[Option], say: Say) -> list[dict[str, Any]]:
    """Return by how much each option is off float64, one picture at a time.

    Raises
    ------
    SnellenError
        Too much: nothing may be timed.
    """
    case, name = Case(OPTIONS_SIDE), host.OURS if device == "cpu" else gpu.OURS
    found = []
    for option in options:
        with arms.made(case, device, option) as arm:
            given = gpu.ready(case, device, option)
            found.append(exact.check(arm, given, case, name, option))
        say(exact.told(found[-1]))
    return found


def measure(
    device: str, options: Iterable[Option], batch: int, rounds: int, say: Say
) -> dict[str, Any]:
    """Return milliseconds of all iterations with each option, in turns with the default."""
    case = Case(OPTIONS_SIDE, batch)
    with ExitStack() as stack:
        clock: Clock = milliseconds
        if device != "cpu":
            import cupy

            stack.enter_context(cupy.cuda.Stream(non_blocking=True))
            clock = gpu_clock()
        lines = {
            option.name: gpu.timed(
                stack.enter_context(arms.made(case, device, option)),
                gpu.ready(case, device, option),
            )
            for option in (PLAIN, *options)
        }
        taken = beside(in_turns(lines, rounds, clock), PLAIN.name)
    say(f"\nOptions, {case.name}, {batch} at once, ms")
    for name, line in taken.items():
        say(f"  {name:<16} {line['median']:9.3f} ({line['min']:.3f} … {line['max']:.3f})  "
            f"{line['ratio']['median']:5.2f} × {PLAIN.name}")  # fmt: skip
    return {"case": case.name, "batch": batch, "lines": taken}
