"""MIA of whole frames on a GPU: cuFFT's transforms, and kernels between them, for any period.

Names as in docs/mia.md: f the picture, h its PSFs, g = h ⊛ f, r = y / g.
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
from snellen.gpu.graph import capture
from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import lasting
from snellen.mia.cuda.buffers import Buffers
from snellen.mia.definition import EPS, LEAST, TV_EPS, TV_LEAST, Definition

THREADS = 256
SHARES = 512  # blocks, at most, among which the samples of a plane are shared to be summed up
ROWS = 65535  # of a grid, at most; kernels go through more planes than that

NAMES = (
    "models", "corrections", "ratios", "complete", "variation", "sharpen", "weigh", "settle", "fit",
)  # fmt: skip


class Backend:
    """MIA of a batch of pictures on one period, on a GPU.

    An iteration is recorded once and then launched as one, where that works. Planes are transformed
    one by one: see `Plan`.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
        Any.
    frames : int
        M, of each picture.
    batch : int
        B, pictures at once.
    device : str
        "cuda:N".
    dtype : str or None
        Of everything: "float32", which None means, or "float64".

    Raises
    ------
    DeviceError
        The GPU's memory does not suffice, or what CUDA says.
    """

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
        self._kernels = dict(zip(NAMES, kernels(self._dtype), strict=True))
        self._all = True  # whether all samples of y were observed, where that matters
        with self._on_gpu(), lasting():
            self._forward, self._backward = (Plan(k, *period, self._dtype) for k in ("r2c", "c2r"))
            shares = _shares(self._size, 1)[0]
            self._at = Buffers(definition, period, frames, batch, self._dtype, shares)
        with self._on_gpu(), cupy.cuda.Stream(non_blocking=True) as own:
            kinds = (True,) if self._poisson else (False, True)
            for kind in kinds:
                self._step(kind)  # loads the kernels, which a capture cannot
            self._steps = {kind: capture(partial(self._step, kind)) for kind in kinds}
            own.synchronize()

    def start(self, y: Any, f: Any, h: Any) -> None:
        """Take what came and where to start from, as copies.

        Parameters
        ----------
        y : (B, M, H, W) CuPy array
            Unobserved samples are negative.
        f : (B, H, W)
            At least 0, as h.
        h : (B, M, H, W)
            Around (0, 0). Where it is 0 it stays 0.
        """
        at = self._at
        with self._on_gpu():
            at.y[...], at.f[...] = y, f
            at.h[...] = h / h.sum((-2, -1), np.float64, keepdims=True)
            self._transform(at.h, at.blurs)
            if not self._poisson:
                self._all = bool((at.y >= 0).all())
                self._transform(at.y, at.observed)

    def iterate(self, count: int) -> None:
        """Do so many iterations of all pictures."""
        with self._on_gpu():
            for _ in range(count):
                self._steps[self._all]()

    @property
    def estimate(self) -> Any:
        """The pictures f (B, H, W), until the next call."""
        return self._at.f

    @property
    def psf(self) -> Any:
        """Their PSFs h (B, M, H, W), each of sum 1, likewise."""
        return self._at.h

    def fit(self) -> npt.NDArray[np.float64]:
        """Return how far y is from h ⊛ f: (B,) float64; see `Restored.fit`."""
        import cupy

        at, samples = self._at, self._frames * self._size
        with self._on_gpu():
            self._transform(at.h, at.blurs)
            self._transform(at.f, at.picture)
            self._model()
            grid = _shares(samples, self._batch)
            sums = cupy.empty((self._batch, grid[0], 2))
            self._kernels["fit"](
                grid, THREADS, at.y, at.g, self._batch, np.int64(samples), self._poisson, sums
            )
            total, count = sums.get().sum(1).T
        found: npt.NDArray[np.float64] = total / np.maximum(count, 1)
        return found

    def close(self) -> None:
        """Give the memory back."""
        import cupy

        with self._on_gpu():
            cupy.cuda.Device().synchronize()
            del self._steps, self._at, self._forward, self._backward

    def _step(self, everything: bool) -> None:
        """Do an iteration; `everything`: whether all samples were observed, where that matters."""
        at, count = self._at, np.int64(self._at.f.size)
        if self._blind:
            self._transform(at.h, at.blurs)
        self._transform(at.f, at.picture)
        if self._poisson:
            self._by_ratio()
        else:
            self._by_quotient(everything)
        if at.turn is not None:
            weight = self._real(self._definition.tv)
            grid = _grid(self._size, self._batch)
            self._kernels["variation"](
                grid, THREADS, at.f, self._batch, *self._period, weight, at.turn
            )
        self._kernels["sharpen"](
            _grid(at.f.size), THREADS, at.above, at.below, at.turn, count, at.f
        )

    def _by_ratio(self) -> None:
        """Make the corrections of f, and update h: Poisson's."""
        at = self._at
        self._model()
        self._samples("ratios", self._real(self._definition.read_noise**2))
        self._transform(at.g, at.spectra)
        self._correct(at.spectra, at.spectra if self._blind else None, at.above)
        if self._blind:
            self._inverse(at.spectra, at.g)
            self._update_psf(at.g, None)

    def _by_quotient(self, everything: bool) -> None:
        """Make dividends and divisors of those corrections, and update h: ISRA."""
        at = self._at
        if not everything:
            self._model()
            self._samples("complete")
            self._transform(at.g, at.observed)
        self._correct(at.observed, at.back, at.above)
        if self._blind:
            self._inverse(at.back, at.of_h)
        self._blurred(self._real(1))
        self._correct(at.spectra, at.spectra if self._blind else None, at.below)
        if self._blind:
            self._inverse(at.spectra, at.g)
            self._update_psf(at.of_h, at.g)

    def _model(self) -> None:
        """Make g of F and H; the spectra are lost."""
        self._blurred(self._scale)
        self._inverse(self._at.spectra, self._at.g)

    def _blurred(self, scale: Any) -> None:
        """Fill the spectra with F · H · scale."""
        at, planes = self._at, self._batch * self._frames
        self._kernels["models"](
            _grid(self._half, planes), THREADS, at.picture, at.blurs, planes, self._frames,
            self._half, scale, at.spectra,
        )  # fmt: skip

    def _correct(self, spectra: Any, back: Any, out: Any) -> None:
        """Make corr(…, h), of all frames, and the spectra of corr(…, f) where `back` is room."""
        at = self._at
        self._kernels["corrections"](
            _grid(self._half, self._batch), THREADS, spectra, at.blurs, at.picture, self._batch,
            self._frames, self._half, self._scale, self._poisson, at.sum, back,
        )  # fmt: skip
        self._inverse(at.sum, out)

    def _samples(self, name: str, *constants: Any) -> None:
        """Turn g into what y makes of it."""
        at, count = self._at, self._at.g.size
        self._kernels[name](_grid(count), THREADS, at.y, np.int64(count), *constants, at.g)

    def _update_psf(self, above: Any, below: Any) -> None:
        at, planes = self._at, self._batch * self._frames
        grid = _shares(self._size, planes)
        self._kernels["weigh"](
            grid, THREADS, at.h, below, at.picture, self._half, planes, self._frames, self._size,
            above, at.partial,
        )  # fmt: skip
        self._kernels["settle"](grid, THREADS, above, at.partial, planes, self._size, at.h)

    def _transform(self, planes: Any, spectra: Any) -> None:
        """Transform all planes, by way of `aligned` where this is room."""
        aligned = self._at.aligned
        for plane, spectrum in zip(_each(planes), _each(spectra), strict=True):
            if aligned is not None:
                aligned[...] = plane
            self._forward(plane if aligned is None else aligned, spectrum)

    def _inverse(self, spectra: Any, planes: Any) -> None:
        """Likewise back; the spectra are lost."""
        aligned = self._at.aligned
        for spectrum, plane in zip(_each(spectra), _each(planes), strict=True):
            self._backward(spectrum, plane if aligned is None else aligned)
            if aligned is not None:
                plane[...] = aligned

    @contextmanager
    def _on_gpu(self) -> Iterator[None]:
        with devices.using(self._device), devices.reporting():
            yield


def kernels(dtype: str) -> list[Kernel]:
    """Return the kernels, not compiled yet: see NAMES."""
    single = dtype == "float32"
    floors = {"eps": EPS, "least": LEAST, "tv_eps": TV_EPS, "tv_least": TV_LEAST}
    constants: dict[str, Any] = {
        "real": "float" if single else "double",
        "complex": "float2" if single else "double2",
        **{name: f"{value!r}{'f' * single}" for name, value in floors.items()},
    }
    file = Path(__file__).with_suffix(".cu")
    return [Kernel(file, name, threads=THREADS, **constants) for name in NAMES]


def _each(array: Any) -> Any:
    """Return all planes of an array, one after another."""
    return array.reshape(-1, *array.shape[-2:])


def _grid(samples: int, planes: int = 1) -> tuple[int, int]:
    """Return a grid of a thread for each sample."""
    return -(-samples // THREADS), min(planes, ROWS)


def _shares(samples: int, planes: int) -> tuple[int, int]:
    """Return a grid of fewer."""
    return min(SHARES, -(-samples // THREADS)), min(planes, ROWS)
