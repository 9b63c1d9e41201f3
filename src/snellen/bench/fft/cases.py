"""What is transformed: sizes, batches, and numbers that anybody can draw again."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library
from snellen.mia.definition import SIDES

KINDS = ("fft2", "ifft2", "rfft2", "irfft2")
"""Our transforms, by the names and with the scaling of NumPy's."""
REPEATED = {1: 100, 132: 20, 1024: 4}
"""Batches, and how often each is transformed in one CUDA graph, so that no launch counts."""
MIXED = ((32, 256), (64, 128), (256, 32))
"""Periods of unlike sides, which are checked only."""
DISTINCT = 127
"""Different planes of a batch. A prime: a block that takes the plane of another, some
multiprocessors further, is seen."""

Shape = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """One transform."""

    kind: str
    shape: Shape
    """Rows and columns of the whole plane."""
    batch: int = 1

    @property
    def name(self) -> str:
        """Name in tables and JSON."""
        return f"{self.shape[0]}×{self.shape[1]}"

    @property
    def made(self) -> Shape:
        """Rows and columns of what comes out."""
        return self.half if self.kind == "rfft2" else self.shape

    @property
    def half(self) -> Shape:
        """Rows and columns of half a spectrum."""
        return self.shape[0], self.shape[1] // 2 + 1

    @property
    def dtype(self) -> str:
        """What comes out."""
        return "float32" if self.kind == "irfft2" else "complex64"

    @property
    def bytes(self) -> int:
        """Read and written at least."""
        whole, half = (rows * columns for rows, columns in (self.shape, self.half))
        each = 16 * whole if self.kind in ("fft2", "ifft2") else 4 * whole + 8 * half
        return self.batch * each


def cases(quick: bool) -> list[Case]:
    """Return what is timed."""
    sides, batches = (SIDES[::2], (1, 132)) if quick else (SIDES, tuple(REPEATED))
    kinds = KINDS[:2] if quick else KINDS
    return [Case(kind, (side, side), batch)
            for side in sides for kind in kinds for batch in batches]  # fmt: skip


def drawn(case: Case) -> npt.NDArray[Any]:
    """Return the different planes of a batch: noise, or for irfft2 the half spectra of noise."""
    return _drawn(case.kind, case.shape, min(case.batch, DISTINCT))


@lru_cache(2)
def _drawn(kind: str, shape: Shape, count: int) -> npt.NDArray[Any]:
    random = np.random.default_rng([2017, *shape])
    plane = random.standard_normal((count, *shape), np.float32)
    if kind == "rfft2":
        return plane
    if kind == "irfft2":
        return np.fft.rfft2(plane.astype(np.float64)).astype(np.complex64)
    return plane + np.complex64(1j) * random.standard_normal(plane.shape, np.float32)


def batched(planes: Any, batch: int) -> Any:
    """Return the planes (NumPy's or CuPy's) again and again, up to a batch."""
    return planes[library(planes).arange(batch) % len(planes)]
