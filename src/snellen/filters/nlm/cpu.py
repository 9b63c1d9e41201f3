"""Non-local means on the CPU: compiled loops over tiles, in threads.

A tile's result does not depend on other tiles, so that it is the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool, results
from snellen.filters.nlm.definition import (
    BIN,
    BINS,
    BLOCK,
    MARGIN,
    PATCH,
    QUANTILE,
    SEARCH,
    STEP,
    TAPS,
    Settings,
    limit,
    shift,
    thresholds,
)
from snellen.frames.frame import Format, Plane
from snellen.frames.quantise import recode

Float32 = npt.NDArray[np.float32]

ROWS, COLUMNS = 32, 256
"""Size of a tile in samples: its scratch, 0.2 MB, stays in a core's cache."""


@dataclass(frozen=True, slots=True)
class Padded:
    """A group of planes with a mirrored margin, (planes, H + 2 MARGIN, W + 2 MARGIN)."""

    values: Float32
    """Samples."""
    levels: Float32
    """Levels: the same array where samples are levels."""
    threshold: tuple[np.float32, np.float32]
    """T and 1 / T."""


class Group:
    """Planes of one size that are denoised by common weights: luma, or both chroma planes."""

    def __init__(self, settings: Settings, planes: slice, source: Format, target: Format):
        self.planes, self._target = planes, target
        self._count = len(source.shapes[planes])
        self.shape = source.shapes[planes][0]
        self._shift = shift(source.bits)
        self._limit = np.float32(limit(self._count))
        self._thresholds = thresholds(settings, self._count, source.bits)
        factor, offset = recode(source, target, chroma=planes.start > 0)
        self._depth = (np.float32(factor), np.float32(offset), np.float32((1 << target.bits) - 1))

    def padded(self, frame: Sequence[Plane]) -> Padded:
        """Return the planes of a frame, ready to be compared."""
        planes = frame[self.planes]
        height, width = self.shape
        values = np.empty((len(planes), height + 2 * MARGIN, width + 2 * MARGIN), np.float32)
        levels = np.empty_like(values) if self._shift else values
        for plane, value, level in zip(planes, values, levels, strict=True):
            wide: Any = np.pad(plane, MARGIN, mode="symmetric")
            value[...] = wide
            if self._shift:
                level[...] = wide >> self._shift
        counts, lines = np.zeros(BINS + 1, np.int64), np.empty((2, width), np.float32)
        _count(levels, height, width, lines, np.empty(width // BLOCK, np.int64), counts)
        empty, counts = int(counts[BINS]), counts[:BINS]
        total = int(counts.sum())
        wanted = -(-total // QUANTILE) if empty <= total else 0
        exact, inverse = self._thresholds[int(np.searchsorted(counts.cumsum(), wanted))]
        return Padded(values, levels, (exact, inverse))

    def tasks(
        self,
        pool: Pool,
        frames: Sequence[Padded],
        centre: int,
        out: Sequence[Plane],
    ) -> list[Future[None]]:
        """Let threads denoise frame number `centre` of some; return each task."""
        tops = range(0, self.shape[0], ROWS)
        return [pool.submit(self.strip, frames, centre, out, top) for top in tops]

    def strip(self, frames: Sequence[Padded], centre: int, out: Sequence[Plane], top: int) -> None:
        """Fill rows of the results from row `top` on."""
        height, width = self.shape
        rows = min(ROWS, height - top)
        squares = np.empty((ROWS + TAPS - 1, COLUMNS + TAPS - 1), np.float32)
        lines = np.empty((2, COLUMNS + TAPS - 1), np.float32)
        sums = np.empty((self._count + 2, ROWS, COLUMNS), np.float32)
        this = frames[centre]
        for left in range(0, width, COLUMNS):
            columns = min(COLUMNS, width - left)
            sums[...] = 0
            for other in frames:
                _gather(
                    this.levels, other.levels, other.values, int(other is this), top, left, rows,
                    columns, *this.threshold, self._limit, squares, lines[0], lines[1], sums,
                )  # fmt: skip
            for number, plane in enumerate(out):
                _finish(
                    this.values, number, top, left, rows, columns, sums, *self._depth, plane
                )  # fmt: skip


class Backend:
    """Denoises frames of one format on the CPU. Holds the threads."""

    slots = 1  # one frame takes all threads

    def __init__(self, settings: Settings, source: Format, target: Format):
        self._target = target
        self._groups = [
            Group(settings, planes, source, target)
            for planes in groups(source)
        ]  # fmt: skip
        self._pool = Pool(threads.available())
        blank = Format(8, 8, source.bits)  # compiles
        group = Group(settings, slice(0, 1), blank, blank.scaled(1, target.bits))
        frame = group.padded([np.zeros((8, 8), source.dtype)])
        group.strip([frame], 0, [np.empty((8, 8), target.dtype)], 0)

    def take(self, planes: Sequence[Plane], ready: Any) -> list[Padded]:
        """Return what frames of a window are, made of the planes of a frame."""
        del ready  # planes in host memory can be read at once
        return [group.padded(planes) for group in self._groups]

    def begin(
        self, window: Sequence[list[Padded]], centre: int
    ) -> Callable[[], tuple[tuple[Plane, ...], Any]]:
        """Denoise frame number `centre` of a window; return a function that returns its planes."""
        out = tuple(np.empty(shape, self._target.dtype) for shape in self._target.shapes)
        tasks = [
            task
            for number, group in enumerate(self._groups)
            for task in group.tasks(
                self._pool, [frame[number] for frame in window], centre, out[group.planes]
            )
        ]
        results(tasks)
        return lambda: (out, None)

    def close(self) -> None:
        """End the threads, after the frame in work."""
        self._pool.shutdown()


def memory_of(settings: Settings, format: Format) -> int:
    """Return the bytes that the frames of a window take, without their margins."""
    samples = sum(height * width for height, width in format.shapes)
    return (2 * settings.radius + 1) * samples * (8 if shift(format.bits) else 4)


def groups(format: Format) -> list[slice]:
    """Return which planes of a frame are denoised by common weights: luma, and chroma."""
    return [slice(0, 1)] if format.subsampling is None else [slice(0, 1), slice(1, 3)]


@compiled
def _count(levels, height, width, lines, empty, counts):  # type: ignore[no-untyped-def]
    """Count the sums of the second differences of all blocks, in bins, and the empty blocks."""
    # `levels` has a margin; `lines` (2, W) and `empty` are scratch. Sums are integers below 2²⁴.
    row, line = lines[0], lines[1]
    across = (width - 2 * STEP) // BLOCK
    for p in range(levels.shape[0]):
        for i in range((height - 2 * STEP) // BLOCK):
            for x in range(BLOCK * across):
                line[x] = 0
            for j in range(across):
                empty[j] = 0
            for y in range(BLOCK * i, BLOCK * (i + 1)):
                a = levels[p, MARGIN + y, MARGIN:]
                b = levels[p, MARGIN + y + STEP, MARGIN:]
                c = levels[p, MARGIN + y + 2 * STEP, MARGIN:]
                for x in range(BLOCK * across):
                    left = a[x] - b[x] - b[x] + c[x]
                    z = x + STEP
                    middle = a[z] - b[z] - b[z] + c[z]
                    z = x + 2 * STEP
                    right = a[z] - b[z] - b[z] + c[z]
                    row[x] = abs(left - middle - middle + right)
                for x in range(BLOCK * across):
                    line[x] += row[x]
                for j in range(across):
                    total = np.float32(0)
                    for x in range(BLOCK * j, BLOCK * (j + 1)):
                        total += row[x]
                    if total == 0:
                        empty[j] = 1
            for j in range(across):
                total = np.float32(0)
                for x in range(BLOCK * j, BLOCK * (j + 1)):
                    total += line[x]
                    if line[x] == 0:
                        empty[j] = 1
                counts[BINS if empty[j] else min(int(total) // BIN, BINS - 1)] += 1


@compiled
def _gather(  # type: ignore[no-untyped-def]
    centre, other, values, same, top, left, rows, columns, exact, inverse, limit, squares, line,
    weights, sums,
):  # fmt: skip
    """Add a frame's samples to the sums of a tile, which begins at (top, left) of a frame.

    Parameters
    ----------
    centre, other : (planes, H + 2 MARGIN, W + 2 MARGIN) float32
        Levels of the frame that is denoised, and of the one that is added.
    values : float32, shaped alike
        Samples of that.
    same : int
        1 where both are one frame, whose samples are not compared with themselves.
    exact, inverse : float32
        T and 1 / T.
    squares : (rows + 2 PATCH, columns + 2 PATCH), line, weights : (columns + 2 PATCH,)
        Scratch, at least so large.
    sums : (planes + 2, rows, columns)
        Σ w value of each plane, Σ w, and the greatest w.
    """
    planes = centre.shape[0]
    wide = columns + TAPS - 1
    for down in range(2 * SEARCH + 1):
        for across in range(2 * SEARCH + 1):
            if same and down == SEARCH and across == SEARCH:
                continue
            for x in range(wide):
                line[x] = 0
            for y in range(rows + TAPS - 1):
                new = squares[y]
                for p in range(planes):
                    here = centre[p, top + SEARCH + y, left + SEARCH :]
                    there = other[p, top + down + y, left + across :]
                    if p == 0:
                        for x in range(wide):
                            difference = min(max(there[x] - here[x], -limit), limit)
                            new[x] = difference * difference
                    else:
                        for x in range(wide):
                            difference = min(max(there[x] - here[x], -limit), limit)
                            new[x] += difference * difference
                if y >= TAPS:
                    old = squares[y - TAPS]
                    for x in range(wide):
                        line[x] += new[x] - old[x]
                else:
                    for x in range(wide):
                        line[x] += new[x]
                if y < TAPS - 1:
                    continue
                i = y - TAPS + 1
                for x in range(columns):
                    distance = line[x]
                    for k in range(1, TAPS):
                        distance += line[x + k]
                    weight = max(exact - distance, np.float32(0)) * inverse
                    weight *= weight
                    weight *= weight
                    weights[x] = weight * weight
                total, most = sums[planes, i], sums[planes + 1, i]
                for x in range(columns):
                    total[x] += weights[x]
                    most[x] = max(most[x], weights[x])
                for p in range(planes):
                    sample = values[p, top + PATCH + down + i, left + PATCH + across :]
                    to = sums[p, i]
                    for x in range(columns):
                        to[x] += weights[x] * sample[x]


@compiled(strided=("out",))
def _finish(  # type: ignore[no-untyped-def]
    values, number, top, left, rows, columns, sums, factor, offset, white, out
):
    """Fill a tile of plane `number` of the result with the means, each sample itself included."""
    planes = sums.shape[0] - 2
    for i in range(rows):
        sample = values[number, MARGIN + top + i, MARGIN + left :]
        for x in range(columns):
            own = sums[planes + 1, i, x]
            if own == 0:
                own = np.float32(1)
            mean = (sums[number, i, x] + own * sample[x]) / (sums[planes, i, x] + own)
            code = min(max(mean * factor + offset, np.float32(0)), white)
            out[top + i, left + x] = np.rint(code)
