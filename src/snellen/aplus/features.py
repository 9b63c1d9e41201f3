"""Steps 3 and 4 of A+: collect the windows of the difference images, and project them by PCA.

Each low-resolution pixel has a window: the `window` × `window` low-resolution pixels centred on it.
The window's feature is the PCA of the four difference images under it. Both steps run on one row of
windows at a time, so that the collected windows stay in the CPU's caches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Float32 = npt.NDArray[np.float32]

# Multiply-adds of one matrix product: OpenBLAS does not pack matrices up to this size. At ×2 this
# is 240 windows × 144 samples × 28 dimensions.
PRODUCT = 1_000_000


def margin(window: int) -> int:
    """Return the reach of a feature around its window's centre, in low-resolution pixels.

    It consists of half a window and one tap of the difference filters.
    """
    return window // 2 + 1


def features(
    planes: Float32, window: int, row: int, left: int, basis: Float32, raw: Float32, out: Float32
) -> None:
    """Compute the features of n neighbouring windows of one row.

    Parameters
    ----------
    planes : (4, s, s·(rows + w − 1), columns + w − 1) float32
        Differences by filter and column phase, as `differences.differences` computes them, of a
        strip of rows × columns windows with a margin of w // 2 low-resolution pixels on each side.
    window : int
        Side w of a window in low-resolution pixels.
    row, left : int
        Row of the windows in the strip, and column of the first of them.
    basis : (d, 4·(w·s)²) float32
        PCA basis, transposed. Its columns are ordered by filter, then by column and row of the
        window's high-resolution pixels.
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
    """Copy windows of the difference planes, one window for each element of the last two axes.

    Parameters
    ----------
    planes, window, row, left
        See `features`; `row` is the first row of windows.
    out : (4·(w·s)², r, n) float32
        Samples of r rows of n windows each.
    """
    filters, scale = planes.shape[0], planes.shape[1]
    rows, columns = out.shape[1], out.shape[2]
    side = window * scale
    for r in range(rows):
        for f in range(filters):
            for kx in range(side):
                first = left + kx // scale
                for ky in range(side):
                    pixels = planes[f, kx % scale, (row + r) * scale + ky][first:]
                    sample = out[(f * side + kx) * side + ky, r]
                    for n in range(columns):
                        sample[n] = pixels[n]
