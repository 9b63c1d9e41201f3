"""The CPU backend: strips of a frame in threads, each by `_lut` and `_narrow`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

import numpy as np

from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool, results
from snellen.filters.lut.planes import Planes
from snellen.frames.frame import Frame, Plane
from snellen.frames.quantise import quantise

_ROWS = 32
"""Chroma rows that a task makes."""


class Backend:
    """Sends frames of one format through a LUT. Holds the threads."""

    slots = 1  # one frame takes all threads

    def __init__(self, planes: Planes) -> None:
        self._planes = planes
        self._clipped = 0
        self._pool = Pool(threads.available())

    def run(self, frame: Frame) -> Frame:
        """Return a frame with new planes."""
        planes, target = frame.planes, self._planes.target
        out = tuple(np.empty(shape, target.dtype) for shape in target.shapes)
        with single_threaded():
            tasks = list(self._tasks(planes, out))
            found = results(tasks)
        self._clipped += sum(found)
        return replace(frame, planes=out)

    def clipped(self) -> int:
        """Return how many pixels had colours that were clipped, so far."""
        return self._clipped

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()

    def _tasks(self, planes: tuple[Plane, ...], out: tuple[Plane, ...]) -> Iterator[Future[int]]:
        for first in range(0, len(out[1]), _ROWS):
            yield self._pool.submit(self._strip, planes, out, first)

    def _strip(self, planes: tuple[Plane, ...], out: tuple[Plane, ...], first: int) -> int:
        """Make chroma rows from `first` on and their luma; return how many pixels were clipped."""
        p = self._planes
        last = min(first + _ROWS, len(out[1]))
        top, bottom = (min(row << p.halved[1], len(out[0])) for row in (first, last))
        taps = p.down.taps[first:last]
        begin, end = min(int(taps.min()), top), max(int(taps.max()) + 1, bottom)
        near = p.down.near[begin:end]
        above, below = int(near.min()), int(near.max()) + 1
        luma = np.ascontiguousarray(planes[0][begin:end], np.float32)
        cb, cr = (np.ascontiguousarray(one[above:below], np.float32) for one in planes[1:])
        wide = np.empty((2, *luma.shape), np.float32)
        lines = np.empty((2, cb.shape[1]), np.float32)
        counts = np.zeros(1, np.int64)
        _lut(
            luma, cb, cr, near - above, p.down.part[begin:end], p.across.near, p.across.part,
            p.table.reshape(-1), p.size, p.dimensions, p.to_index, p.from_rgb, p.slack,
            float(p.most), top - begin, bottom - begin, lines, wide, counts,
        )  # fmt: skip
        bits = p.target.bits
        quantise(luma[top - begin : bottom - begin], (1.0, 0.0), bits, out[0][top:bottom])
        small = np.empty((last - first, cb.shape[1]), np.float32)
        line = np.empty(luma.shape[1], np.float32)
        for plane, result in zip(wide, out[1:], strict=True):
            _narrow(
                plane, taps - begin, p.down.weights, p.across.taps, p.across.weights, line, small
            )  # fmt: skip
            quantise(small, (1.0, 0.0), bits, result[first:last])
        return int(counts[0])


@compiled
def _lut(  # type: ignore[no-untyped-def]
    luma, cb, cr, near, part, near_across, part_across, table, size, dimensions, to_index, from_rgb,
    slack, most, first, last, lines, wide, counts,
):  # fmt: skip
    """Send the pixels of a strip through the LUT; luma in place, chroma of each one to `wide`."""
    # Parameters are those of `planes.Planes`; `lines` is scratch. Clipped pixels are counted in
    # rows `first` … `last` − 1.
    end, zero = np.float32(size - 1), np.float32(0)
    least, greatest = np.float32(-0.5), np.float32(most) + np.float32(0.5)
    one = np.float32(1)
    to_r, to_g, to_b = to_index[0], to_index[1], to_index[2]
    to_y, to_u, to_v = from_rgb[0], from_rgb[1], from_rgb[2]
    clipped = 0
    for i in range(luma.shape[0]):
        above, below, t = near[i, 0], near[i, 1], part[i]
        for j in range(lines.shape[1]):
            lines[0, j] = cb[above, j] + t * (cb[below, j] - cb[above, j])
            lines[1, j] = cr[above, j] + t * (cr[below, j] - cr[above, j])
        for x in range(luma.shape[1]):
            before, after, t = near_across[x, 0], near_across[x, 1], part_across[x]
            y = luma[i, x]
            u = lines[0, before] + t * (lines[0, after] - lines[0, before])
            v = lines[1, before] + t * (lines[1, after] - lines[1, before])
            r = to_r[0] * y + to_r[1] * u + to_r[2] * v + to_r[3]
            g = to_g[0] * y + to_g[1] * u + to_g[2] * v + to_g[3]
            b = to_b[0] * y + to_b[1] * u + to_b[2] * v + to_b[3]
            below_black = r < -slack[0] or g < -slack[1] or b < -slack[2]
            above_white = r > end + slack[0] or g > end + slack[1] or b > end + slack[2]
            r, g, b = min(max(r, zero), end), min(max(g, zero), end), min(max(b, zero), end)
            at_r, at_g, at_b = min(int(r), size - 2), min(int(g), size - 2), min(int(b), size - 2)
            r, g, b = r - np.float32(at_r), g - np.float32(at_g), b - np.float32(at_b)
            if dimensions == 1:
                n = 3 * at_r
                red = table[n] + r * (table[n + 3] - table[n])
                n = 3 * at_g + 1
                green = table[n] + g * (table[n + 3] - table[n])
                n = 3 * at_b + 2
                blue = table[n] + b * (table[n + 3] - table[n])
            else:
                # The tetrahedron: from the cell's first entry along the axes, longest way first.
                step_r, step_g, step_b = 3, 3 * size, 3 * size * size
                n = step_r * at_r + step_g * at_g + step_b * at_b
                if r < g:
                    r, g, step_r, step_g = g, r, step_g, step_r
                if g < b:
                    g, b, step_g, step_b = b, g, step_b, step_g
                if r < g:
                    r, g, step_r, step_g = g, r, step_g, step_r
                m = n + step_r
                o = m + step_g
                p = o + step_b
                r, g, b, rest = one - r, r - g, g - b, b
                red = r * table[n] + g * table[m] + b * table[o] + rest * table[p]
                n, m, o, p = n + 1, m + 1, o + 1, p + 1
                green = r * table[n] + g * table[m] + b * table[o] + rest * table[p]
                n, m, o, p = n + 1, m + 1, o + 1, p + 1
                blue = r * table[n] + g * table[m] + b * table[o] + rest * table[p]
            y = to_y[0] * red + to_y[1] * green + to_y[2] * blue + to_y[3]
            u = to_u[0] * red + to_u[1] * green + to_u[2] * blue + to_u[3]
            v = to_v[0] * red + to_v[1] * green + to_v[2] * blue + to_v[3]
            luma[i, x], wide[0, i, x], wide[1, i, x] = y, u, v
            beyond = min(y, min(u, v)) < least or max(y, max(u, v)) > greatest
            if (below_black or above_white or beyond) and first <= i < last:
                clipped += 1
    counts[0] = clipped


@compiled
def _narrow(plane, taps, weights, taps_across, weights_across, line, out):  # type: ignore[no-untyped-def]
    """Make the chroma samples of a strip of those at all luma samples; `line` is scratch."""
    for i in range(out.shape[0]):
        for x in range(line.shape[0]):
            line[x] = 0
        for k in range(weights.shape[0]):
            row, weight = taps[i, k], weights[k]
            for x in range(line.shape[0]):
                line[x] += weight * plane[row, x]
        for x in range(out.shape[1]):
            total = np.float32(0)
            for k in range(weights_across.shape[0]):
                total += weights_across[k] * line[taps_across[x, k]]
            out[i, x] = total
