"""Steps 6 and 7 of A+: each output pixel is the low frequency plus the mean of its patches.

All windows that cover a pixel carry the same low frequency there, so the mean of (patch + window
of mid) is mid + mean of patches. Gathered by output pixel: no races, the same bytes each run.

The authors leave out windows within one low-resolution pixel of the picture's edge. Their windows
alone predict every pixel but the outermost ones, which fall to the windows of the picture extended
by replication; so do all pixels of a picture too small for one window of the authors'.
"""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled


@compiled
def overlap(patches, mid, scale, window, first_row, first_patch, size, out):  # type: ignore[no-untyped-def]
    """Sum up the patches of a strip of low-resolution rows.

    Parameters
    ----------
    patches : (rows, (w·s)², n) float32
        Patches (column by column) of the windows centred on whole rows.
    mid : (s·r, s·n) float32
        Low frequency under `out`.
    first_row, first_patch : int
        Low-resolution row of out[0] and of patches[0].
    size : (int, int)
        Height and width of the low-resolution picture.
    out : (s·r, s·n) float32
    """
    height, width = size
    half = window // 2
    tiny = min(height, width) < window + 2
    total = np.empty(width, np.float32)
    for r in range(out.shape[0] // scale):
        row = first_row + r
        pixels = out[r * scale : (r + 1) * scale]
        pixels[:] = mid[r * scale : (r + 1) * scale]
        top, bottom = max(0, row - half), min(height - 1, row + half)
        near = patches[top - first_patch : bottom + 1 - first_patch]
        outer = (0, width - 1)
        if tiny or row == 0 or row == height - 1:
            _add_means(near, row - top, scale, window, outer, outer, total, pixels)
            continue
        _add_means(near, row - top, scale, window, outer, (0, 0), total, pixels)
        _add_means(near, row - top, scale, window, outer, (width - 1, width - 1), total, pixels)
        top, bottom = max(half + 1, row - half), min(height - 2 - half, row + half)
        near = patches[top - first_patch : bottom + 1 - first_patch]
        inner = (half + 1, width - 2 - half)
        _add_means(near, row - top, scale, window, inner, (1, width - 2), total, pixels)


@compiled
def _add_means(near, row, scale, window, centres, columns, total, pixels):  # type: ignore[no-untyped-def]
    """Add to one low-resolution row of pixels the mean of the patches above them.

    Patches centred on rows `near` and columns centres[0]…centres[1] count; `row` is that of the
    pixels in `near`; only pixels of columns[0]…columns[1] are changed.
    """
    half = window // 2
    side = window * scale
    for x in range(scale):
        for y in range(scale):
            total[columns[0] : columns[1] + 1] = 0
            for d in range(-half, half + 1):
                begin = max(columns[0], centres[0] - d)
                end = min(columns[1], centres[1] - d) + 1
                for a in range(len(near)):
                    k = ((half - d) * scale + x) * side + (row - a + half) * scale + y
                    patch = near[a, k]
                    for c in range(begin, end):
                        total[c] += patch[c + d]
            for c in range(columns[0], columns[1] + 1):
                count = min(centres[1], c + half) - max(centres[0], c - half) + 1
                pixels[y, c * scale + x] += total[c] / np.float32(count * len(near))
