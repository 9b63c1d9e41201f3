"""Whether scores are right, before any time is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from snellen.bench.mad import plain
from snellen.bench.mad.cases import KINDS, SMALL, Case, Pair, pair
from snellen.errors import SnellenError
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

BITS = (8, 10, 0)
PLAIN = 1 << 19  # pixels up to which the plain port is the truth; beyond it takes minutes
SCORES = {"float64": 1e-9, "float32": 1e-5}
"""What a score may be off, relative: rounding of each type, as docs/mad.md has it."""
MAPS = {"float64": 1e-6, "float32": 1e-3}
"""And a map, of its largest value: kurtosis has fewer digits where a block is nearly flat."""
NUMBERS = ("mad", "hi", "lo")

Say = Callable[[str], None]
Arm = tuple[str, str | None]
"""Device and dtype; None: what the device chooses."""
CPU = ("cpu", "float64")


def examine(
    cases: Iterable[Case], arms: Sequence[Arm], quick: bool, say: Say
) -> list[dict[str, Any]]:
    """Check scores and maps of every kind and depth; return by how much they are off.

    Small pictures against the plain port in float64; large ones against our CPU arm in float64,
    which must have been compared with it.

    Raises
    ------
    SnellenError
        A score or a map is wrong: nothing may be timed.
    """
    found = []
    for case in dict.fromkeys((SMALL, *cases)):
        small = case.width * case.height <= PLAIN
        every = small and not quick
        for kind, bits in product(KINDS, BITS) if every else [(KINDS[0], BITS[0])]:
            given = pair(case, kind, bits)
            wanted = plain.score(*given.grey()) if small else scored(given, *CPU)[0]
            for arm in arms:
                name = ", ".join(filter(None, arm))
                what = f"{name}, {case.name}, {kind}, {f'{bits} bit' if bits else 'float'}"
                row: dict[str, Any] = {
                    "case": case.name, "kind": kind, "bits": bits, "device": arm[0],
                    "dtype": arm[1], "against": "plain port" if small else "CPU, float64",
                    **one(given, arm, wanted, what),
                }  # fmt: skip
                found.append(row)
                say(f"  right: {what:<42} {told(row)}")
    return found


def one(given: Pair, arm: Arm, wanted: Score, what: str) -> dict[str, float]:
    """Return by how much the scores and maps of one pair are off, and its MAD.

    Raises
    ------
    SnellenError
        Too much; or a picture differs from itself.
    """
    found, same = scored(given, *arm)
    refuse(row := apart(found, wanted), found.appearance.dtype.name, what)
    if any(getattr(same, name) for name in NUMBERS):
        raise SnellenError(f"{what}: a picture differs from itself: nothing is timed")
    return {"mad": float(found.mad), **row}


def scored(given: Pair, device: str, dtype: str | None) -> tuple[Score, Score]:
    """Return the scores of a pair, with maps, and those of the reference with itself."""
    with Scorer(device=device, dtype=dtype) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        found = scorer.run(given.reference, given.distorted, maps=True)
        return found, scorer.compare(given.reference)


def apart(found: Score, wanted: Score) -> dict[str, float]:
    """Return the largest difference of the three scores, relative, and of each map, of its most.

    Absolute where 0 is wanted; NaN where there is one.
    """
    numbers, exact = (np.array([getattr(s, name) for name in NUMBERS]) for s in (found, wanted))
    off = {"scores": np.max(np.abs(numbers - exact) / np.where(exact == 0, 1, exact))}
    for name in ("detection", "appearance"):
        whole = getattr(wanted, name)
        off[name] = np.max(np.abs(getattr(found, name) - whole)) / (whole.max() or 1)
    return {name: float(most) for name, most in off.items()}


def refuse(row: dict[str, float], dtype: str, what: str) -> None:
    """Stop the report where a score or a map is wrong.

    Raises
    ------
    SnellenError
        It names what is wrong.
    """
    limits = {"scores": SCORES[dtype], "detection": MAPS[dtype], "appearance": MAPS[dtype]}
    faults = [f"{name} off by {row[name]:.1e}" for name, most in limits.items()
              if not row[name] <= most]  # fmt: skip
    if faults:
        raise SnellenError(f"{what}: {', '.join(faults)}: nothing is timed")


def told(row: dict[str, Any]) -> str:
    """Return one line of what was found."""
    return (f"MAD {row['mad']:8.4f}, scores {row['scores']:.1e}, maps {row['detection']:.1e} and "
            f"{row['appearance']:.1e} off ({row['against']})")  # fmt: skip
