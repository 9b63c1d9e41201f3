"""Steps 2 to 4 of A+: differences, collecting, PCA. Fused: the raw windows live in the cache only.

There is one window for each low-resolution pixel: `window` × `window` low-resolution pixels
centred on it. Its feature is the PCA of four difference images under the window (first and second
differences, across and down, taps one low-resolution pixel apart).
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]

FILTERS = 4  # G, Gᵀ, L, Lᵀ: Timofte, De Smet, Van Gool 2014, as in Zeyde et al. 2010


def margin(window: int) -> int:
    """Low-resolution pixels of `mid` needed around the centres: half a window and one tap."""
    return window // 2 + 1


def features(
    mid: Float32, scale: int, window: int, basis: Float32, raw: Float32, out: Float32
) -> None:
    """Compute the features of a strip of windows.

    Parameters
    ----------
    mid : (s·(r + 2m), s·(n + 2m)) float32
        Bicubic enlargement of r × n low-resolution pixels with m = margin(window) pixels around.
    basis : (4·(w·s)², d) float32
        PCA basis. Rows: the four filters one after another, each window column by column.
    raw : (4·(w·s)², r·n) float32
        Scratch for the collected windows.
    out : (d, r·n) float32
        Features, one column for each window, row by row.
    """
    across = raw.shape[1] // (mid.shape[0] // scale - 2 * margin(window))
    collect(mid, scale, window, raw.reshape(len(raw), -1, across))
    np.matmul(basis.T, raw, out=out)


@numba.njit(nogil=True, cache=True)
def collect(mid, scale, window, out):  # type: ignore[no-untyped-def]
    """Differences (step 2) and collecting (step 3) into out (4·(w·s)², r, n)."""
    side = window * scale
    ahead, behind = (scale + 1) // 2, scale // 2
    half = np.float32(0.5)
    _, rows, columns = out.shape
    for r in range(rows):
        for kx in range(side):
            for ky in range(side):
                i = (r + 1) * scale + ky
                k = kx * side + ky
                j = scale + kx
                for x in range(columns):
                    out[k, r, x] = mid[i, j + ahead + x * scale] - mid[i, j - behind + x * scale]
                k += side * side
                for x in range(columns):
                    out[k, r, x] = mid[i + ahead, j + x * scale] - mid[i - behind, j + x * scale]
                k += side * side
                for x in range(columns):
                    out[k, r, x] = (
                        half * (mid[i, j + scale + x * scale] + mid[i, j - scale + x * scale])
                        - mid[i, j + x * scale]
                    )
                k += side * side
                for x in range(columns):
                    out[k, r, x] = (
                        half * (mid[i + scale, j + x * scale] + mid[i - scale, j + x * scale])
                        - mid[i, j + x * scale]
                    )
