"""Frames → period, and back: what comes before and after the iterations, on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import upload
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel
from snellen.gpu.pages import pinned
from snellen.mia import edges, samples
from snellen.mia.backend import Later
from snellen.mia.centre import LEAST, RADIUS, WHOLE, Recentre
from snellen.mia.definition import UNOBSERVED

THREADS = 256

NAMES = ("place_psf", "find_centre", "crop_psf", "move_pictures", "crop_pictures")
OF_SAMPLES = ("place_frames", "crop_samples")
"""Kernels for samples of one type; the latter's are integers."""
DIVIDING = ("place_frames", "crop_samples", *NAMES[1:])
"""Kernels in which samples or sums are divided."""


class Frames:
    """Frames of one shape on one period of the current GPU; otherwise as `mia.frames.Frames`.

    Work is queued on CuPy's current stream and nothing waits for it. Invalid samples are found on
    the GPU and known together with the results: see `refuse`.

    Parameters
    ----------
    shape, period : (rows, columns)
        Size of a frame; size of the period.
    side : int
        Side of the PSF's support, odd.
    rule : str
        How edges are treated, one of `edges.EDGES`.
    dtype : str
        "float32" or "float64".
    frames, batch : int
        M frames of each picture; B pictures.
    kind : str
        Type of the samples whose kernels compile beside others. Those of other types do when they
        are first needed.
    """

    def __init__(
        self, shape: tuple[int, int], period: tuple[int, int], side: int, rule: str, dtype: str,
        frames: int, batch: int, kind: str = "float32",
    ):  # fmt: skip
        import cupy

        self._shape, self._period, self._side = shape, period, side
        self._frames, self._batch = frames, batch
        self._real = np.dtype(dtype).type
        self._kernels = dict(zip(NAMES, kernels(dtype), strict=True))
        self._dtype, self._made = dtype, {kind: of_samples(dtype, kind)}
        self._blends = [
            upload(blends(*sizes, side, rule, dtype).view(np.uint8))
            for sizes in zip(shape, period, strict=True)
        ]
        planes = (batch, frames)
        self._staged_in = pinned((*planes, *shape), dtype)
        self._samples = cupy.empty((*planes, *shape), dtype)
        self._y, self._f = (cupy.empty((*lead, *period), dtype) for lead in (planes, (batch,)))
        self._flags = cupy.zeros(1, np.uint32)
        self._shifts = cupy.zeros((batch, 3), np.float64)  # two fractions and two int32 of each
        # Pictures, PSFs and the flags are one array, so that one copy brings them to the host.
        self._parts = [batch * shape[0] * shape[1], batch * frames * side**2]
        self._staged_out = pinned(sum(self._parts) + 1, dtype)
        self._results: Any = None
        self._whole: np.dtype[Any] | None = None  # of these: see `finish`

    def place(self, frames: Any, peak: float) -> tuple[Any, Any]:
        """Return y and the start value of f, valid until the next call, and until `finish`.

        Parameters
        ----------
        frames : (B, M, rows, columns) of a type in `frames.axes.DTYPES`
            NumPy, or CuPy on this GPU.
        peak : float
            The sample value of white.

        Returns
        -------
        y : (B, M, H, W)
        f : (B, H, W)
        """
        import cupy

        self._flags.fill(0)
        if isinstance(frames, np.ndarray) and frames.dtype.kind == "u":
            count, kind = frames.size, frames.dtype.newbyteorder("=")
            staged, there = (
                one.reshape(-1).view(kind)[:count].reshape(frames.shape)
                for one in (self._staged_in, self._samples)
            )
            np.copyto(staged, frames)
            there.set(staged)
            frames = there
        elif isinstance(frames, np.ndarray):
            with np.errstate(over="ignore", invalid="ignore"):  # refused later
                np.divide(
                    frames, self._real(peak), self._staged_in, dtype=self._real, casting="unsafe"
                )
            self._samples.set(self._staged_in)
            frames, peak = self._samples, 1.0
        self._of(frames.dtype)["place_frames"](
            self._grid(self._period, self._batch), THREADS, cupy.ascontiguousarray(frames),
            self._real(peak), self._batch, self._frames, *self._shape, *self._blends,
            *self._period, self._y, self._f, self._flags,
        )  # fmt: skip
        return self._y, self._f

    def spread(self, blur: Any) -> Any:
        """Return PSFs (B, M, K, K) on the period, with their middle at (0, 0)."""
        import cupy

        planes = self._batch * self._frames
        h = cupy.empty_like(self._y)
        if isinstance(blur, np.ndarray):
            blur = upload(np.asarray(blur, self._real))
        blur = cupy.ascontiguousarray(blur, self._real)
        grid = self._grid(self._period, planes)
        self._launch("place_psf", grid, blur, planes, self._side, *self._period, h)
        return h

    def finish(
        self, f: Any, h: Any, recentre: Recentre, out: Any = None, *,
        whole: np.dtype[Any] | None = None, peak: float = 1.0,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Return pictures and PSFs without margins; `recentre` moves both to centre the PSFs.

        Moves are computed in the arrays that `place` has returned.

        Parameters
        ----------
        f : (B, H, W)
        h : (B, M, H, W)
        recentre : bool or "whole"
        out : (n,) CuPy array, optional
            Where the results are written, see `results`; a new array by default.
        whole, peak
            See `mia.frames.Frames.finish`.

        Returns
        -------
        pictures : (B, rows, columns)
            Views of `results`.
        psfs : (B, M, K, K)
        """
        import cupy

        h = cupy.ascontiguousarray(h)
        if not f[0].flags.c_contiguous:
            f = cupy.ascontiguousarray(f)
        if out is None:
            out = cupy.empty(self._pictures(whole) + self._parts[1] + 1, self._real)
        results, self._whole = out, whole
        pictures, psfs = self.views(results, whole)
        support = (self._frames, self._side, *self._period)
        shifts = self._shifts if recentre else None
        if recentre:
            parts = recentre != WHOLE
            self._launch("find_centre", self._batch, h, *support, int(parts), shifts)
        self._launch(
            "crop_psf", self._batch * self._frames, h, *support, shifts, psfs, self._y,
            self._flags, results[-1:],
        )  # fmt: skip
        stride = np.int64(f.strides[0] // f.itemsize)
        if recentre and recentre != WHOLE:
            grid, to = self._grid(self._period, self._batch), self._f
            self._launch("move_pictures", grid, f, stride, self._batch, *self._period, shifts, to)
            f, stride = to, np.int64(self._period[0] * self._period[1])
        cut = (
            self._grid(self._shape, self._batch), THREADS, f, stride, self._batch, *self._period,
            shifts, *self._shape,
        )  # fmt: skip
        if whole is None:
            self._kernels["crop_pictures"](*cut, pictures)
        else:
            most = self._real(min(peak, float(np.iinfo(whole).max)))
            self._of(whole)["crop_samples"](*cut, self._real(peak), most, pictures)
        self._results = results
        return pictures, psfs

    def fetched(self) -> Later[tuple[Any, Any]]:
        """Queue the copy of the results of `finish`; return a function that waits for it.

        It returns NumPy arrays, valid until the next call of `place`.
        """
        import cupy

        there, arrived = self._results, cupy.cuda.Event(disable_timing=True)
        here, whole = self._staged_out[: len(there)], self._whole
        there.data.copy_to_host_async(here.ctypes.data, here.nbytes)
        arrived.record(cupy.cuda.get_current_stream())

        def result() -> tuple[Any, Any]:
            arrived.synchronize()
            self._results = here
            return self.views(here, whole)

        return result

    @property
    def results(self) -> Any:
        """The results of the last `finish` as one array: pictures, PSFs, flags of the samples."""
        return self._results

    def refuse(self, peak: float) -> None:
        """Wait for the last results, and raise an error if their frames had invalid samples."""
        samples.refuse(int(self._results[-1]), peak)

    def _launch(self, name: str, grid: int | tuple[int, int], *arguments: Any) -> None:
        """Launch a kernel."""
        self._kernels[name](grid, THREADS, *arguments)

    def views(self, results: Any, whole: np.dtype[Any] | None = None) -> tuple[Any, Any]:
        """Return the pictures and PSFs of an array like `results`; `whole`: see `finish`."""
        one, other = self._pictures(whole), self._parts[1]
        psfs = results[one : one + other].reshape(self._batch, self._frames, self._side, self._side)
        pictures = results[:one]
        if whole is not None:
            pictures = pictures.view(whole)[: self._parts[0]]
        return pictures.reshape(self._batch, *self._shape), psfs

    def _pictures(self, whole: np.dtype[Any] | None) -> int:
        """Return how many numbers of the results take the space of the pictures."""
        if whole is None:
            return self._parts[0]
        return -(-self._parts[0] * whole.itemsize // np.dtype(self._real).itemsize)

    def _of(self, dtype: np.dtype[Any]) -> dict[str, Kernel]:
        """Return the kernels for samples of a type."""
        if dtype.name not in self._made:
            self._made[dtype.name] = of_samples(self._dtype, dtype.name)
        return self._made[dtype.name]

    def _grid(self, shape: tuple[int, int], planes: int) -> tuple[int, int]:
        return over(shape[0] * shape[1], planes, THREADS)


def blends(size: int, period: int, side: int, rule: str, dtype: str) -> npt.NDArray[np.void]:
    """Return, for each sample along one axis of the period, the two samples that it is made of.

    The fields are `first` and `second`, indices within the frame, and `weight`, that of the first.
    They follow from what `edges.place` makes of a line of ones and zeros.
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
    """Return the kernels in the order of NAMES, not compiled yet."""
    return [_kernel(name, dtype) for name in NAMES]


def of_samples(dtype: str, sample: str) -> dict[str, Kernel]:
    """Return the kernels of OF_SAMPLES for samples of a type, not compiled yet."""
    return {name: _kernel(name, dtype, sample) for name in OF_SAMPLES}


def _kernel(name: str, dtype: str, sample: str = "float32") -> Kernel:
    single = dtype == "float32"
    numbers = {"unobserved": UNOBSERVED, "largest": samples.LARGEST}
    constants: dict[str, Any] = {
        "real": C_TYPES[dtype],
        "sample": C_TYPES[sample],
        "whole": C_TYPES["uint16" if sample == "uint16" else "uint8"],
        "not_finite": samples.NOT_FINITE,
        "negative": samples.NEGATIVE,
        "too_large": samples.TOO_LARGE,
        "radius": RADIUS,
        "least": f"({LEAST!r})",
        **{name: f"({value!r}{'f' * single})" for name, value in numbers.items()},
    }
    # A division that is not the usual one is a call, around which a few registers are saved.
    spills = 32 if name in DIVIDING else 0
    return Kernel(
        Path(__file__).with_suffix(".cu"), name, threads=THREADS, spills=spills, **constants
    )
