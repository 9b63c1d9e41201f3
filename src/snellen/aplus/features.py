"""Steps 3 and 4 of A+: collecting and PCA. Fused: the collected windows live in the caches only.

There is one window for each low-resolution pixel: `window` × `window` low-resolution pixels centred
on it. Its feature is the PCA of the four difference images under the window.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Float32 = npt.NDArray[np.float32]

# OpenBLAS multiplies without packing up to 10⁶ multiply-adds: 240 windows × 144 × 28 at ×2.
PRODUCT = 1_000_000


def margin(window: int) -> int:
    """Low-resolution pixels of the low frequency needed around centres: half a window, one tap."""
    return window // 2 + 1


def features(
    planes: Float32, window: int, row: int, left: int, basis: Float32, raw: Float32, out: Float32
) -> None:
    """Compute the features of n windows side by side.

    Parameters
    ----------
    planes : (4, s, s·(r + w − 1), · + w − 1) float32
        Differences by filter and column phase, window // 2 low-resolution pixels more all around
        than there are windows.
    row, left : int
        Row and first column of the windows.
    basis : (d, 4·(w·s)²) float32
        PCA basis, transposed. Columns: the four filters one after another, each window column by
        column.
    raw : (4·(w·s)², n) float32
        Scratch for the collected windows.
    out : (d, n) float32
        Features, one column for each window.
    """
    collect(planes, window, row, left, raw[:, None])
    step = max(16, PRODUCT // basis.size // 16 * 16)
    for n in range(0, raw.shape[1], step):
        np.matmul(basis, raw[:, n : n + step], out=out[:, n : n + step])


@compiled
def collect(planes, window, row, left, out):  # type: ignore[no-untyped-def]
    """Copy windows of the difference planes into out (4·(w·s)², r, n): r rows of n from `left`."""
    filters, scale, _, _ = planes.shape
    _, rows, columns = out.shape
    side = window * scale
    for r in range(rows):
        for f in range(filters):
            for kx in range(side):
                first = left + kx // scale
                for ky in range(side):
                    pixels = planes[f, kx % scale, (row + r) * scale + ky]
                    out[(f * side + kx) * side + ky, r] = pixels[first : first + columns]
