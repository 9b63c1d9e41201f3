"""The PSFs of stills by a prior: from several starts, of which a short restoration tells the best.

Arrays are NumPy's or CuPy's.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.pool import Pool
from snellen.frames.arrays import host, library
from snellen.mia import settings
from snellen.mia.batches import restored
from snellen.mia.definition import Definition
from snellen.mia.progress import Callback, Watch
from snellen.mia.restorer import Method, Run

PRIOR_TV = 0.004  # total variation for the rating of PSFs; our experiments with Levin's images
RATED = 50
"""Iterations for it; with 15 and 30 small PSFs, of which less is to be undone, seem better."""
CROPS = 2  # of a picture that is larger than these, which are restored for it

Float64 = npt.NDArray[np.float64]


class Searched(NamedTuple):
    """The PSFs that a prior has found of N pictures."""

    psfs: Float64
    """(N, 1, K, K)."""
    weights: list[float]
    """The weight of total variation with which each picture is restored best."""
    agreed: list[bool]
    """True where the starts of a picture agree about its PSF."""


def searched(luma: Any, method: Method, callback: Callback | None) -> Searched:
    """Return what the prior finds of pictures (N, 1, rows, columns)."""
    l0 = import_module("snellen.mia.l0.prior")
    found = []
    for number, one in enumerate(luma):

        def report(done: int, total: int, before: int = number) -> None:
            if isinstance(callback, Watch):
                callback.report("prior", before * total + done, len(luma) * total)

        every = l0.candidates(one[0], method.prepared.side, report)
        found.append(_best(one[0], every, method))
    psfs = np.stack([settings.given(psf)[None] for psf, _, _ in found])
    return Searched(psfs, [weight for _, weight, _ in found], [agreed for _, _, agreed in found])


def _best(picture: Any, psfs: Float64, method: Method) -> tuple[Float64, float, bool]:
    """Return the PSF (K, K) of several that restores a picture (rows, columns) best."""
    # Further results: the weight of total variation, and whether the other PSFs are like it.
    if len(psfs) == 1:
        return psfs[0], PRIOR_TV, True
    crops, judge = (import_module(f"snellen.mia.l0.{name}") for name in ("crops", "judge"))
    parts = [picture[part] for part in crops.chosen(picture, method.prepared.side, CROPS)]
    one = replace(method.prepared, definition=Definition(tv=PRIOR_TV), edges="extend")
    shortly = replace(method, prepared=one, how=Run(RATED, RATED))
    planes = library(picture).stack(parts * len(psfs))[:, None]
    sharp = host(restored(planes, np.repeat(psfs, len(parts), 0)[:, None], shortly).pictures)
    before = [host(part).astype(np.float64) for part in parts]
    white = max(float(part.max()) for part in before)
    before = [part / white for part in before]

    def rated(number: int, psf: Float64) -> tuple[float, float]:
        after = sharp[number * len(parts) :][: len(parts)].astype(np.float64)
        pairs = [(b, a / white) for b, a in zip(before, after, strict=True)]
        left = judge.residual(pairs, psf)
        return judge.rating(pairs, psf, left), left

    with Pool(min(len(psfs), threads.available())) as pool:
        found = pool.map(rated, range(len(psfs)), psfs)
        ratings, left = map(list, zip(*found, strict=True))
    best = int(np.argmin(ratings))
    return psfs[best], judge.weight(left[best]), judge.agree(psfs, ratings)
