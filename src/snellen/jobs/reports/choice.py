"""The choice of frames that a report shows: the worst ones, and some all over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snellen.jobs.steps.score_table import ScoreRow, ScoreTable
from snellen.metrics.registry import of_column

_WORST = 3  # frames that are shown because they are the worst
_APART = 16  # of the worst frames: this part of the film at least lies between two


@dataclass(frozen=True, slots=True)
class Choice:
    """Rows that all variants have, and which of them are shown."""

    rows: tuple[tuple[ScoreRow, ...], ...]
    """The scores of each frame, one for each variant."""
    shown: tuple[int, ...]
    """Places in `rows`, those first that must be kept."""
    worst: tuple[tuple[int, int], ...]
    """Place and variant of the worst, the worst first; they are among `shown`."""
    by: str
    """The score by which they are the worst."""


def choose(tables: Sequence[ScoreTable], count: int) -> Choice:
    """Return the choice of `count` frames.

    The worst are those of the highest MAD of any variant, where that is 0 in all frames of the
    highest LO, or without MAD of the worst first other metric; those close to a worse one do not
    count, since they look alike, nor do those that equal the reference.
    """
    numbered = [{row.frame: row for row in table.rows} for table in tables]
    frames = [one for one in numbered[0] if all(one in rows for rows in numbered[1:])]
    rows = tuple(tuple(rows[frame] for rows in numbered) for frame in frames)
    name = tables[0].scores[0]
    if name == "mad" and not any(one.mad for row in rows for one in row):
        name = "lo"  # which sees differences that MAD takes for invisible
    metric = of_column(name)
    sign = 1 if metric.better == "lower" else -1
    bad = [[sign * one.scores[name] for one in row] for row in rows]
    equal = float("-inf") if metric.identical is None else sign * metric.identical
    order = sorted(range(len(rows)), key=lambda at: -max(bad[at]))
    apart = len(rows) // _APART
    worst: list[int] = []
    for at in order:
        if len(worst) == min(_WORST, max(1, count // 2)) or max(bad[at]) <= equal:
            break
        if all(abs(at - one) > apart for one in worst):
            worst.append(at)
    shown = list(worst)
    more = min(count, len(rows)) - len(shown)
    for one in range(more):
        free = [at for at in range(len(rows)) if at not in shown] if len(rows) < 4096 else None
        goal = int((one + 0.5) / more * len(rows))
        nearest = goal if free is None else min(free, key=lambda at: abs(at - goal))
        if nearest not in shown:
            shown.append(nearest)
    found = tuple((at, bad[at].index(max(bad[at]))) for at in worst)
    return Choice(rows, tuple(shown), found, name)
