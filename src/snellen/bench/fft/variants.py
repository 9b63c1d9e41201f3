"""The groups of optimisation, each on and off: variants of our forward transform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from snellen.bench.fft import exact, gpu, lines
from snellen.bench.fft.cases import Case
from snellen.bench.fft.exact import Transform
from snellen.bench.mia.turns import beside
from snellen.fft import small

BATCHES = (1, 132)
PACKED = "rfft2: real pictures packed by twos"

Say = Callable[[str], None]
Makers = Mapping[str, Callable[[int, int], Transform]]
"""By name; each makes a transform of complex pictures of (rows, columns). The first is ours."""


def measure(sides: tuple[int, ...], rounds: int, say: Say) -> list[dict[str, Any]]:
    """Return errors and microseconds of each variant, and its time against the first one's."""
    made, found = small.variants(), []
    say("\nVariants of fft2, µs")
    for side in sides:
        for batch in BATCHES:
            found.append(row(Case("fft2", (side, side), batch), made, rounds))
            tell(found[-1], say)
    return found


def row(case: Case, made: Makers, rounds: int) -> dict[str, Any]:
    """Return what was found of one size.

    Raises
    ------
    SnellenError
        A variant is wrong, or the first is not as right as it must be: nothing may be timed.
    """
    transforms = {name: make(*case.shape) for name, make in made.items()}
    errors = gpu.check(case, transforms)
    first = next(iter(transforms))
    for name, off in errors.items():
        exact.refuse(off, name, case, exact.WITHIN if name == first else exact.ROUGH)
    taken = gpu.times(case, transforms, rounds)
    real = Case("rfft2", case.shape, case.batch)
    packed = {PACKED: lines.ours(real)}
    errors |= gpu.check(real, packed)
    exact.refuse(errors[PACKED], PACKED, real)
    taken |= gpu.times(real, packed, rounds)
    return {"case": case.name, "batch": case.batch, "errors": errors,
            "lines": beside(taken, first)}  # fmt: skip


def tell(found: dict[str, Any], say: Say) -> None:
    """Say what a size's variants take."""
    what = f"{found['batch']:>5} × {found['case']:<8}"
    for name, line in found["lines"].items():
        say(f"  {what} {name:<40} {line['median']:9.2f}  {line['ratio']['median']:5.2f} × ours, "
            f"off {found['errors'][name]:.1e}")  # fmt: skip
