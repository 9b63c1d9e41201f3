"""What is measured: sizes, and pairs of pictures that anybody can draw again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from snellen.bench.cases import codes, picture
from snellen.frames.frame import Format, Plane
from snellen.mad.definition import WHITE


@dataclass(frozen=True, slots=True)
class Case:
    """One picture size."""

    width: int
    height: int

    @property
    def name(self) -> str:
        """Name in tables and JSON."""
        return f"{self.width}×{self.height}"


CASES = (Case(512, 512), Case(1920, 1080), Case(3840, 2160))
SMALL = Case(123, 95)
KINDS = ("noise", "blur", "coarse")
SPREAD = 0.02  # standard deviation of the noise, of white
LEVELS = 16  # of the coarse picture


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference and a distorted picture of it."""

    reference: Plane
    distorted: Plane
    bits: int
    """Of integer samples; 0: floats, where 1 is white."""

    @property
    def format(self) -> Format:
        """Return the format of both planes."""
        return Format(self.reference.shape[1], self.reference.shape[0], self.bits)

    @property
    def peak(self) -> float:
        """Return the sample value of white."""
        return float((1 << self.bits) - 1) if self.bits else 1.0

    def grey(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return both in float64, where 255 is white."""
        one, other = (
            plane.astype(np.float64) * (WHITE / self.peak)
            for plane in (self.reference, self.distorted)
        )
        return one, other


def pair(case: Case, kind: str = "noise", bits: int = 8) -> Pair:
    """Return a picture and a distorted one."""
    clean = picture(case.width, case.height)
    if kind == "noise":
        spoilt = clean + np.random.default_rng(2).normal(0, SPREAD, clean.shape)
    elif kind == "blur":
        around = [np.roll(clean, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        spoilt = np.mean(around, axis=0)
    else:
        spoilt = np.rint(clean * LEVELS) / LEVELS
    return Pair(codes(clean, bits), codes(spoilt.clip(0, 1).astype(np.float32), bits), bits)
