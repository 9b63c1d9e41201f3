"""MAD: a pair of 8-bit luma planes, and each half of it: the reference's and the comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Any

import numpy as np

from snellen.bench.inputs import codes, picture
from snellen.bench.reference import mad as reference
from snellen.bench.runner import Case, Figures, Kernel
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Plane
from snellen.mad.definition import Definition
from snellen.mad.image import score
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

SIZES = ((512, 512), (1920, 1080), (3840, 2160))
"""Width and height."""
PAIR, REFERENCE, COMPARISON = "pair", "set reference", "compare"
KINDS = (PAIR, REFERENCE, COMPARISON)
NOISE = 0.02
"""Standard deviation of the distortion, of white."""
PLAIN = 1 << 19
"""Pixels up to which the reference is the plain one; it takes minutes for 4K. For larger planes on
a GPU it is the CPU backend in float64."""
WITHIN = {"cpu": 1e-9, "cuda": 1e-5}
"""Relative error of MAD, HI and LO: sums of 1e4 to 1e7 terms in float64, or partly in float32."""
PEAK = 255.0

Scores = tuple[float, float, float]


def cases(device: str, quick: bool) -> list[Case]:
    """Return what is measured."""
    sizes = SIZES[:1] if quick else SIZES[:2] if device == "cpu" else SIZES
    return [Pair(kind, *size) for size in sizes for kind in KINDS]


class Pair(Case):
    """One of KINDS for planes of one size."""

    def __init__(self, kind: str, width: int, height: int):
        super().__init__(f"{width}×{height}", kind)
        self.width, self.height = width, height

    def check(self, result: Scores, device: str) -> Figures:
        """Compare MAD, HI and LO with a reference in float64."""
        small = device == "cpu" or self.width * self.height <= PLAIN
        wanted = (plain if small else on_cpu)(self.width, self.height)
        error = float(np.max(np.abs(np.divide(result, wanted) - 1)))
        most = WITHIN["cpu" if device == "cpu" else "cuda"]
        if not error <= most:
            raise SnellenError(
                f"got MAD, HI, LO of {result}; expected {wanted} within {most:.0e} (relative)"
            )
        return {"against": "plain NumPy" if small else "CPU, float64", "scores": error}

    def call(self, device: str) -> Callable[[], Any] | None:
        """Return the call of `snellen.score`."""
        if self.kind != PAIR:
            return None
        one, other = planes(self.width, self.height)
        return lambda: numbers(score(one, other, device=device))

    @contextmanager
    def open(self, device: str) -> Iterator[Kernel]:
        """Prepare the backend for the planes."""
        one, other = planes(self.width, self.height)
        format = Format(self.width, self.height)
        if device == "cpu":
            with Scorer(device="cpu") as scorer:
                scorer.prepare(format)
                scorer.set_reference(one)
                work: dict[str, Callable[[], Any]] = {
                    PAIR: lambda: scorer.run(one, other),
                    REFERENCE: lambda: scorer.set_reference(one),
                    COMPARISON: lambda: scorer.compare(other),
                }
                yield Kernel(work[self.kind], lambda: numbers(scorer.compare(other)))
            return
        import cupy

        from snellen.mad.cuda.backend import Backend, stage

        first, second = cupy.asarray(one), cupy.asarray(other)
        with closing(Backend(Definition(), format, PEAK, device)) as backend:

            def pair() -> None:
                stage(first, second, backend.samples)
                backend.run_pair()

            def set_reference() -> None:
                stage(first, None, backend.samples)
                backend.run_reference()

            def compare() -> None:
                stage(None, second, backend.samples)
                backend.run_comparison()

            def result() -> Scores:
                if self.kind == REFERENCE:  # it has no score of its own
                    compare()
                return numbers(backend.fetch(maps=False, host=True)()[0])

            set_reference()
            run = {PAIR: pair, REFERENCE: set_reference, COMPARISON: compare}[self.kind]
            yield Kernel(run, result)


def numbers(found: Score) -> Scores:
    """Return MAD, HI and LO."""
    return float(found.mad), float(found.hi), float(found.lo)


@cache
def planes(width: int, height: int) -> tuple[Plane, Plane]:
    """Return a picture and the same with noise, 8-bit codes."""
    clean = picture(width, height)
    noise = np.random.default_rng(2).normal(0, NOISE, clean.shape)
    return codes(clean, 8), codes((clean + noise).clip(0, 1).astype(np.float32), 8)


@cache
def plain(width: int, height: int) -> Scores:
    """Return the scores of the planes by the plain reference."""
    one, other = (plane.astype(np.float64) for plane in planes(width, height))
    return numbers(reference.score(one, other))


@cache
def on_cpu(width: int, height: int) -> Scores:
    """Return the scores of the planes by the CPU backend in float64."""
    with Scorer(device="cpu", dtype="float64") as scorer:
        scorer.prepare(Format(width, height))
        return numbers(scorer.run(*planes(width, height)))
