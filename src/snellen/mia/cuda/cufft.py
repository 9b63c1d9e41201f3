"""The GPU backend for periods of any size: cuFFT's transforms and the kernels of cufft.cu.

Symbols as in docs/mia.md: f the estimate, h its PSFs, g = h ⊛ f, and F, H … their spectra.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from snellen.fft.plan import Plan
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.gpu.graph import Work, capture, synchronize
from snellen.gpu.memory import lasting
from snellen.mia.backend import Float64
from snellen.mia.cuda.buffers import Buffers
from snellen.mia.cuda.check import Checked
from snellen.mia.cuda.pointwise import Pointwise, blocks
from snellen.mia.definition import Definition

REPEATS = 10  # iterations in one graph, at most: the default of `every`
NODES = 400  # kernels in one graph, about, at most
BESIDE = 1 << 20
"""Samples of a period up to which f and h are transformed at once. Larger ones fill a GPU alone,
and further plans would take further memory."""
SECOND = 1  # of the plans: those of the second stream, where there are such


class Backend(Checked):
    """MIA of a batch of pictures on one period of any size, with the contract of `cpu.Backend`.

    F and H are those of f and h wherever an iteration begins: it ends with their transforms. So a
    check of the progress needs one transform only, and the branches of f and h, each on a stream,
    meet once an iteration. Iterations are captured as CUDA graphs, of one and of REPEATS, and
    replayed, where that works. Planes are transformed one by one: see `Plan`. The transforms of f
    and of h need nothing of each other, so those of small periods run on two streams.

    Parameters
    ----------
    definition, period, frames, batch, device, dtype
        As for `cpu.Backend`, on "cuda:N".

    Raises
    ------
    DeviceError
        The memory of the GPU does not suffice, or CUDA reports an error.
    """

    slots = 1

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int,
        device: str, dtype: str | None = None,
    ):  # fmt: skip
        import cupy

        super().__init__(device, dtype or "float32", frames)
        self._poisson, self._blind = definition.noise == "poisson", definition.blind
        self._batch = batch
        self._all_observed = True  # whether all samples of y were; it matters with Gaussian noise
        with devices.on(self._device), lasting():
            at = Buffers(definition, period, frames, batch, self._dtype, blocks(prod(period)))
            self._at, self._do = at, Pointwise(definition, at)
            is_beside = prod(period) <= BESIDE and at.aligned is None
            # A plan has a work area of its own: two streams cannot share one.
            self._plans = [
                tuple(Plan(kind, *period, self._dtype) for kind in ("r2c", "c2r"))
                for _ in range(1 + is_beside)
            ]
            self._beside = cupy.cuda.Stream(non_blocking=True) if is_beside else None
        repeats = max(1, min(REPEATS, NODES // (12 * batch * frames + 8)))
        with devices.on(self._device), cupy.cuda.Stream(non_blocking=True) as own:
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
        with devices.on(self._device):
            at.y[...], at.f[...] = y, f
            self._do.start_psf(h)
            self._spectra()
            if not self._poisson:
                self._all_observed = float(at.y.min()) >= 0
                self._transform(at.y, at.y_spectrum)

    def iterate(self, count: int) -> None:
        """Queue `count` iterations of all pictures on CuPy's current stream."""
        with devices.on(self._device):
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

    def change_on_gpu(self, before: Any) -> Any:
        """Queue what `change` does; see `Checked`."""
        return self._do.change(before)

    def fit_on_gpu(self) -> Any:
        """Queue the data fidelity; return its sums."""
        self._model()
        return self._do.data_fidelity()

    def close(self) -> None:
        """Wait for the GPU and drop all arrays."""
        with devices.on(self._device):
            synchronize()
            self._check.close()
            del self._steps, self._at, self._do, self._plans, self._beside, self._check

    def _fitted(self, found: Float64) -> Float64:
        total, count = found.sum(1).T
        fit: Float64 = total / np.maximum(count, 1)
        return fit

    def _repeat(self, all_observed: bool, count: int) -> None:
        """Do so many iterations, one by one."""
        for _ in range(count):
            self._step(all_observed)

    def _step(self, all_observed: bool) -> None:
        """Do one iteration; `all_observed` matters with Gaussian noise only."""
        if self._poisson:
            self._poisson_step()
        else:
            self._gaussian_step(all_observed)

    def _poisson_step(self) -> None:
        """Update f and h, for Poisson noise."""
        at, blind = self._at, self._blind
        self._model()
        self._do.ratio()
        self._transform(at.g, at.spectra)
        self._do.correlate(at.spectra, at.spectra if blind else None)

        def estimate() -> None:
            self._inverse(at.f_sum, at.numerator)
            self._do.update_estimate()
            self._transform(at.f, at.f_spectrum)

        def psf() -> None:
            self._inverse(at.spectra, at.g, SECOND)
            self._do.update_psf(at.g, None)
            self._transform(at.h, at.h_spectrum, SECOND)

        self._both(estimate, psf if blind else None)

    def _gaussian_step(self, all_observed: bool) -> None:
        """Update f and h, for Gaussian noise."""
        at, blind = self._at, self._blind
        if not all_observed:
            self._model()
            self._do.insert_observed()
            self._transform(at.g, at.y_spectrum)
        self._do.correlate(at.y_spectrum, at.h_out)
        self._both(
            lambda: self._inverse(at.f_sum, at.numerator),
            (lambda: self._inverse(at.h_out, at.h_numerator, SECOND)) if blind else None,
        )
        self._do.blur(1.0)
        self._do.correlate(at.spectra, at.spectra if blind else None)

        def estimate() -> None:
            self._inverse(at.f_sum, at.denominator)
            self._do.update_estimate()

        def psf() -> None:
            self._inverse(at.spectra, at.g, SECOND)
            self._do.update_psf(at.h_numerator, at.g)

        self._both(estimate, psf if blind else None)
        self._spectra(blind)  # the update of h has read F

    def _both(self, one: Work, other: Work | None) -> None:
        """Queue two parts of which neither reads or writes what the other writes."""
        # Where there is a second stream the other one runs there, with plans of its own (SECOND).
        # While stages are timed, they run one after another.
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
        self._do.blur()
        self._inverse(self._at.spectra, self._at.g)

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


def _each(array: Any) -> Any:
    """Return an array of all planes, for a loop over them."""
    return array.reshape(-1, *array.shape[-2:])
