"""Appearance, step 3: the difference of the statistics of two pictures, over all subbands."""

from __future__ import annotations

from snellen.cpu.compiled import compiled

WEIGHTS = (0.5 / 13.25, 0.75 / 13.25, 1 / 13.25, 5 / 13.25, 6 / 13.25)
"""Weights of the scales, from fine to coarse; Larson & Chandler 2010, 3.2. Their sum is 1."""
SKEW = 2.0  # weight of the skewness; standard deviation and kurtosis have weight 1


@compiled
def difference(reference, distorted, out):  # type: ignore[no-untyped-def]
    """Compute Σ weight · (|Δ std| + 2 |Δ skewness| + |Δ kurtosis|) over scales and orientations.

    Parameters
    ----------
    reference, distorted : (5, orientations, 3, rows, columns)
        Statistics of all subbands, as `statistics.statistics` computes them.
    out : (rows, columns)
        Map of blocks.
    """
    for a in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[a, b] = 0
    for scale in range(reference.shape[0]):
        weight = WEIGHTS[scale]
        for orientation in range(reference.shape[1]):
            one, other = reference[scale, orientation], distorted[scale, orientation]
            for a in range(out.shape[0]):
                for b in range(out.shape[1]):
                    std = abs(one[0, a, b] - other[0, a, b])
                    skew = abs(one[1, a, b] - other[1, a, b])
                    kurtosis = abs(one[2, a, b] - other[2, a, b])
                    out[a, b] += weight * (std + SKEW * skew + kurtosis)
