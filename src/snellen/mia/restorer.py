"""Restorer: what is prepared for batches of pictures of one format; it knows no PSF and no start.

A `Deblurrer` has one of its own. `snellen.deblur` keeps some from call to call (`batches`): the
PSF, its start and the number of iterations come with each batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames import arrays
from snellen.frames.frame import Format
from snellen.frames.values import check_bytes
from snellen.gpu.profile import paused, stage
from snellen.mia import edges as rules
from snellen.mia import samples
from snellen.mia.backend import Backend
from snellen.mia.centre import Recentre
from snellen.mia.definition import SIDES, Definition
from snellen.mia.pictures import Pictures
from snellen.mia.progress import Callback, Watch, iterated
from snellen.mia.result import Restored

BYTES = 30
"""Bytes of memory for a sample, at least: those of float32 on the CPU, without a margin."""


@dataclass(frozen=True, slots=True)
class Run:
    """How a batch is restored: what nothing has to be prepared for."""

    iterations: int
    """Iterations of each picture, at most."""
    every: int
    """Iterations between two checks of the progress."""
    tolerance: float = 0.0
    """Stop where they change every picture by less; 0: never."""
    history: bool = False
    """True: the progress is recorded."""
    recentre: Recentre = True
    """True: PSFs, and the pictures with them, are centred at the end; "whole": to a pixel."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """The work that a Restorer is prepared for."""

    definition: Definition
    """The variant of the iteration."""
    format: Format
    """The format of the pictures: luma only."""
    bits: int | None
    """Depth of the results; None: the type of the pictures."""
    counts: tuple[int, int]
    """B pictures at once, of M frames each."""
    side: int
    """Side of the PSFs, odd."""
    edges: str
    """The rule of `edges`."""
    dtype: str
    """"float32" or "float64"."""
    device: str
    """"cpu" or "cuda:N"."""

    def period(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the period of pictures of a shape, (rows, columns)."""
        return rules.period(shape, self.side, self.edges)

    def fused(self, shape: tuple[int, int]) -> bool:
        """Return whether a GPU does all iterations of pictures of a shape in one launch."""
        return set(self.period(shape)) <= set(SIDES) and self.dtype == "float32"


@dataclass(frozen=True)
class Method:
    """All settings of a restoration."""

    prepared: Prepared
    """The settings that need preparation."""
    how: Run
    """The rest."""
    start: npt.NDArray[np.float64]
    """PSFs (…, K, K) that are given, or from which the search starts."""


def check_memory(format: Format, counts: tuple[int, int]) -> None:
    """Refuse (InputError) more pictures than main memory can hold, if all of it were free."""
    pictures, size = counts[0] * counts[1], f"{format.width}×{format.height}"
    check_bytes(BYTES * pictures * format.height * format.width, f"{pictures} × {size} by MIA")


class Restorer:
    """Restores batches of pictures on one device, one batch after another.

    `kind` is the type of the samples of most pictures, for which kernels compile beside others;
    None: that of the computation. DeviceError: the GPU's memory does not suffice.

    Attributes
    ----------
    pictures : Pictures
        What is taken and returned.
    frames
        What places pictures on the period, and cuts them out: `frames.Frames` or `cuda.frames`'.
    backend : Backend
    """

    def __init__(self, prepared: Prepared, kind: str | None = None):
        one, kind = prepared, kind or prepared.dtype
        check_memory(one.format, one.counts)
        self.device = one.device
        self.pictures = Pictures(one.format, one.bits, one.counts, one.side, one.device)
        batch, count = one.counts
        self._place = partial(_frames, one, self.pictures.shape, kind)
        self._restore = partial(_backend, one, self.pictures.shape)
        with arrays.working(None, one.device), paused():
            self.frames, self.backend = self.more()
            if one.device != "cpu":  # whose loops are compiled by now
                start = self.spread(np.ones((batch, count, one.side, one.side)))
                self.run(self.pictures.blank(kind), start, Run(1, 1))

    def more(self) -> tuple[Any, Backend]:
        """Return others like `frames` and `backend`, on the current GPU."""
        return self._place(), self._restore()

    def spread(self, psfs: Any) -> Any:
        """Return PSFs (B, M, K, K) on the period, as `run` starts from."""
        return self.frames.spread(psfs)

    def run(
        self, image: Any, start: Any, how: Run, callback: Callback | None = None, *,
        warm: bool = False, on_device: bool = False,
    ) -> tuple[Restored, Any]:  # fmt: skip
        """Restore a batch on CuPy's current stream; return the result, and the next start.

        `image` is what `Pictures.check` returns, NumPy's, or CuPy's on this GPU; `start` (B, M, H,
        W) are the PSFs to start from, on the period; for the callback see `Deblurrer.run`. The next
        start is `start` itself, or with `warm` a new array of the PSFs that were found here, but
        for pictures of one value. With `on_device` results stay on the GPU where the pictures are
        in main memory.
        """
        at, backend, peak = self.frames, self.backend, self.pictures.white(image.dtype)
        frames = image.reshape(self.pictures.whole)
        with stage("place on the period"):
            y, f = at.place(frames, peak)
            flat = samples.flat(frames)
            backend.start(y, f, start)
        cut = callback  # a Watch reports that there is progress, and looks at no picture
        if callback and not isinstance(callback, Watch):
            cut = self.pictures.cutting(callback)
        with stage("iterations"):
            done, history = iterated(
                backend, how.iterations, how.every, how.tolerance, cut, how.history
            )
        with stage("data fidelity"):
            fit = backend.measure()
        dtype, white = self.pictures.result(image.dtype)
        with stage("centre and cut"):
            sharp, blurs = at.finish(
                backend.estimate, backend.psf, how.recentre,
                whole=dtype.newbyteorder("=") if dtype.kind == "u" else None, peak=white,
            )  # fmt: skip
        following = self.spread(blurs) if warm else start
        fetched = None
        if isinstance(image, np.ndarray) and self.device != "cpu" and not on_device:
            fetched = at.fetched()
        steps = history()  # of most checks while the GPU iterates
        if fetched:
            sharp, blurs = fetched()
        at.refuse(peak)  # which waits for the GPU, so that the next call may be on another stream
        flat = arrays.host(flat)
        if warm:
            for i in np.flatnonzero(flat).tolist():
                following[i] = start[i]
        found = sharp, blurs, fit()
        return self.pictures.finished(frames, flat, start, found, done, steps), following

    def close(self) -> None:
        """Release threads and buffers."""
        self.backend.close()


def _backend(one: Prepared, shape: tuple[int, int]) -> Backend:
    """Return the backend for a device and pictures of a shape."""
    how = one.definition, one.period(shape), one.counts[1], one.counts[0], one.device, one.dtype
    if one.device == "cpu":
        from snellen.mia import cpu

        return cpu.Backend(*how)
    if one.fused(shape):
        from snellen.mia.cuda import fused

        return fused.Backend(*how)
    from snellen.mia.cuda import cufft

    return cufft.Backend(*how)


def _frames(one: Prepared, shape: tuple[int, int], kind: str) -> Any:
    """Return what places pictures on the period, and cuts them out again."""
    # `kind` is the type of their samples, for the most part.
    how = shape, one.period(shape), one.side, one.edges, one.dtype
    if one.device == "cpu":
        from snellen.mia.frames import Frames

        return Frames(*how)
    from snellen.mia.cuda import frames

    return frames.Frames(*how, one.counts[1], one.counts[0], kind)
