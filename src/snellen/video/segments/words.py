"""Parts and numbers of segments, as messages have them."""

from __future__ import annotations

from collections.abc import Iterable

_NAMED = 3
"""Parts of a film that are named where several are damaged alike."""

ALONE = "it is made in one piece, by one process of this machine"
"""So it is with a film that is not cut: there is nothing which workers would share."""


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
