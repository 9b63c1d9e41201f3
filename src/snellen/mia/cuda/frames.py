"""Frames → period, and back: what is before and after the iterations, on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import pinned
from snellen.mia import edges, samples
from snellen.mia.definition import UNOBSERVED

THREADS = 256
ROWS = 65535  # of a grid, at most; kernels go through more planes than that

NAMES = ("place", "spread", "centre", "gather", "cut")


class Frames:
    """Frames of one shape on one period of the current GPU; nothing waits for it.

    What is wrong with samples is known when results are: see `refuse`.

    Parameters
    ----------
    shape, period : (rows, columns)
        Of a frame; of what it lies on.
    side : int
        Of the PSF's support, odd.
    rule : str
        Of the edges.
    dtype : str
        "float32" or "float64".
    frames, batch : int
        M of each picture; B pictures.
    """

    def __init__(
        self, shape: tuple[int, int], period: tuple[int, int], side: int, rule: str, dtype: str,
        frames: int, batch: int,
    ):  # fmt: skip
        import cupy

        self._shape, self._period, self._side = shape, period, side
        self._frames, self._batch = frames, batch
        self._real = np.dtype(dtype).type
        self._kernels = dict(zip(NAMES, kernels(dtype), strict=True))
        self._mixes = [
            cupy.asarray(mixes(*sizes, side, rule, dtype).view(np.uint8))
            for sizes in zip(shape, period, strict=True)
        ]
        planes = (batch, frames)
        self._came = pinned((*planes, *shape), dtype)
        self._samples = cupy.empty((*planes, *shape), dtype)
        self._y, self._f = (
            cupy.empty((*planes, *period), dtype),
            cupy.empty((batch, *period), dtype),
        )
        self._flags, self._shifts = cupy.zeros(1, np.uint32), cupy.zeros((batch, 2), np.int32)
        # Pictures, then PSFs, then the flags: one copy brings all of it.
        self._parts = [batch * shape[0] * shape[1], batch * frames * side**2]
        self._went = pinned(sum(self._parts) + 1, dtype)
        self._told: Any = None

    def place(self, frames: Any, peak: float) -> tuple[Any, Any]:
        """Return y and what f starts as, until the next call.

        Parameters
        ----------
        frames : (B, M, rows, columns) of a type in `frames.axes.DTYPES`
            NumPy, or CuPy on this GPU. Work is ordered on CuPy's current stream.
        peak : float
            The sample value of white.

        Returns
        -------
        y : (B, M, H, W)
        f : (B, H, W)
        """
        self._flags.fill(0)
        if isinstance(frames, np.ndarray):
            with np.errstate(over="ignore", invalid="ignore"):  # refused later
                np.divide(frames, self._real(peak), self._came, dtype=self._real, casting="unsafe")
            self._samples.set(self._came)
        else:
            self._samples[...] = frames
            self._samples /= self._real(peak)
        self._kernels["place"](
            self._grid(self._period, self._batch), THREADS, self._samples, self._batch,
            self._frames, *self._shape, *self._mixes, *self._period, self._y, self._f, self._flags,
        )  # fmt: skip
        return self._y, self._f

    def spread(self, blur: Any) -> Any:
        """Return PSFs (B, M, K, K) on the period."""
        import cupy

        planes = self._batch * self._frames
        h = cupy.empty_like(self._y)
        self._kernels["spread"](
            self._grid(self._period, planes), THREADS,
            cupy.ascontiguousarray(cupy.asarray(blur, self._real)), planes, self._side,
            *self._period, h,
        )  # fmt: skip
        return h

    def finish(self, f: Any, h: Any, recentre: bool) -> tuple[Any, Any]:
        """Return pictures and PSFs, moved where that is asked for, so that these are centred.

        Parameters
        ----------
        f : (B, H, W)
        h : (B, M, H, W)
        recentre : bool

        Returns
        -------
        pictures : (B, rows, columns)
            White is 1. New, as the PSFs.
        psfs : (B, M, K, K)
        """
        import cupy

        f, h = (cupy.ascontiguousarray(planes) for planes in (f, h))
        told = cupy.empty(len(self._went), self._real)
        pictures, psfs = self._views(told)
        support = (self._frames, self._side, *self._period)
        shifts = self._shifts if recentre else None
        if recentre:
            self._kernels["centre"](self._batch, THREADS, h, *support, shifts)
        self._kernels["gather"](
            self._batch * self._frames, THREADS, h, *support, shifts, psfs, self._flags, told[-1:]
        )
        self._kernels["cut"](
            self._grid(self._shape, self._batch), THREADS, f, self._batch, *self._period, shifts,
            *self._shape, pictures,
        )  # fmt: skip
        self._told = told
        return pictures, psfs

    def fetch(self) -> tuple[Any, Any]:
        """Return what `finish` made, as NumPy arrays, until the next call."""
        self._told = self._told.get(out=self._went)
        return self._views(self._told)

    def refuse(self, peak: float) -> None:
        """Raise what is wrong with the samples of which `finish` made the last pictures."""
        samples.refuse(int(self._told[-1]), peak)

    def _views(self, told: Any) -> tuple[Any, Any]:
        one, other = self._parts
        psfs = told[one : one + other].reshape(self._batch, self._frames, self._side, self._side)
        return told[:one].reshape(self._batch, *self._shape), psfs

    def _grid(self, shape: tuple[int, int], planes: int) -> tuple[int, int]:
        return -(-shape[0] * shape[1] // THREADS), min(planes, ROWS)


def mixes(size: int, period: int, side: int, rule: str, dtype: str) -> npt.NDArray[np.void]:
    """Return of which two samples of a line each one of the period is made, and how.

    `edges.place` says it of a line of ones and zeros.
    """
    first = np.arange(size) < size / 2
    _, f = edges.place(first[None, :, None].astype(np.float64), (period, 1), side, rule)
    share = f[:, 0]
    out = np.zeros(period, np.dtype([("first", "i4"), ("second", "i4"), ("weight", dtype)]))
    out["second"], out["weight"] = size - 1, share
    out["first"][:size], out["second"][:size] = np.arange(size), np.arange(size)[::-1]
    out["weight"][:size] = np.where(first, share[:size], 1 - share[:size])
    return out


def kernels(dtype: str) -> list[Kernel]:
    """Return the kernels, not compiled yet: see NAMES."""
    single = dtype == "float32"
    numbers = {"unobserved": UNOBSERVED, "largest": samples.LARGEST}
    constants: dict[str, Any] = {
        "real": "float" if single else "double",
        "not_finite": samples.NOT_FINITE,
        "negative": samples.NEGATIVE,
        "too_large": samples.TOO_LARGE,
        **{name: f"({value!r}{'f' * single})" for name, value in numbers.items()},
    }
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, threads=THREADS, **constants) for name in NAMES]
