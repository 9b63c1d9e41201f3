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
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Float32 = npt.NDArray[np.float32]


def overlap(
    patches: Float32,
    mid: Float32,
    scale: int,
    window: int,
    first_row: int,
    first_patch: int,
    size: tuple[int, int],
    out: Float32,
) -> None:
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
    out[...] = mid
    total = np.empty(size[1], np.float32)
    _add_means(patches, scale, window, first_row, first_patch, *size, total, out)


@compiled
def _add_means(patches, scale, window, first_row, first_patch, height, width, total, out):  # type: ignore[no-untyped-def]
    """Add the mean of the patches that cover them to all pixels; `total` is scratch."""
    # A low-resolution row is changed in three parts: its first and its last column, which see all
    # windows, and what is between them, which sees those of the authors. A row at the edge, and one
    # of a tiny picture, is a single part.
    half, side = window // 2, window * scale
    tiny = min(height, width) < window + 2
    for r in range(out.shape[0] // scale):
        row = first_row + r
        whole = tiny or row == 0 or row == height - 1
        for part in range(1 if whole else 3):
            left, right = 0, width - 1  # columns of the pixels that are changed
            top, bottom = max(0, row - half), min(height - 1, row + half)  # windows that count
            begin, end = 0, width - 1
            if not whole:
                if part == 0:
                    right = 0
                elif part == 1:
                    left = width - 1
                else:
                    left, right = 1, width - 2
                    top, bottom = max(half + 1, top), min(height - 2 - half, bottom)
                    begin, end = half + 1, width - 2 - half
            rows = bottom + 1 - top
            for x in range(scale):
                for y in range(scale):
                    for c in range(left, right + 1):
                        total[c] = 0
                    for d in range(-half, half + 1):
                        start, stop = max(left, begin - d), min(right, end - d) + 1
                        for a in range(rows):
                            k = ((half - d) * scale + x) * side + (row - top - a + half) * scale + y
                            patch = patches[top - first_patch + a, k]
                            for c in range(start, stop):
                                total[c] += patch[c + d]
                    pixels = out[r * scale + y]
                    for c in range(left, right + 1):
                        count = min(end, c + half) - max(begin, c - half) + 1
                        pixels[c * scale + x] += total[c] / np.float32(count * rows)
