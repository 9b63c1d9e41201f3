"""Appearance, steps 1 and half of 2, on the GPU in two kernels: a spectrum to moments of tiles.

They hold the filters, the inverse transforms and the magnitudes, for sizes of small factors. Each
subband is written once and read once, between rows and columns; with cuFFT it is four times each.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement, permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.gpu.kernel import Kernel
from snellen.gpu.profile import stage
from snellen.mad.cuda.precision import literal, row, types
from snellen.mad.definition import STEP
from snellen.mad.loggabor import ORIENTATIONS, SIGMA_ON_F, THETA_SIGMA, WAVELENGTHS

FEWEST = 1 << 17  # pixels
RADICES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
EACH = 4  # subbands of a block of the kernel `rows`
LINES = 2  # how many of them at a time; it divides EACH, and 32
ROUNDS = (2, 3)  # butterflies of a thread in each step, of the kernels `rows` and `columns`
REGISTERS = 80  # of a thread, at most
MOST = 65536  # registers of a multiprocessor
SHARED = 220 << 10  # bytes of shared memory of a multiprocessor that blocks may take together
TABLE = (32, 8)  # threads (x, y) of a block of the kernel `coordinates`


class Line(NamedTuple):
    """How lines of one length are transformed: see line.cuh.

    Attributes
    ----------
    radices : (int, int, int)
        Factors of the length, for three steps.
    lines : int
        Lines side by side.
    rounds : int
        Butterflies of a thread in each step, at most.
    """

    radices: tuple[int, int, int]
    lines: int
    rounds: int

    @property
    def length(self) -> int:
        """Values of a line."""
        return int(np.prod(self.radices))

    @property
    def stride(self) -> int:
        """Cells from one value of the first step to the next, odd."""
        return self.radices[1] * self.radices[2] | 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        butterflies = self.length // min(self.radices) * self.lines
        return 32 * -(-butterflies // (32 * self.rounds))

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block."""
        return 8 * self.radices[0] * self.stride * self.lines

    @property
    def blocks(self) -> int:
        """Blocks that registers of a multiprocessor should suffice for."""
        fit = min(SHARED // (self.shared + 1024), MOST // (self.threads * REGISTERS))
        return max(1, min(fit, 16))

    def twiddles(self) -> npt.NDArray[np.complex64]:
        """Return the factors of the first two steps."""
        one, two, three = self.radices
        first = np.outer(np.arange(1, one), np.arange(two * three)) / self.length
        second = np.outer(np.arange(1, two), np.arange(three)) / (two * three)
        turns = np.concatenate([first.ravel(), second.ravel()])
        return np.exp(2j * np.pi * turns).astype(np.complex64)


@cache
def divided(length: int) -> tuple[int, int, int] | None:
    """Return the best three factors of a length, in order; None where there are none.

    The least factor determines how many threads are needed. The order avoids bank conflicts (of
    greatest factor last) where rows of tiles are whole between results of a thread.
    """
    found = [
        three
        for three in combinations_with_replacement(RADICES, 3)
        if three[0] * three[1] * three[2] == length
    ]
    if not found:
        return None
    orders = [(a, b, c) for a, b, c in permutations(max(found))]
    return max(orders, key=lambda r: (r[0] * r[1] % STEP == 0, r[2], r[0]))


def lines(height: int, width: int) -> tuple[Line, Line]:
    """Return the lines of the kernels `rows` and `columns`; ValueError where there are none."""
    across, down = divided(width), divided(height)
    if not across or not down:
        raise ValueError(f"got {width}×{height}; expected sizes of three small factors")
    return Line(across, LINES, ROUNDS[0]), Line(down, STEP, ROUNDS[1])


def fits(height: int, width: int) -> bool:
    """Return whether there are kernels for a size."""
    return bool(divided(height) and divided(width))


def suits(height: int, width: int) -> bool:
    """Return whether the current GPU has the kernels for a size, and they are faster than cuFFT."""
    import cupy

    if height * width < FEWEST or not fits(height, width):
        return False
    most = int(cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"])
    return max(one.shared for one in lines(height, width)) <= most


class Subbands:
    """The subbands of planes of one size, in float32.

    Parameters
    ----------
    height, width : int
        A size that `fits`.
    most : int
        Greatest number of subbands at a time.
    """

    def __init__(self, height: int, width: int, most: int):
        import cupy

        self._across, self._down = lines(height, width)
        self._rows, self._columns, table = kernels(height, width)
        self._height, self._width = height, width
        self._gain = np.float32(1 / (width * height))
        self._factors = [cupy.asarray(one.twiddles()) for one in (self._across, self._down)]
        self._coordinates = cupy.empty((height, width, 2), np.float32)
        grid = (-(-width // TABLE[0]), -(-height // TABLE[1]))
        table(grid, TABLE, width, height, self._coordinates)
        cupy.cuda.get_current_stream().synchronize()  # other streams will read them
        self._tiles = (height // STEP, width // STEP)
        self.scratch = cupy.empty((most, self._tiles[1], height, STEP), np.complex64)
        self._moments = cupy.empty((most, *self._tiles, 4), np.float32)

    def __call__(self, spectrum: Any, part: range) -> Any:
        """Compute some subbands.

        Parameters
        ----------
        spectrum : (H, W // 2 + 1) complex64
            Half spectrum of a real plane.
        part : range
            Numbers of the filters.

        Returns
        -------
        (count, H // 4, W // 4, 4) float32
            Of the magnitudes in each tile the mean, and the sums of second, third and fourth powers
            of what they differ from it. The next call overwrites it.
        """
        count = len(part)
        with stage("filters and rows"):
            self._rows(
                self._height * -(-count // EACH), self._across.threads, spectrum,
                self._coordinates, self._factors[0], self._height, self._gain, part.start, count,
                self.scratch, shared=self._across.shared,
            )  # fmt: skip
        with stage("columns and tiles"):
            self._columns(
                (self._tiles[1], count), self._down.threads, self.scratch, self._factors[1],
                self._moments, shared=self._down.shared,
            )  # fmt: skip
        return self._moments[:count]


def kernels(height: int, width: int) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels rows, columns and coordinates for a size, not yet compiled."""
    folder, (across, down) = Path(__file__).parent, lines(height, width)
    unit = np.sqrt(np.log2(np.e) / 2)  # for exponents of 2: exp(−d² / (2 σ²)) = 2^−(d unit / σ)²
    radial, angular = unit / -np.log(SIGMA_ON_F), unit / THETA_SIGMA
    rows = Kernel(
        folder / "rows.cu", "rows", **_constants(across), each=EACH,
        scales=len(WAVELENGTHS), orientations=ORIENTATIONS,
        log_half_wavelengths=row(radial * np.log(wave / 2) for wave in WAVELENGTHS),
        half_turn=literal(angular * np.pi),
    )  # fmt: skip
    columns = Kernel(folder / "columns.cu", "columns", **_constants(down))
    table = Kernel(
        folder / "coordinates.cu", "coordinates", radial=literal(radial),
        angular=literal(angular), **types("float64"),
    )  # fmt: skip
    return rows, columns, table


def _constants(line: Line) -> dict[str, Any]:
    one, two, three = line.radices
    return {
        "r1": one, "r2": two, "r3": three, "lines": line.lines, "stride": line.stride,
        "threads": line.threads, "blocks": line.blocks, **types("float32"),
    }  # fmt: skip
