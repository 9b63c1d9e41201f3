"""What a kind of case is, and the register of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from fuzz.case import Make, Random
from fuzz.mutators import mutated


@dataclass(frozen=True)
class Kind:
    """A kind of case."""

    make: Make
    weight: float
    """How often, relative to the others."""


KINDS: dict[str, Kind] = {}


def kind(weight: float) -> Callable[[Make], Make]:
    """Register a function as the kind of its name."""

    def register(make: Make) -> Make:
        KINDS[make.__name__] = Kind(make, weight)
        return make

    return register


WHOLE = 0.06
"""Share of the cases whose file is not harmed: these must not give an alarm."""


def perhaps(random: Random, data: bytes, other: bytes = b"") -> tuple[bytes, str]:
    """Return data that is harmed, but for the share WHOLE, and in what way."""
    return (data, "whole") if random.random() < WHOLE else mutated(random, data, other)


_ODD: tuple[Any, ...] = (None, "", "x", -1, 0, 1.5, True, [], {}, [[]], {"$path": ""}, "a\0b",
        {"$path": "in"},
        {"$path": "a\0b"}, {"$fraction": "1/0"}, {"$fraction": "x"}, {"$type": "Job"}, 2**63,
        10**400, float("nan"), float("inf"), {"$mapping": 3}, {"$path": 5}, {"$type": "Clip"},
        "\udc80", [1, 2, 3], {"$type": ["x"]}, "\x1b[31m", [[[[[0]]]]], -(2**63), 2**31,
        {"$fraction": 5})  # fmt: skip


def odd(random: Random, facts: dict) -> dict:
    """Return a copy with one to three values replaced, or fields added and removed."""
    for _ in range(random.choice((1, 1, 2, 3))):
        place, here, key = facts, None, None
        while isinstance(place, dict | list) and place and (here is None or random.random() < 0.7):
            here = place
            key = random.choice(sorted(here) if isinstance(here, dict) else range(len(here)))
            place = here[key]
        if here is None or key in ("target", "folder"):
            continue
        what = random.random()
        if what < 0.85 or isinstance(here, list):
            here[key] = deepcopy(random.choice(_ODD))  # as further values may go into it
        elif what < 0.93:
            here[random.choice(("source", "threads", "x", "$type", "scale", "overwrite"))] = (
                deepcopy(random.choice(_ODD))
            )
        else:
            del here[key]
    return facts
