"""One level of the pyramid on a GPU: its plans, its launches of search.cu, and its graphs.

Within a level nothing waits for the host: λ, β, quantiles and the steps of the conjugate gradients
stay on the GPU, in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.fft.plan import Plan
from snellen.frames.arrays import upload
from snellen.gpu.graph import capture
from snellen.gpu.kernel import Kernel
from snellen.gpu.profile import stage
from snellen.mia.edges import blend
from snellen.mia.l0.cuda.buffers import Buffers
from snellen.mia.l0.cuda.reduce import FILE, THREADS, whole_rows
from snellen.mia.l0.gradients import QUANTILE, laplacian
from snellen.mia.l0.latent import FIRST, GROWTH, LAST
from snellen.mia.l0.leastsquares import FAINT, RIDGE, SMALL, STEPS
from snellen.mia.l0.pyramid import Level, triangles

WIDE = 512  # threads of a kernel that runs as one block
BLOCKS = 512  # blocks that count the gradients of a picture, at most
BYTES = range(56, -1, -8)  # shifts of the bytes of a float64, the most significant one first

ONE_BLOCK = ("conjugate_begin", "conjugate_step", "prune")
NAMES = (
    "reduce_squares", "shrink", "taper", "spread", "blur_products", "begin", "edges", "divide",
    "count_lengths", "pick_length", "strongest", "correlate", "lags", "conjugate_apply", *ONE_BLOCK,
)  # fmt: skip
"""The kernels of search.cu."""

Float64 = npt.NDArray[np.float64]


class Picture:
    """A picture (rows, columns) as `shrink` takes it, and the number that it is divided by."""

    def __init__(self, array: Any, divisor: float):
        self._array = whole_rows(array)
        pitch = np.int64(self._array.strides[0] // self._array.itemsize)
        single = self._array.dtype == np.float32
        self.arguments = self._array, single, pitch, np.float64(divisor), *array.shape


class OnLevel:
    """One level: its plans, its graphs, and its views of the buffers.

    Parameters
    ----------
    level : Level
    shape : (int, int)
        Of the pictures.
    count : int
        Pictures.
    at : Buffers
    compiled : dict
        The kernels by name.
    """

    def __init__(
        self, level: Level, shape: tuple[int, int], count: int, at: Buffers,
        compiled: dict[str, Kernel],
    ):  # fmt: skip
        height, width = self._shape = level.shape
        self.side, self._at, self._kernels = level.side, at, compiled
        self._count, self._size = count, height * width
        self._stride, self._half = self._size + self._size % 2, height * (width // 2 + 1)
        self._scale = np.float64(1 / self._size)
        self._forward, self._backward = (
            Plan(kind, height, width, "float64") for kind in ("r2c", "c2r")
        )
        self._reduction: list[Any] = []
        for large, small in zip(shape, level.shape, strict=True):
            first, weights = triangles(large, small)
            self._reduction += [
                upload(first.astype(np.int32)), upload(weights), len(weights),
            ]  # fmt: skip
        self._blend = [upload(blend(size, level.side // 2)) for size in level.shape]
        self._curvature = [upload(part) for part in laplacian(level.shape, np.empty(0))]
        self._work: list[Callable[[], object]] = [self._blur, self._step, self._estimate]

    def record(self, blank: list[Picture]) -> None:
        """Run everything once, which loads the kernels, and capture what is repeated."""
        self.start(blank, np.zeros((self.side, self.side)))
        self.refine(LAST / FIRST / 2)  # one β only
        self._work = [capture(work) for work in self._work]

    def close(self) -> None:
        """Drop the graphs, which hold this object."""
        self._work = []

    def start(self, pictures: list[Picture], psf: Float64) -> None:
        """Compute the pictures at this level, and what of them every iteration needs."""
        at, height, width = self._at, *self._shape
        with stage("pyramid"):
            for number, picture in enumerate(pictures):
                small, y = self._plane(at.f, number), self._plane(at.y, number)
                self._on_samples(
                    "shrink", *picture.arguments, *self._reduction, height, width, small
                )
                self._on_samples("taper", small, *self._blend, height, width, y)
            at.lengths.fill(0)
            self._gradients(at.y)
        for planes, spectra in (
            (at.y, at.observed), (at.across, at.blurred_across), (at.down, at.blurred_down)
        ):  # fmt: skip
            self._transform(planes, spectra)
        at.psf[: psf.size].set(psf.ravel())

    def refine(self, weight: float) -> None:
        """Do an iteration with λ = weight; nothing waits for it."""
        at = self._at
        blur, step, estimate = self._work
        blur()
        with stage("latent pictures"):
            self._on_samples(
                "begin", at.y, self._size, self._stride, np.float64(weight), np.float64(FIRST),
                at.f, at.scalars, planes=self._count,
            )  # fmt: skip
        for _ in range(_steps(weight)):
            step()
        estimate()

    def psf(self) -> Float64:
        """Return the PSF (side, side) in main memory."""
        found: Float64 = self._at.psf[: self.side**2].get().reshape(self.side, self.side)
        return found

    def _blur(self) -> None:
        """Compute what of the PSF the latent pictures need; `across` and `data` are scratch."""
        at, plane = self._at, self._plane(self._at.across, 0)
        with stage("latent pictures"):
            self._on_samples("spread", at.psf, self.side, *self._shape, plane)
        spectrum = self._spectrum(at.spectra, 0)
        with stage("FFT"):
            self._forward(plane, spectrum)
        with stage("latent pictures"):
            self._on_frequencies(
                "blur_products", spectrum, at.observed, self._half, at.data, at.power,
                planes=self._count,
            )  # fmt: skip

    def _step(self) -> None:
        """Compute the next f, for one β."""
        at, count = self._at, self._count
        with stage("latent pictures"):
            self._on_samples(
                "edges", at.f, *self._shape, self._stride, at.scalars, at.across, planes=count
            )
        self._transform(at.across, at.spectra)
        with stage("latent pictures"):
            self._on_frequencies(
                "divide", at.data, at.power, *self._curvature, self._shape[0],
                self._shape[1] // 2 + 1, self._scale, np.float64(GROWTH), at.scalars, at.spectra,
                planes=count,
            )  # fmt: skip
        self._inverse(at.spectra, at.f)

    def _estimate(self) -> None:
        """Compute the PSF of f; `data` is scratch."""
        at, size = self._at, self.side**2
        rank = ceil(QUANTILE * (self._size - 1))
        with stage("strongest gradients"):
            for shift in BYTES:
                self._kernels["count_lengths"](
                    (min(BLOCKS, -(-self._size // THREADS)), self._count), THREADS,
                    at.f, *self._shape, self._stride, shift, at.lengths, at.counts,
                )  # fmt: skip
                self._kernels["pick_length"](
                    2 * self._count, 256, shift, np.uint32(rank), at.ranks, at.lengths, at.counts
                )
            self._gradients(at.f)
        self._transform(at.across, at.spectra)
        self._transform(at.down, at.data)
        with stage("least squares"):
            self._on_frequencies(
                "correlate", at.blurred_across, at.blurred_down, self._half, self._scale,
                at.spectra, at.data, planes=self._count,
            )  # fmt: skip
        self._inverse(at.spectra, at.across)
        self._inverse(at.data, at.down)
        with stage("least squares"):
            for planes, side, out in (
                (at.across, 2 * self.side - 1, at.own), (at.down, self.side, at.other)
            ):  # fmt: skip
                self._kernels["lags"](
                    -(-side * side // THREADS), THREADS,
                    planes, self._count, *self._shape, self._stride, side, out,
                )  # fmt: skip
            state = size, at.h, at.residual, at.direction, at.scalars
            self._kernels["conjugate_begin"](1, WIDE, at.other, *state)
            for _ in range(STEPS):
                self._kernels["conjugate_apply"](
                    -(-size // (THREADS // 32)), THREADS,
                    at.own, at.direction, self.side, np.float64(RIDGE), at.applied,
                )  # fmt: skip
                self._kernels["conjugate_step"](1, WIDE, at.applied, *state)
        with stage("pruning"):
            self._kernels["prune"](
                1, WIDE, self.side, np.float64(FAINT), np.float64(SMALL),
                np.float64(np.finfo(np.float64).tiny), at.h, at.labels, at.masses, at.psf,
            )  # fmt: skip

    def _gradients(self, pictures: Any) -> None:
        """Compute the differences of pictures that are no shorter than `lengths`."""
        at = self._at
        self._on_samples(
            "strongest", pictures, *self._shape, self._stride, at.lengths, at.across, at.down,
            planes=self._count,
        )  # fmt: skip

    def _transform(self, planes: Any, spectra: Any) -> None:
        with stage("FFT"):
            for number in range(self._count):
                self._forward(self._plane(planes, number), self._spectrum(spectra, number))

    def _inverse(self, spectra: Any, planes: Any) -> None:
        """Transform to planes, not scaled; the spectra are destroyed."""
        with stage("inverse FFT"):
            for number in range(self._count):
                self._backward(self._spectrum(spectra, number), self._plane(planes, number))

    def _plane(self, planes: Any, number: int) -> Any:
        """Return the plane (H, W) of a picture."""
        return planes[number * self._stride :][: self._size].reshape(self._shape)

    def _spectrum(self, spectra: Any, number: int) -> Any:
        """Return the half spectrum (H, W // 2 + 1) of a picture."""
        return spectra[number * self._half :][: self._half].reshape(self._shape[0], -1)

    def _on_samples(self, name: str, *arguments: Any, planes: int = 1) -> None:
        """Launch a kernel with a thread for each sample of a plane."""
        self._kernels[name]((-(-self._size // THREADS), planes), THREADS, *arguments)

    def _on_frequencies(self, name: str, *arguments: Any, planes: int) -> None:
        """Launch a kernel with a thread for each frequency of a half spectrum."""
        self._kernels[name]((-(-self._half // THREADS), planes), THREADS, *arguments)


def _steps(weight: float) -> int:
    """Return how many β there are from FIRST · λ to below LAST; see `latent.latent`."""
    count, beta = 0, FIRST * weight
    while beta < LAST:
        count, beta = count + 1, beta * GROWTH
    return count


def kernels() -> list[Kernel]:
    """Return the kernels in the order of NAMES, not compiled yet."""
    kernels = []
    for name in NAMES:
        if name in ONE_BLOCK:  # divisions of float64 are calls, which save registers in memory
            kernels.append(Kernel(FILE, name, spills=16, threads=WIDE))
        else:
            kernels.append(Kernel(FILE, name, threads=THREADS))
    return kernels
