"""The CPU backend: SciPy's real transforms, and compiled loops between them.

Names as in docs/mia.md: f the picture, h its PSFs, g = h ⊛ f, r = y / g; capitals are half spectra.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import transforms as fft
from snellen.cpu.pool import Pool
from snellen.cpu.threads import available
from snellen.gpu.profile import stage
from snellen.mia import pointwise
from snellen.mia.backend import Check, Later, one_by_one
from snellen.mia.definition import EPS, LEAST, TV_EPS, TV_LEAST, Definition

TOGETHER = 1 << 17
"""Samples of the small pictures, with all their frames, that are transformed in one call. A call
costs as much as 32² samples, and the arrays of an iteration should stay in a core's cache."""
ABREAST = 4
"""Shares of a batch that run at once. Their calls are short, and more threads would wait for
Python's lock (GIL) longer than they work. Further threads work within a share."""
WORKER = 1 << 17
"""Samples for each thread of a transform; with fewer, a thread costs more than it saves."""
STRIP = 1 << 19
"""Samples for each thread of a loop between transforms, likewise."""

Array = npt.NDArray[Any]


class Backend:
    """MIA on the CPU of B pictures of M frames each, on one period of any size.

    `dtype` is that of everything: "float32", which None means, or "float64".
    """

    slots = 1

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int,
        device: str = "cpu", dtype: str | None = None,
    ):  # fmt: skip
        self._definition, self._dtype = definition, np.dtype(dtype or "float32")
        _compile(self._dtype.name)
        threads = available()
        samples = frames * period[0] * period[1]
        abreast = min(threads, ABREAST)
        together = max(1, min(TOGETHER // samples, -(-batch // abreast)))
        self._slices = [slice(i, i + together) for i in range(0, batch, together)]
        # Two pools: a share that waits for its strips must not occupy their threads.
        self._pool = Pool(abreast)
        self._within = Pool(threads, "snellen-strip")
        each = threads // min(len(self._slices), abreast)
        self._strips = Strips(self._within, period[0], samples, each)
        self._shares: list[Share] = []

    def start(self, y: Array, f: Array, h: Array) -> None:
        """Copy the observed pictures y (B, M, H, W), and the first f (B, H, W) and h (B, M, H, W).

        Unobserved samples of y are negative; f and h are at least 0. h is around (0, 0); where it
        is 0 it stays 0.
        """
        rows = np.flatnonzero(np.any(h, (0, 1, 3)))
        y, f, h = (np.asarray(array, self._dtype) for array in (y, f, h))
        self._shares = [
            Share(self._definition, y[s], f[s], h[s], rows, self._strips) for s in self._slices
        ]

    def iterate(self, count: int) -> None:
        """Do so many iterations of all pictures."""
        self._each(lambda share: share.iterate(count))

    @property
    def estimate(self) -> Array:
        """The pictures f (B, H, W)."""
        return np.concatenate([share.f for share in self._shares])

    @property
    def psf(self) -> Array:
        """Their PSFs h (B, M, H, W), each of sum 1."""
        return np.concatenate([share.psf() for share in self._shares])

    def fit(self) -> Array:
        """Return how far y is from h ⊛ f: (B,) float64; see `Restored.fit`."""
        return np.concatenate(self._each(Share.fit))

    def measure(self) -> Later[Array]:
        """Do the same now; return a function that returns the result."""
        found = self.fit()
        return lambda: found

    def change(self, before: Array) -> Later[float]:
        """Compare the pictures with `before`, which becomes a copy: `backend.Backend.change`."""
        f = self.estimate
        change, size = (np.linalg.norm(x.reshape(len(x), -1), axis=1) for x in (f - before, f))
        greatest = float((change / np.maximum(size, np.finfo(f.dtype).tiny)).max())
        before[...] = f
        return lambda: greatest

    def checks(self) -> Check:
        """Return the check of the progress."""
        return one_by_one(self)

    def close(self) -> None:
        """Stop the threads."""
        for pool in (self._pool, self._within):
            pool.shutdown(cancel_futures=True)

    def _each(self, work: Callable[[Share], Any]) -> list[Any]:
        if len(self._shares) == 1:
            return [work(self._shares[0])]
        return list(self._pool.map(work, self._shares))


class Strips:
    """Splits the loops and transforms of one share, of so many samples, among `threads` at most.

    `pool` is None where there is one thread only.
    """

    def __init__(self, pool: Pool | None, rows: int, samples: int, threads: int):
        self.workers = max(1, min(threads, samples // WORKER))
        self._pool = pool
        share = -(-rows // max(1, min(threads, samples // STRIP)))
        self._ranges = [(first, min(first + share, rows)) for first in range(0, rows, share)]

    def run(self, loop: Callable[..., None], *arguments: Any) -> None:
        """Call loop(*arguments, first, last) for each range of rows."""
        if self._pool is None or len(self._ranges) == 1:
            loop(*arguments, *self._ranges[0])
        else:
            list(self._pool.map(lambda rows: loop(*arguments, *rows), self._ranges))


class Share:
    """G pictures of the batch that are transformed together; y, f, h as `Backend.start` takes them.

    h is 0 but in `rows`: it is kept, updated and transformed along rows only there, which saves an
    eighth of an iteration.
    """

    def __init__(
        self, definition: Definition, y: Array, f: Array, h: Array, rows: Array, strips: Strips
    ):
        self._kind = f.dtype.type
        self._poisson = definition.noise == "poisson"
        self._blind, self._tv = definition.blind, definition.tv
        self._offset = self._kind(definition.read_noise**2)
        self._rows, self._strips = rows, strips
        self._y, self.f, self._h = y.copy(), f.copy(), h.take(rows, 2)
        pointwise.update_psf(np.ones_like(self._h), self._h)
        self._known: Array | None = None
        if not self._blind:
            self._known = self._blurs()
        if not self._poisson:
            self._observed = self._forward(y) if (y >= 0).all() else None

    def iterate(self, count: int) -> None:
        """Do so many iterations."""
        correct = self._by_ratio if self._poisson else self._by_quotient
        for _ in range(count):
            # Both corrections are of the old f and h.
            of_f, of_h = correct(self._forward(self.f), self._blurs())
            with stage("update of f"):
                self._strips.run(pointwise.update, self.f, self._kind(LEAST), of_f)
            if self._tv:
                constants = (self._kind(x) for x in (self._tv, TV_EPS, TV_LEAST))
                with stage("total variation"):
                    self._strips.run(pointwise.flatten, self.f, *constants, of_f)
            self.f = of_f
            if of_h is not None:
                with stage("update of h"):
                    pointwise.update_psf(of_h, self._h)

    def psf(self) -> Array:
        """Return h (G, M, H, W)."""
        out = np.zeros_like(self._y)
        out[:, :, self._rows] = self._h
        return out

    def fit(self) -> Array:
        """Return the fit of each picture."""
        g = self._inverse(self._models(self._forward(self.f), self._blurs()))
        out = np.empty(len(g))
        pointwise.fit(self._y, g, self._poisson, EPS, out)
        return out

    def _by_ratio(self, picture: Array, blurs: Array) -> tuple[Array, Array | None]:
        """Return Poisson's corrections of f, and of h up to a factor (None: h is given)."""
        ratios = self._inverse(self._models(picture, blurs))
        with stage("ratios"):
            self._strips.run(pointwise.ratios, self._y, self._offset, self._kind(EPS), ratios)
        spectra = self._forward(ratios)
        share = 1 / (blurs.shape[1] * blurs[:, :, 0, 0].real)
        of_f = self._inverse(self._sum(spectra, blurs, share))
        return of_f, self._back(spectra, picture, spectra) if self._blind else None

    def _by_quotient(self, picture: Array, blurs: Array) -> tuple[Array, Array | None]:
        """Return ISRA's corrections of f and h, likewise."""
        models, observed = self._models(picture, blurs), self._observed
        if observed is None:
            g = self._inverse(models.copy())
            self._strips.run(pointwise.complete, self._y, g)
            observed = self._forward(g)
        share = np.ones(blurs.shape[:2], self._kind)
        of_f, divisor = (
            self._inverse(self._sum(spectra, blurs, share)) for spectra in (observed, models)
        )
        least = np.full(len(of_f), EPS, self._kind)
        self._strips.run(pointwise.quotients, divisor[:, None], least, of_f[:, None])
        if not self._blind:
            return of_f, None
        of_h = self._back(observed, picture, np.empty_like(models))
        divisor = self._back(models, picture, models)
        least = self._kind(EPS) * picture[:, 0, 0].real  # of h's corrections, still to divide by Σf
        pointwise.quotients(divisor, least, of_h, 0, of_h.shape[2])
        return of_f, of_h

    def _models(self, picture: Array, blurs: Array) -> Array:
        """Return the spectra of g."""
        out = np.empty_like(blurs)
        with stage("products of spectra"):
            self._strips.run(pointwise.products, picture, blurs, out)
        return out

    def _sum(self, spectra: Array, blurs: Array, share: Array) -> Array:
        """Return the spectrum of Σ share · corr(…, h) over the frames."""
        out = np.empty_like(blurs[:, 0])
        with stage("products of spectra"):
            self._strips.run(pointwise.gather, spectra, blurs, share, out)
        return out

    def _blurs(self) -> Array:
        """Return H."""
        if self._known is not None:
            return self._known
        shape = (*self._y.shape[:-1], self._y.shape[-1] // 2 + 1)
        out = np.zeros(shape, np.result_type(self._kind, np.complex64))
        workers = self._strips.workers
        with stage("FFT of h"):
            out[:, :, self._rows] = fft.rfft(self._h, workers=workers)
            blurs: Array = fft.fft(out, axis=-2, workers=workers, overwrite_x=True)
        return blurs

    def _back(self, spectra: Array, picture: Array, out: Array) -> Array:
        """Return corr(…, f) in the rows of h; overwrite `out`, which may be the spectra."""
        with stage("products of spectra"):
            self._strips.run(pointwise.products_conj, picture, spectra, out)
        workers, width = self._strips.workers, self._y.shape[-1]
        with stage("inverse FFT of h"):
            columns = fft.ifft(out, axis=-2, workers=workers, overwrite_x=True)
            planes: Array = fft.irfft(columns.take(self._rows, 2), width, workers=workers)
        return planes

    def _forward(self, planes: Array) -> Array:
        with stage("FFT"):
            spectra: Array = fft.rfft2(planes, workers=self._strips.workers)
        return spectra

    def _inverse(self, spectra: Array) -> Array:
        """Return planes; overwrite the spectra."""
        with stage("inverse FFT"):
            planes: Array = fft.irfft2(
                spectra, self._y.shape[-2:], workers=self._strips.workers, overwrite_x=True
            )
        return planes


@cache
def _compile(dtype: str) -> None:
    """Compile every loop: restore a blank picture."""
    blank = np.zeros((1, 1, 4, 4), dtype)
    for definition in (Definition(tv=0.1), Definition("gaussian")):
        strips = Strips(None, 4, 16, 1)
        share = Share(definition, blank - 1, blank[0], blank + 1, np.arange(4), strips)
        share.iterate(1)
        share.fit()
