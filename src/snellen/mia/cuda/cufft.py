"""The GPU backend for periods of any size: cuFFT's transforms and the kernels of cufft.cu.

Symbols as in docs/mia.md: f the estimate, h its PSFs, g = h ⊛ f, and F, H … their spectra.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.fft.plan import Plan
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.gpu.graph import Work, capture, synchronize
from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import lasting
from snellen.mia.checks import Later
from snellen.mia.cuda.buffers import Buffers
from snellen.mia.definition import EPS, LEAST, TV_EPS, TV_LEAST, Definition

THREADS = 256
BLOCKS = 512  # blocks that share the sum of one plane, at most
GRID_ROWS = 65535  # rows of a grid, at most; kernels loop over more planes than that
REPEATS = 10  # iterations in one graph, at most: the default of `every`
NODES = 400  # kernels in one graph, about, at most
BESIDE = 1 << 20
"""Samples of a period up to which f and h are transformed at once. Larger ones fill a GPU alone,
and further plans would take further memory."""
SECOND = 1  # of the plans: those of the second stream, where there are such

STAGES = {
    "blur_spectra": "products of spectra",
    "correlate_spectra": "products of spectra",
    "ratio": "ratios",
    "insert_observed": "ratios",
    "total_variation": "total variation",
    "update_estimate": "update of f",
    "correct_psf": "update of h",
    "normalise_psf": "update of h",
    "data_fidelity": "sum of the data fidelity",
    "change": "change of f",
}
"""The kernels of cufft.cu, each with the stage that it counts for in a profile."""


class Backend:
    """MIA of a batch of pictures on one period of any size, with the contract of `cpu.Backend`.

    Iterations are captured as CUDA graphs, of one and of REPEATS, and replayed, where that works.
    Planes are transformed one by one: see `Plan`. The transforms of f and of h need nothing of each
    other, so those of small periods run on two streams.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
        Any.
    frames : int
        M, frames of each picture.
    batch : int
        B, pictures that are iterated at once.
    device : str
        "cuda:N".
    dtype : str or None
        Precision of all arrays: "float32", which None means, or "float64".

    Raises
    ------
    DeviceError
        The memory of the GPU does not suffice, or CUDA reports an error.
    """

    slots = 1

    def __init__(
        self,
        definition: Definition,
        period: tuple[int, int],
        frames: int,
        batch: int,
        device: str,
        dtype: str | None = None,
    ):
        import cupy

        self._definition, self._device = definition, device
        self._dtype = dtype or "float32"
        self._real = np.dtype(self._dtype).type
        self._poisson, self._blind = definition.noise == "poisson", definition.blind
        self._period, self._frames, self._batch = period, frames, batch
        self._size, self._half = period[0] * period[1], period[0] * (period[1] // 2 + 1)
        self._scale = self._real(1 / self._size)
        self._kernels = dict(zip(STAGES, kernels(self._dtype), strict=True))
        self._all_observed = True  # whether all samples of y were; it matters with Gaussian noise
        with self._on_gpu(), lasting():
            blocks = _sum_grid(self._size, 1)[0]
            self._at = Buffers(definition, period, frames, batch, self._dtype, blocks)
            is_beside = self._size <= BESIDE and self._at.aligned is None
            # A plan has a work area of its own: two streams cannot share one.
            self._plans = [
                tuple(Plan(kind, *period, self._dtype) for kind in ("r2c", "c2r"))
                for _ in range(1 + is_beside)
            ]
            self._beside = cupy.cuda.Stream(non_blocking=True) if is_beside else None
        repeats = max(1, min(REPEATS, NODES // (12 * batch * frames + 8)))
        with self._on_gpu(), cupy.cuda.Stream(non_blocking=True) as own:
            kinds = (True,) if self._poisson else (False, True)
            for kind in kinds:
                self._step(kind)  # loads the kernels, which a capture cannot
            self._steps = {
                kind: {count: capture(partial(self._repeat, kind, count)) for count in {1, repeats}}
                for kind in kinds
            }
            own.synchronize()

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Copy the observed frames and the start values.

        Work is queued on CuPy's current stream. With Gaussian noise the call waits for the GPU, to
        learn whether all samples were observed.

        Parameters
        ----------
        y : (B, M, H, W) CuPy array
            Unobserved samples are negative.
        f : (B, H, W)
            The first estimate, not negative.
        h : (B, M, H, W)
            The first PSFs, not negative, with their middle at (0, 0). Zeros stay zeros.
        """
        at = self._at
        with self._on_gpu():
            at.y[...], at.f[...] = y, f
            at.h[...] = h / h.sum((-2, -1), np.float64, keepdims=True)
            self._transform(at.h, at.h_spectrum)
            if not self._poisson:
                self._all_observed = bool((at.y >= 0).all())
                self._transform(at.y, at.y_spectrum)

    def iterate(self, count: int) -> None:
        """Queue `count` iterations of all pictures on CuPy's current stream."""
        with self._on_gpu():
            for repeats, steps in sorted(self._steps[self._all_observed].items(), reverse=True):
                for _ in range(count // repeats):
                    steps()
                count %= repeats

    @property
    def estimate(self) -> Any:
        """The pictures f (B, H, W), until the next call."""
        return self._at.f

    @property
    def psf(self) -> Any:
        """Their PSFs h (B, M, H, W), each of sum 1, until the next call."""
        return self._at.h

    def fit(self) -> npt.NDArray[np.float64]:
        """Return the data fidelity of each picture, (B,) float64; see `Restored.fit`."""
        return self.measure()()

    def measure(self) -> Later[npt.NDArray[np.float64]]:
        """Begin the same; return a function that waits for it."""
        import cupy

        at, samples = self._at, self._frames * self._size
        with self._on_gpu():
            self._spectra()
            self._model()
            grid = _sum_grid(samples, self._batch)
            sums = cupy.empty((self._batch, grid[0], 2))
            self._launch(
                "data_fidelity",
                grid,
                at.y,
                at.g,
                self._batch,
                np.int64(samples),
                self._poisson,
                sums,
            )

        def result() -> npt.NDArray[np.float64]:
            with self._on_gpu():
                total, count = sums.get().sum(1).T
            found: npt.NDArray[np.float64] = total / np.maximum(count, 1)
            return found

        return result

    def change(self, before: Any) -> Later[float]:
        """Compare the pictures with `before`, which becomes a copy: `backend.Backend.change`."""
        import cupy

        with self._on_gpu():
            grid = _sum_grid(self._size, self._batch)
            sums = cupy.empty((self._batch, grid[0], 2))
            self._launch("change", grid, self._at.f, self._batch, self._size, before, sums)

        def result() -> float:
            with self._on_gpu():
                change, size = np.sqrt(sums.get().sum(1)).T
            return float((change / np.maximum(size, np.finfo(self._real).tiny)).max())

        return result

    def close(self) -> None:
        """Wait for the GPU and drop all arrays."""
        with self._on_gpu():
            synchronize()
            del self._steps, self._at, self._plans, self._beside

    def _repeat(self, all_observed: bool, count: int) -> None:
        """Do so many iterations, one by one."""
        for _ in range(count):
            self._step(all_observed)

    def _step(self, all_observed: bool) -> None:
        """Do one iteration; `all_observed` matters with Gaussian noise only."""
        self._spectra(self._blind)
        if self._poisson:
            self._poisson_step()
        else:
            self._gaussian_step(all_observed)

    def _poisson_step(self) -> None:
        """Update f and h, for Poisson noise."""
        at, blind = self._at, self._blind
        self._model()
        self._samples("ratio", self._real(self._definition.read_noise**2))
        self._transform(at.g, at.spectra)
        self._correlate(at.spectra, at.spectra if blind else None)

        def estimate() -> None:
            self._inverse(at.f_sum, at.numerator)
            self._update_estimate()

        def psf() -> None:
            self._inverse(at.spectra, at.g, SECOND)
            self._update_psf(at.g, None)

        self._both(estimate, psf if blind else None)

    def _gaussian_step(self, all_observed: bool) -> None:
        """Update f and h, for Gaussian noise."""
        at, blind = self._at, self._blind
        if not all_observed:
            self._model()
            self._samples("insert_observed")
            self._transform(at.g, at.y_spectrum)
        self._correlate(at.y_spectrum, at.h_out)
        self._both(
            lambda: self._inverse(at.f_sum, at.numerator),
            (lambda: self._inverse(at.h_out, at.h_numerator, SECOND)) if blind else None,
        )
        self._blur(self._real(1))
        self._correlate(at.spectra, at.spectra if blind else None)

        def estimate() -> None:
            self._inverse(at.f_sum, at.denominator)
            self._update_estimate()

        def psf() -> None:
            self._inverse(at.spectra, at.g, SECOND)
            self._update_psf(at.h_numerator, at.g)

        self._both(estimate, psf if blind else None)

    def _both(self, one: Work, other: Work | None) -> None:
        """Queue two parts of which neither reads or writes what the other writes.

        Where there is a second stream the other one runs there, with plans of its own (SECOND).
        While stages are timed, they run one after another.
        """
        import cupy

        if other is None:
            one()
        elif self._beside is None or profile.active():
            other()
            one()
        else:
            stream = cupy.cuda.get_current_stream()
            self._beside.wait_event(stream.record())
            with self._beside:
                other()
            one()
            stream.wait_event(self._beside.record())

    def _spectra(self, of_h: bool = True) -> None:
        """Compute F, and H."""
        at = self._at
        self._both(
            lambda: self._transform(at.f, at.f_spectrum),
            (lambda: self._transform(at.h, at.h_spectrum, SECOND)) if of_h else None,
        )

    def _model(self) -> None:
        """Compute g of F and H; `spectra` is destroyed."""
        self._blur(self._scale)
        self._inverse(self._at.spectra, self._at.g)

    def _blur(self, scale: Any) -> None:
        """Fill `spectra` with F · H · scale."""
        at, planes = self._at, self._batch * self._frames
        self._launch(
            "blur_spectra",
            _grid(self._half, planes),
            at.f_spectrum,
            at.h_spectrum,
            planes,
            self._frames,
            self._half,
            scale,
            at.spectra,
        )

    def _correlate(self, spectra: Any, h_out: Any) -> None:
        """Compute the spectra of correlations: with h, summed over frames, to `f_sum`; with f.

        The latter go to `h_out`, unless this is None.
        """
        at = self._at
        self._launch(
            "correlate_spectra",
            _grid(self._half, self._batch),
            spectra,
            at.h_spectrum,
            at.f_spectrum,
            self._batch,
            self._frames,
            self._half,
            self._scale,
            self._poisson,
            at.f_sum,
            h_out,
        )

    def _samples(self, name: str, *constants: Any) -> None:
        """Run a kernel that replaces the samples of g."""
        at, count = self._at, self._at.g.size
        self._launch(name, _grid(count), at.y, np.int64(count), *constants, at.g)

    def _update_estimate(self) -> None:
        at = self._at
        if at.tv_divisor is not None:
            weight = self._real(self._definition.tv)
            grid = _grid(self._size, self._batch)
            self._launch(
                "total_variation", grid, at.f, self._batch, *self._period, weight, at.tv_divisor
            )
        self._launch(
            "update_estimate",
            _grid(at.f.size),
            at.numerator,
            at.denominator,
            at.tv_divisor,
            np.int64(at.f.size),
            at.f,
        )

    def _update_psf(self, numerator: Any, denominator: Any) -> None:
        at, planes = self._at, self._batch * self._frames
        grid = _sum_grid(self._size, planes)
        self._launch(
            "correct_psf",
            grid,
            at.h,
            denominator,
            at.f_spectrum,
            self._half,
            planes,
            self._frames,
            self._size,
            numerator,
            at.partial,
        )
        self._launch("normalise_psf", grid, numerator, at.partial, planes, self._size, at.h)

    def _launch(self, name: str, grid: tuple[int, int], *arguments: Any) -> None:
        """Launch a kernel within its stage of a profile."""
        with profile.stage(STAGES[name]):
            self._kernels[name](grid, THREADS, *arguments)

    def _transform(self, planes: Any, spectra: Any, which: int = 0) -> None:
        """Transform all planes forward, through the plane `aligned` where there is one."""
        aligned, forward = self._at.aligned, self._plans[which % len(self._plans)][0]
        with profile.stage("FFT"):
            for plane, spectrum in zip(_each(planes), _each(spectra), strict=True):
                if aligned is not None:
                    aligned[...] = plane
                forward(plane if aligned is None else aligned, spectrum)

    def _inverse(self, spectra: Any, planes: Any, which: int = 0) -> None:
        """Transform all spectra to planes; the spectra are destroyed."""
        aligned, backward = self._at.aligned, self._plans[which % len(self._plans)][1]
        with profile.stage("inverse FFT"):
            for spectrum, plane in zip(_each(spectra), _each(planes), strict=True):
                backward(spectrum, plane if aligned is None else aligned)
                if aligned is not None:
                    plane[...] = aligned

    @contextmanager
    def _on_gpu(self) -> Iterator[None]:
        with devices.using(self._device), devices.reporting():
            yield


def kernels(dtype: str) -> list[Kernel]:
    """Return the kernels in the order of STAGES, not compiled yet."""
    single = dtype == "float32"
    floors = {"eps": EPS, "least": LEAST, "tv_eps": TV_EPS, "tv_least": TV_LEAST}
    constants: dict[str, Any] = {
        "real": "float" if single else "double",
        "complex": "float2" if single else "double2",
        **{name: f"{value!r}{'f' * single}" for name, value in floors.items()},
    }
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, threads=THREADS, **constants) for name in STAGES]


def _each(array: Any) -> Any:
    """Return an array of all planes, for a loop over them."""
    return array.reshape(-1, *array.shape[-2:])


def _grid(samples: int, planes: int = 1) -> tuple[int, int]:
    """Return a grid with one thread for each sample of a plane."""
    return -(-samples // THREADS), min(planes, GRID_ROWS)


def _sum_grid(samples: int, planes: int) -> tuple[int, int]:
    """Return a grid of at most BLOCKS blocks for each plane, as sums need it."""
    return min(BLOCKS, -(-samples // THREADS)), min(planes, GRID_ROWS)
