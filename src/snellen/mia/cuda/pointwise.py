"""The work of the cuFFT backend between transforms: the kernels of cufft.cu on its buffers.

Symbols as in docs/mia.md: f the estimate, h its PSFs, g = h ⊛ f, and F, H … their spectra.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from snellen.gpu import profile
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.device import over
from snellen.gpu.kernel import Kernel
from snellen.mia.cuda.buffers import Buffers
from snellen.mia.cuda.change import Change
from snellen.mia.definition import EPS, LEAST, TV_EPS, TV_LEAST, Definition

THREADS = 256
BLOCKS = 512  # blocks that share the sum of one plane, at most

STAGES = {
    "blur_spectra": "products of spectra",
    "correlate_spectra": "products of spectra",
    "ratio": "ratios",
    "insert_observed": "ratios",
    "total_variation": "total variation",
    "update_estimate": "update of f",
    "sum_psf": "start of h",
    "correct_psf": "update of h",
    "normalise_psf": "update of h",
    "data_fidelity": "sum of the data fidelity",
}
"""The kernels of cufft.cu, each with the stage that it counts for in a profile."""


class Pointwise:
    """The kernels between transforms. Work is queued on CuPy's current stream.

    Parameters
    ----------
    definition : Definition
    at : Buffers
        What all methods read and write.
    """

    def __init__(self, definition: Definition, at: Buffers):
        self._definition, self._at = definition, at
        self._real, self._poisson = at.f.dtype.type, definition.noise == "poisson"
        self._batch, self._frames, *period = at.y.shape
        self._period, self._planes = period, self._batch * self._frames
        self._size, self._half = period[0] * period[1], period[0] * (period[1] // 2 + 1)
        self._change = Change(at.f.dtype.name)
        self._kernels = dict(zip(STAGES, kernels(at.f.dtype.name), strict=True))

    def start_psf(self, h: Any) -> None:
        """Fill h with the PSFs (B, M, H, W) that it starts from, each divided by its sum."""
        import cupy

        at, grid = self._at, _sum_grid(self._size, self._planes)
        h = cupy.ascontiguousarray(h, at.h.dtype)
        at.h[...] = h  # one of sum 0 stays as it is
        self._launch("sum_psf", grid, h, self._planes, self._size, at.partial)
        self._launch("normalise_psf", grid, h, at.partial, self._planes, self._size, at.h)

    def blur(self, scale: float | None = None) -> None:
        """Fill `spectra` with F · H · scale; None: what undoes a transform and its inverse."""
        at = self._at
        self._launch(
            "blur_spectra", _grid(self._half, self._planes), at.f_spectrum, at.h_spectrum,
            self._planes, self._frames, self._half,
            self._real(1 / self._size if scale is None else scale), at.spectra,
        )  # fmt: skip

    def correlate(self, spectra: Any, h_out: Any) -> None:
        """Compute the spectra of correlations: with h, summed over frames, to `f_sum`; with f.

        The latter go to `h_out`, unless this is None.
        """
        at = self._at
        self._launch(
            "correlate_spectra", _grid(self._half, self._batch), spectra, at.h_spectrum,
            at.f_spectrum, self._batch, self._frames, self._half, self._real(1 / self._size),
            self._poisson, at.f_sum, h_out,
        )  # fmt: skip

    def ratio(self) -> None:
        """Replace g by the ratio r."""
        at, variance = self._at, self._real(self._definition.read_noise**2)
        self._launch("ratio", _grid(at.g.size), at.y, np.int64(at.g.size), variance, at.g)

    def insert_observed(self) -> None:
        """Replace g by y where it was observed."""
        at = self._at
        self._launch("insert_observed", _grid(at.g.size), at.y, np.int64(at.g.size), at.g)

    def update_estimate(self) -> None:
        """Update f from numerator and denominator of its correction, and its total variation."""
        at = self._at
        if at.tv_divisor is not None:
            self._launch(
                "total_variation", _grid(self._size, self._batch), at.f, self._batch,
                *self._period, self._real(self._definition.tv), at.tv_divisor,
            )  # fmt: skip
        self._launch(
            "update_estimate", _grid(at.f.size), at.numerator, at.denominator, at.tv_divisor,
            np.int64(at.f.size), at.f,
        )  # fmt: skip

    def update_psf(self, numerator: Any, denominator: Any) -> None:
        """Update h from numerator and denominator (or None) of its correction."""
        at, planes, size = self._at, self._planes, self._size
        grid = _sum_grid(size, planes)
        self._launch(
            "correct_psf", grid, at.h, denominator, at.f_spectrum, self._half, planes,
            self._frames, size, numerator, at.partial,
        )  # fmt: skip
        self._launch("normalise_psf", grid, numerator, at.partial, planes, size, at.h)

    def data_fidelity(self) -> Any:
        """Return sums of the data fidelity of y and g, and of samples: (B, blocks, 2) float64."""
        import cupy

        at, samples = self._at, self._frames * self._size
        grid = _sum_grid(samples, self._batch)
        sums = cupy.empty((self._batch, grid[0], 2))
        self._launch(
            "data_fidelity", grid, at.y, at.g, self._batch, np.int64(samples), self._poisson, sums
        )
        return sums

    def change(self, before: Any) -> Any:
        """Return sums of (f − before)² and of f²; `before` becomes f: (B, blocks, 2) float64."""
        return self._change(self._at.f, before)

    def _launch(self, name: str, grid: tuple[int, int], *arguments: Any) -> None:
        """Launch a kernel within its stage of a profile."""
        with profile.stage(STAGES[name]):
            self._kernels[name](grid, THREADS, *arguments)


def kernels(dtype: str) -> list[Kernel]:
    """Return the kernels in the order of STAGES, not compiled yet."""
    single = dtype == "float32"
    floors = {"eps": EPS, "least": LEAST, "tv_eps": TV_EPS, "tv_least": TV_LEAST}
    constants: dict[str, Any] = {
        "real": C_TYPES[dtype],
        "complex": "float2" if single else "double2",
        **{name: f"{value!r}{'f' * single}" for name, value in floors.items()},
    }
    file = Path(__file__).with_name("cufft.cu")
    return [Kernel(file, name, threads=THREADS, **constants) for name in STAGES]


def blocks(samples: int) -> int:
    """Return how many blocks share the sum of a plane."""
    return min(BLOCKS, -(-samples // THREADS))


def _grid(samples: int, planes: int = 1) -> tuple[int, int]:
    """Return a grid with one thread for each sample of a plane."""
    return over(samples, planes, THREADS)


def _sum_grid(samples: int, planes: int) -> tuple[int, int]:
    """Return a grid of at most BLOCKS blocks for each plane, as sums need it."""
    return blocks(samples), over(samples, planes, THREADS)[1]
