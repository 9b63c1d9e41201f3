"""Curves of long films, drawn by fewer points than they have."""

from __future__ import annotations

from collections.abc import Collection

from snellen.report.contents import Contents

POINTS = 4000  # of a curve: more than a screen has pixels


def thinned(contents: Contents, pictured: Collection[int]) -> tuple[list[int], int]:
    """Return the rows that curves are drawn through, and of how many rows each is the worst.

    Of every so many rows it is the worst one of any variant, by `worst_by`, so that no peak
    is lost; those of which there are pictures stay.
    """
    rows = len(contents.names)
    every = -(-rows // POINTS)
    if every == 1:
        return list(range(rows)), 1
    metric = next(one for one in contents.metrics if one.name == contents.worst_by)
    sign = 1 if metric.better == "lower" else -1
    columns = [scores[metric.name] for scores in contents.scores]

    def badness(row: int) -> float:
        found = [column[row] for column in columns]
        return max((sign * one for one in found if one is not None), default=float("-inf"))

    keep = {max(range(at, min(at + every, rows)), key=badness) for at in range(0, rows, every)}
    return sorted(keep | set(pictured) | {row for row, _ in contents.worst}), every
