"""What is measured: periods, batches, options, and blurred pictures that anybody can draw again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt

from snellen.bench.cases import picture
from snellen.mia import edges, psf
from snellen.mia.definition import ITERATIONS as ITERATIONS
from snellen.mia.definition import PSF_SIZE, SIDES, START, Definition

PHOTONS = 1000  # of white: Poisson noise of the pictures
STABLE = 2e-4
"""Total variation's weight. Above 2.5e-4 what is white and flat flickers, and float32 and float64
differ by as much (`Definition.tv`); a heavier weight takes no longer."""
READ_NOISE = 0.02
FRAMES = 3
OPTIONS_SIDE = 128  # the period of the options' own times
BATCH = 132  # pictures at once: one for each multiprocessor of an H200
LARGE = (4 * BATCH, 16 * BATCH)  # batches of the two smallest periods

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A period, and how many pictures at once."""

    side: int
    batch: int = 1

    @property
    def name(self) -> str:
        """Name in tables and JSON."""
        return f"{self.side}×{self.side}"


@dataclass(frozen=True, slots=True)
class Option:
    """What is asked for beside the default."""

    name: str
    definition: Definition = field(default_factory=Definition)
    frames: int = 1
    edges: str = "circular"


PLAIN = Option("Poisson")
OPTIONS = (
    Option("Gaussian", Definition("gaussian")),
    Option("given PSF", Definition(blind=False)),
    Option("total variation", Definition(tv=STABLE)),
    Option("read noise", Definition(read_noise=READ_NOISE)),
    Option(f"{FRAMES} frames", frames=FRAMES),
    Option("extend", edges="extend"),
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What an arm is started with, (B, M, H, W), (B, H, W), (B, M, H, W); float32 all."""

    y: npt.NDArray[np.float32]
    f: npt.NDArray[np.float32]
    h: npt.NDArray[np.float32]


def cases(quick: bool) -> list[Case]:
    """Return the periods, each with its batches."""
    sides = SIDES[::2] if quick else SIDES
    return [Case(side, batch) for side in sides for batch in batches(side, quick)]


def batches(side: int, quick: bool) -> Iterator[int]:
    """Give how many pictures of a period at once."""
    yield from (1, BATCH)
    if side <= SIDES[1] and not quick:
        yield from LARGE


@cache
def problem(side: int, option: Option = PLAIN) -> Problem:
    """Return one picture on a period, blurred and noisy, and where its restoration starts.

    Everything wraps around, so a shift of the whole is a problem of its own with the shifted
    solution: `shifted` makes batches of those.
    """
    random = np.random.default_rng([2017, side])
    size = support(side)
    sharp = picture(side, side).astype(np.float64)
    blurs = np.stack([walk(random, size) for _ in range(option.frames)])
    spectra = np.fft.rfft2(sharp) * np.fft.rfft2(psf.to_period(blurs, (side, side)))
    seen = np.fft.irfft2(spectra, sharp.shape).clip(0)
    frames = random.poisson(seen * PHOTONS) / PHOTONS
    if option.edges == "extend":
        inner = side - size + 1
        frames = frames[:, :inner, :inner]
    y, f = edges.place(frames, (side, side), size, option.edges)
    start = np.stack([psf.gaussian(START, size)] * option.frames)
    h = psf.to_period(start if option.definition.blind else blurs, (side, side))
    y, f, h = (array[None].astype(np.float32) for array in (y, f, h))
    return Problem(y, f, h)


def support(side: int) -> int:
    """Return the side of the PSF's support on a period: the default, or what a small one holds."""
    return min(PSF_SIZE, side // 2 - 1)


def walk(random: np.random.Generator, side: int) -> Float64:
    """Return the PSF (side, side) of a hand that shakes, sum 1."""
    steps = random.normal(0, 0.3, (400, 2)).cumsum(0)
    steps -= steps.mean(0)
    steps *= (side // 2 - 0.5) / max(np.abs(steps).max(), side // 2)
    out: Float64 = np.zeros((side, side))
    np.add.at(out, tuple(np.rint(steps).astype(int).T + side // 2), 1 / len(steps))
    return out


def shifted(given: Problem, batch: int) -> Problem:
    """Return a batch: the problem, and itself shifted on its period, each by another way."""
    return Problem(roll(given.y, batch), roll(given.f, batch), given.h.repeat(batch, 0))


def roll(planes: npt.NDArray[np.float32], batch: int) -> npt.NDArray[np.float32]:
    """Return planes (1, …, H, W) as (batch, …, H, W), shifted by `shift`."""
    return np.concatenate(
        [np.roll(planes, shift(i, planes.shape[-1]), (-2, -1)) for i in range(batch)]
    )


def shift(number: int, side: int) -> tuple[int, int]:
    """Return by how many rows and columns the picture of a number in a batch is shifted."""
    return 7 * number, 3 * number + number // side
