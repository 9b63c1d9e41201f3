"""MIA: 200 iterations of pictures on one period, blind Poisson, many at once, and its options.

Everything wraps around. So a shifted problem has the shifted solution: a batch is one problem with
a shift of its own for each picture, and each result is compared with the same float64 solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.bench.inputs import picture
from snellen.bench.reference import mia as reference
from snellen.bench.runner import Case, Figures, Kernel
from snellen.errors import SnellenError
from snellen.frames import arrays
from snellen.mia.definition import ITERATIONS, PSF_SIZE, SIDES, START, UNOBSERVED, Definition
from snellen.mia.image import deblur

BATCH = 132
"""Pictures at once: one for each multiprocessor of an H200."""
LARGE = {32: (4 * BATCH, 16 * BATCH), 64: (4 * BATCH, 16 * BATCH)}
"""Larger batches, of small periods."""
OPTIONS_SIDE = 128
"""Period of the options."""
SHORT = 20
"""Iterations of a batch on the CPU; each takes as long as the next, times are scaled to all."""
PHOTONS = 1000
"""Photons of a white pixel: Poisson noise of the pictures."""
WITHIN = 1e-4
"""Greatest error of f and h after all iterations, of their peaks, as is asked of float32 (the
paper: 2e-3)."""
STABLE = 2e-4
"""Weight of total variation for which float32 and float64 stay together (`Definition.tv`)."""
READ_NOISE = 0.02
"""Standard deviation, white being 1."""
FRAMES = 3
"""Frames of a picture in the option of that name."""

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Option:
    """An option beside the default."""

    name: str
    definition: Definition = field(default_factory=Definition)
    frames: int = 1
    margin: bool = False
    """True: the last rows and columns of the period are not observed."""


PLAIN = Option("Poisson")
OPTIONS = (
    Option("Gaussian", Definition("gaussian")),
    Option("given PSF", Definition(blind=False)),
    Option("total variation", Definition(tv=STABLE)),
    Option("read noise", Definition(read_noise=READ_NOISE)),
    Option(f"{FRAMES} frames", frames=FRAMES),
    Option("extend", margin=True),
)


class Problem(NamedTuple):
    """The start of a backend; float32."""

    y: Float32
    """Observed frames (B, M, H, W), negative where nothing was seen."""
    f: Float32
    """The first estimate of the pictures (B, H, W)."""
    h: Float32
    """The first estimate of the PSFs, around (0, 0), (B, M, H, W)."""


class Found(NamedTuple):
    """The result of a backend."""

    f: npt.NDArray[Any]
    """Estimates of the pictures (B, H, W)."""
    h: npt.NDArray[Any]
    """Estimates of the PSFs (B, M, H, W)."""


def cases(device: str, quick: bool) -> list[Case]:
    """Return what is measured."""
    found: list[Case] = []
    for side in SIDES[::2] if quick else SIDES:
        more = () if quick or device == "cpu" else LARGE.get(side, ())
        found += [Restoration(side, count) for count in (1, BATCH, *more)]
    counts = (1,) if device == "cpu" else (1, BATCH)
    options = OPTIONS[:1] if quick else OPTIONS
    return found + [Restoration(OPTIONS_SIDE, n, one) for n in counts for one in options]


class Restoration(Case):
    """One period, batch and option."""

    def __init__(self, side: int, batch: int = 1, option: Option = PLAIN):
        super().__init__(f"{side}×{side}", option.name, batch)
        self.side, self.option = side, option

    def check(self, result: Found, device: str) -> Figures:
        """Compare every picture of the batch, and its PSFs, with float64."""
        f, h = solution(self.side, self.option, self.iterations(device))
        off = max(
            np.abs(np.roll(plane, [-by for by in shift(number, self.side)], (0, 1)) - f).max()
            for number, plane in enumerate(result.f)
        )
        figures = {"f": float(off / f.max()), "h": float(np.abs(result.h - h).max() / h.max())}
        if not max(figures.values()) <= WITHIN:  # NaN is no small error
            raise SnellenError(
                f"f is off by {figures['f']:.1e} and h by {figures['h']:.1e} of their peaks; "
                f"expected {WITHIN:.0e} at most"
            )
        return figures

    def call(self, device: str) -> Callable[[], Any] | None:
        """Return the call of `snellen.deblur`."""
        if self.option != PLAIN or self.iterations(device) != ITERATIONS:
            return None
        images, size = self.problem().y[:, 0], support(self.side)

        def work() -> Found:
            found = deblur(
                images, psf_size=size, prior=None, edges="circular", recentre=False,
                channel_axis=None, device=device,
            )  # fmt: skip
            return Found(found.image, around(found.psf[:, None], self.side))

        return work

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the period."""
        period, count = (self.side, self.side), self.iterations(device)
        how = self.option.definition, period, self.option.frames, self.batch
        given: Any = self.problem()
        facts: Figures = {}
        if device == "cpu":
            from snellen.mia.cpu import Backend

            backend: Any = Backend(*how)
        else:
            import cupy

            from snellen.mia.cuda import fused

            given = [cupy.asarray(array) for array in given]
            backend = fused.Backend(*how, device)
            facts = {"layout": repr(backend.layout)}

        def result() -> Found:
            return Found(*(arrays.host(array) for array in (backend.estimate, backend.psf)))

        with closing(backend):
            yield Kernel(
                lambda: backend.iterate(count), result, lambda: backend.start(*given),
                count=count / ITERATIONS, facts=facts,
            )  # fmt: skip

    def iterations(self, device: str) -> int:
        """Return how many iterations are done."""
        return SHORT if device == "cpu" and self.batch > 1 else ITERATIONS

    def problem(self) -> Problem:
        """Return the batch of shifted problems."""
        y, f, h = problem(self.side, self.option)
        every = range(self.batch)
        return Problem(
            np.concatenate([np.roll(y, shift(i, self.side), (-2, -1)) for i in every]),
            np.concatenate([np.roll(f, shift(i, self.side), (-2, -1)) for i in every]),
            h.repeat(self.batch, 0),
        )


