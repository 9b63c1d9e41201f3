"""What each kernel must do at least: bytes to and from memory, and operations."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.aplus.cuda.layout import padded
from snellen.aplus.cuda.regress import cell
from snellen.aplus.model import WINDOW
from snellen.bench.cases import GPU_CASES, Case

DIMS = {2: 28, 3: 30, 4: 31}
ANCHORS = 1024
"""Of the shipped models."""


@dataclass(frozen=True, slots=True)
class Need:
    """Of one kernel and one frame. Every array counts once in each direction."""

    bytes: int
    operations: int
    """Of the method: a multiply-add is two, and one that is done in parts counts once."""


def needs(case: Case, settled: float = 0.0) -> dict[str, Need]:
    """Return what the stages need for an 8-bit plane and a shipped model.

    Parameters
    ----------
    settled : share of the patches that float32 settles
    """
    s, w, dims = case.scale, WINDOW, DIMS[case.scale]
    n = case.width * case.height
    feature = 4 * padded(dims) * n
    samples = -(-(w**2) * cell(s) // 8) * 8
    listed = round(settled * n)
    projections = 2 * ANCHORS * samples * padded(dims)
    return {
        "features": Need(n + feature, 2 * (w + 6) ** 2 * dims * n),
        "match": Need(feature + 2 * n, 2 * ANCHORS * dims * n),
        "settle": Need(4 * padded(dims) * listed, 2 * ANCHORS * dims * listed),
        "group": Need(8 * n, 0),
        "regress": Need(
            feature + 4 * samples * n + 6 * n + projections, 2 * (w * s) ** 2 * dims * n
        ),
        "overlap": Need(4 * samples * n + n + s * s * n, (w * w + 16) * s * s * n),
    }


def table() -> str:
    """Return megabytes and billions of operations of each kernel for every case."""
    from snellen.bench.table import rows

    names = list(needs(GPU_CASES[0]))
    body = []
    for case in GPU_CASES:
        found = needs(case, 0.01)
        told = [f"{found[n].bytes / 1e6:.0f} MB, {found[n].operations / 1e9:.3g} G" for n in names]
        body.append([case.name, *told, f"{sum(one.bytes for one in found.values()) / 1e6:.0f} MB"])
    head = [name if name != "settle" else "settle, if 1 % is listed" for name in names]
    return rows(["bytes, operations", *head, "all"], body)
