"""Step 2 of A+: four difference images, whose filter taps are one low-resolution pixel apart."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled

FILTERS = 4  # G, Gᵀ, L, Lᵀ: Timofte, De Smet, Van Gool 2014, as in Zeyde et al. 2010


@compiled
def differences(mid, scale, centred, out):  # type: ignore[no-untyped-def]
    """Compute first and second differences of a strip, across and down.

    The filters are G = [1 O −1] and L = [1 O −2 O 1]/2, where O stands for s − 1 zeros. At ×3, G
    cannot be centred on a pixel; models of format 2 take the mean of its two places there.

    Parameters
    ----------
    mid : (s·r, s·n) float32
        Low frequency. Its outermost low-resolution pixels are taps only.
    scale : int
        Magnification s.
    centred : bool
        Whether G is centred at ×3.
    out : (4, s, s·(r − 2), n − 2) float32
        Differences by filter (G, Gᵀ, L, Lᵀ) and column phase: column x of phase c is pixel s·x + c.
        Pixels that are one low-resolution pixel apart are neighbours in memory, so windows are
        collected by copying parts of rows.
    """
    ahead, behind = (scale + 1) // 2, scale // 2
    half = np.float32(0.5)
    rows, columns = out.shape[2], out.shape[3]
    for i in range(rows):
        y = i + scale
        row, above, below = mid[y], mid[y - scale], mid[y + scale]
        before, after = mid[y - behind], mid[y + ahead]
        for c in range(scale):
            first, second = scale + c, scale * 2 + c  # this pixel, and the next low-resolution one
            for x in range(columns):
                j = x * scale + first
                out[0, c, i, x] = row[j + ahead] - row[j - behind]
            for x in range(columns):
                j = x * scale + first
                out[1, c, i, x] = after[j] - before[j]
            if centred and ahead != behind:
                for x in range(columns):
                    j = x * scale + first
                    other = row[j + behind] - row[j - ahead]
                    out[0, c, i, x] = half * (out[0, c, i, x] + other)
                for x in range(columns):
                    j = x * scale + first
                    other = mid[y + behind, j] - mid[y - ahead, j]
                    out[1, c, i, x] = half * (out[1, c, i, x] + other)
            for x in range(columns):
                j = x * scale
                out[2, c, i, x] = half * (row[j + second] + row[j + c]) - row[j + first]
            for x in range(columns):
                j = x * scale + first
                out[3, c, i, x] = half * (below[j] + above[j]) - row[j]