@cache
def problem(side: int, option: Option = PLAIN) -> Problem:
    """Return one picture, blurred by a hand that shakes and noisy, and where to start from."""
    random = np.random.default_rng([2017, side])
    size = support(side)
    sharp = picture(side, side).astype(np.float64)
    blurs = around(np.stack([walk(random, size) for _ in range(option.frames)]), side)
    seen = np.fft.irfft2(np.fft.rfft2(sharp) * np.fft.rfft2(blurs), sharp.shape).clip(0)
    y = random.poisson(seen * PHOTONS) / PHOTONS
    f = y.mean(0)
    if option.margin:
        y[:, 1 - size :], y[:, :, 1 - size :] = UNOBSERVED, UNOBSERVED
    h = (
        np.stack([around(gaussian(size), side)] * option.frames)
        if option.definition.blind
        else blurs
    )
    return Problem(*(array[None].astype(np.float32) for array in (y, f, h)))


@cache
def solution(side: int, option: Option, count: int) -> tuple[Float64, Float64]:
    """Return f (H, W) and h (M, H, W) of a problem after so many iterations in float64."""
    y, f, h = (array[0].astype(np.float64) for array in problem(side, option))
    return reference.restore(y, f, h, count, option.definition)


def support(side: int) -> int:
    """Return the side of the PSF's support: the default, or what a small period holds, odd."""
    return min(PSF_SIZE, side // 2 - 1)


def walk(random: np.random.Generator, size: int) -> Float64:
    """Return the PSF (size, size) of a hand that shakes, sum 1."""
    steps = random.normal(0, 0.3, (400, 2)).cumsum(0)
    steps -= steps.mean(0)
    steps *= (size // 2 - 0.5) / max(np.abs(steps).max(), size // 2)
    out: Float64 = np.zeros((size, size))
    np.add.at(out, tuple(np.rint(steps).astype(int).T + size // 2), 1 / len(steps))
    return out


def gaussian(size: int) -> Float64:
    """Return the PSF (size, size) that the search starts from by default, sum 1."""
    bell = np.exp(-(((np.arange(size) - size // 2) / START) ** 2) / 2)
    plane: Float64 = np.outer(bell, bell)
    plane /= plane.sum()
    return plane


def around(psf: npt.NDArray[Any], side: int) -> npt.NDArray[Any]:
    """Return PSFs (…, K, K) on the period (…, side, side), their middle at (0, 0)."""
    size = psf.shape[-1]
    out = np.zeros((*psf.shape[:-2], side, side), psf.dtype)
    out[..., :size, :size] = psf
    return np.roll(out, (-(size // 2), -(size // 2)), (-2, -1))


def shift(number: int, side: int) -> tuple[int, int]:
    """Return by how many rows and columns the picture of a number in a batch is shifted."""
    return 7 * number, 3 * number + number // side
