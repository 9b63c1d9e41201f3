"""Phrases that messages share."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

_NAMED = 3
"""Parts of a film that are named where several are damaged alike."""


def counted(number: int, thing: str) -> str:
    """Return e.g. '1 packet' or '2 packets'."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clock(seconds: Fraction) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(float(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:06.3f}".removesuffix(".000")


def parts(begins: list[str]) -> str:
    """Return in words which parts of a film are meant; neighbours may mean the same damage."""
    if len(begins) == 1:
        return f"in the part from {begins[0]}"
    more = len(begins) - _NAMED
    if more > 0:
        return f"in the parts from {', '.join(begins[:_NAMED])} and {more} more"
    return f"in the parts from {', '.join(begins[:-1])} and {begins[-1]}"


def spans(numbers: Iterable[int]) -> str:
    """Return numbers in words, as "1:3, 7": rising ones as the first and the last."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][-1] == number - 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number])
    return ", ".join(":".join(map(str, one)) for one in found)
