"""The network on the CPU: luma in strips of rows, each in a thread, by compiled convolutions.

Weights in half precision are exact in float32, so results differ from the definition only by the
rounding of float32 sums. Each sum has one order, so they do not depend on strips and threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import numpy as np
import numpy.typing as npt

from snellen.cnn.convolution import Convolution, padded
from snellen.cnn.definition import HALF, radius, unit
from snellen.cnn.model import Model
from snellen.cpu import threads
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format, Plane
from snellen.frames.quantise import quantise, recode
from snellen.gpu.profile import stage

COLUMNS = 384  # of a part, whose activations stay in a cache; its neighbours' 5 are computed twice
ROWS = (32, 288)  # least and most of a strip; as for columns, some are computed twice
STRIP = 32 << 20  # most bytes of a strip of the result, in float32

Float32 = npt.NDArray[np.float32]


class Luma:
    """Enlarges planes of luma of one format, whose width and height do not count."""

    def __init__(self, model: Model, source: Format, target: Format):
        self._scale, self._reach = model.scale, radius(model.layers)
        self._unit = unit(source) * HALF  # samples in a unit of v
        self._depth, self._bits = recode(source, target, chroma=False), target.bits
        self._channels = channels = padded(model.channels)
        self._layers = [
            Convolution(model.first_weight[:, None], model.first_bias, model.first_slope, 1),
            *(Convolution(*one, channels) for one in
              zip(model.body_weight, model.body_bias, model.body_slope, strict=True)),
        ]  # fmt: skip
        self._last = Convolution(model.last_weight, model.last_bias, None, channels)
        self._skip = Convolution(model.skip[:, None], None, None, 1)
        self._spare = max(one.block for one in (*self._layers, self._last, self._skip))

    def tasks(self, pool: Pool, plane: Plane, out: Plane) -> list[Future[None]]:
        """Let threads fill `out` (s·H, s·W) from `plane` (H, W); return the tasks."""
        return [pool.submit(self._strip, plane, *rows, out)
                for rows in strips(plane.shape, self._scale)]  # fmt: skip

    def close(self) -> None:
        """Do nothing: no thread and no file is held."""

    def _strip(self, plane: Plane, first: int, end: int, out: Plane) -> None:
        """Enlarge rows first … end−1 of `plane`, to their rows of `out`."""
        s, (height, width) = self._scale, plane.shape
        large = np.empty(((end - first) * s, width * s), np.float32)
        with stage("bicubic"):
            bicubic(plane, s, large, origin=(first * s, 0))
        rows = np.arange(first - self._reach, end + self._reach).clip(0, height - 1)
        buffers = self._buffers(len(rows), min(width, COLUMNS))
        for left in range(0, width, COLUMNS):
            count = min(COLUMNS, width - left)
            columns = np.arange(left - self._reach, left + count + self._reach).clip(0, width - 1)
            with stage("network"):
                codes = buffers[0][:, : len(columns), 0]
                codes[...] = plane[rows[:, None], columns]
                codes *= np.float32(1 / self._unit)
                codes -= np.float32(1)
                found = self._network(buffers, end - first, count)
            with stage("sum"):
                _add(found, np.float32(self._unit), s, left, count, large)
        quantise(large, self._depth, self._bits, out[first * s : end * s])

    def _buffers(self, rows: int, columns: int) -> tuple[Float32, Float32, Float32, Float32]:
        """Return memory for v, for the activations of two layers, and for r."""
        wide = columns + 2 * self._reach + 2 * self._spare
        return (
            np.zeros((rows, wide, 1), np.float32),
            np.zeros((rows, wide, self._channels), np.float32),
            np.zeros((rows, wide, self._channels), np.float32),
            np.zeros((rows, wide, self._last.made), np.float32),
        )

    def _network(
        self, buffers: tuple[Float32, Float32, Float32, Float32], rows: int, count: int
    ) -> Float32:
        """Return r, (rows, count or more, s² or more), of v in buffers[0]."""
        plane, now, other, found = buffers
        more = 2 * self._reach  # rows and columns that the next layer takes besides its results
        given = plane
        for layer in self._layers:
            more -= 2
            layer(given, now, rows + more, count + more)
            given, now, other = now, other, now
        self._last(given, found, rows, count)
        inset = self._reach - self._skip.side // 2
        self._skip(plane[inset:, inset:], found, rows, count)
        return found


def strips(shape: tuple[int, ...], scale: int) -> Iterator[tuple[int, int]]:
    """Yield first row and end of each strip of a plane."""
    height, width = shape
    most = max(1, min(STRIP // (4 * scale**2 * width), ROWS[1]))
    even = 2 * threads.available()  # strips that all threads get equally many of
    share = -(-height // (even * -(-height // (even * most))))
    rows = min(most, max(ROWS[0], share))
    for first in range(0, height, rows):
        yield first, min(first + rows, height)


@compiled
def _add(found, factor, scale, left, count, large):  # type: ignore[no-untyped-def]
    """Add r, of `count` columns from `left` on, to their pixels of the enlarged strip."""
    for y in range(large.shape[0] // scale):
        for i in range(scale):
            for x in range(count):
                for j in range(scale):
                    large[scale * y + i, scale * (left + x) + j] += (
                        factor * found[y, x, scale * i + j]
                    )
