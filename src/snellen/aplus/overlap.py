"""Steps 6 and 7 of A+: each output pixel is the low frequency plus the mean of its patches.

The authors average (patch + window of the low frequency `mid`) over all windows that cover a pixel.
These windows all have the same low frequency there, so the result is mid + mean of patches. The
code gathers by output pixel: threads do not race, and every run gives the same bytes.

The authors skip windows within one low-resolution pixel of the picture's edge. So do we for all
pixels that their windows cover. The outermost pixels get patches from the windows of the picture
extended by replication, and so do all pixels of a picture that is too small for one window of the
authors'.
"""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled


@compiled
def overlap(patches, mid, scale, window, first_row, first_patch, size, out):  # type: ignore[no-untyped-def]
    """Add low frequency and mean of patches, for a strip of r low-resolution rows.

    Parameters
    ----------
    patches : (rows, (w·s)², n) float32
        Patches by row of their windows' centres; pixels of a patch column by column.
    mid : (s·r, s·n) float32
        Low frequency of the same pixels as `out`.
    scale, window : int
        Magnification s, and side w of a window in low-resolution pixels.
    first_row, first_patch : int
        Low-resolution rows of out[0] and of patches[0].
    size : (int, int)
        Height and width of the low-resolution picture.
    out : (s·r, s·n) float32
        Luma.
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
    """Add the mean of the patches that cover them to the pixels of one low-resolution row.

    Parameters
    ----------
    near : (rows, (w·s)², n) float32
        Patches of the window rows that count.
    row : int
        Index in `near` of the pixels' low-resolution row.
    centres : (int, int)
        First and last column of the window centres that count.
    columns : (int, int)
        First and last low-resolution column of the pixels that are changed.
    total : (n,) float32
        Scratch.
    pixels : (s, s·n) float32
        The row; changed in place.
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
