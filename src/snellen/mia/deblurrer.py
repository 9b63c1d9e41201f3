"""Deblurrer: pictures → period → iterations → sharp pictures and PSFs, on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.axes import check_dtype
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu.profile import paused, stage
from snellen.mia import edges as rules
from snellen.mia import psf as psfs
from snellen.mia import samples, settings
from snellen.mia.definition import EVERY, ITERATIONS, PSF_SIZE, SIDES, START, Definition
from snellen.mia.progress import Backend, Callback, iterated
from snellen.mia.result import Restored


class Deblurrer:
    """Restore many pictures of one shape by MIA, the multiplicative iterative algorithm.

    A picture is one plane, grey or luma; for colour there is `snellen.deblur`.

    `prepare` allocates and compiles; then call `run` for each picture, or each batch of them.
    `close` releases everything; a Deblurrer is a context manager that closes itself. Use it from
    one thread at a time.

    Parameters
    ----------
    psf : array, optional
        The blur, where it is known: (K, K) around its middle K // 2, of any sum; real, finite and
        not negative, its sides no longer than the picture's; one for each picture and frame as
        (batch, K, K), (frames, K, K) or (batch, frames, K, K). None: it is found, beside the
        picture. psf_size, start and recentre have no effect with one.
    psf_size : int
        Side of the PSF that is looked for, pixels, at most the picture's; even ones count one more.
    iterations : int
        1 or more, of each picture; with `tolerance` at most so many.
    noise : str
        "poisson", of light that is counted, or "gaussian", equal everywhere.
    read_noise : float
        Standard deviation of the noise beside Poisson's, white being 1: 2 / 255 for two steps of
        eight bits, whatever data_range is. From 0 to 1000; only with "poisson".
    tv : float
        Weight of total variation, against noise, from 0, none, to 0.1; 0.001 … 0.004 are usual.
    start : float or array
        The PSF that the search starts from: σ of a Gaussian in pixels, or (K, K) as `psf`, no
        larger than psf_size. Where it is 0 it stays 0.
    edges : str
        What is beyond the picture: "extend", which estimates it, "taper", which blends opposite
        edges and is quicker, or "circular", its other side. See docs/mia.md.
    recentre : bool
        Whether a PSF that was found is moved so that its centre of mass is the middle, to a pixel,
        and the picture with it.
    tolerance : float
        Stop when `every` iterations change the picture by less, relative to it, as 1e-3; 0: never.
        0 or more. Of several pictures all must.
    every : int
        Iterations from a look at the progress to the next, 1 or more.
    warm : bool
        Start each picture with the PSF that was found in the last one. What of it is 0, as what
        recentring moves in, stays so until `prepare`.
    history : bool
        Whether to record fit and change at every look, which takes time.
    frames : int
        So many frames show each picture, each blurred by a PSF of its own.
    batch : int
        Pictures that `run` restores at once.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N", or "auto": the GPU where it works. One device only.
    dtype : str, optional
        "float32" or "float64", of everything; None: float32.

    Attributes
    ----------
    device : str
        The device in use: "cpu" or "cuda:N".
    device_name : str
        Name of the GPU; "cpu".
    dtype : str
        "float32" or "float64".
    side : int
        Side of the PSFs that are returned, odd.
    prepared : bool
        Whether `run` may be called: from `prepare` to `close`.

    Raises
    ------
    InputError
        A setting that does not exist, or does not go with others.
    DeviceError
        The device cannot be used.
    """

    def __init__(
        self,
        psf: Any = None,
        psf_size: int = PSF_SIZE,
        iterations: int = ITERATIONS,
        noise: str = "poisson",
        *,
        read_noise: float = 0.0,
        tv: float = 0.0,
        start: Any = START,
        edges: str = "taper",
        recentre: bool = True,
        tolerance: float = 0.0,
        every: int = EVERY,
        warm: bool = False,
        history: bool = False,
        frames: int = 1,
        batch: int = 1,
        device: str | Sequence[str] = "auto",
        dtype: str | None = None,
    ) -> None:
        settings.tv(tv)
        self.definition = Definition(noise, read_noise, psf is None, tv)
        rules.check(edges)
        settings.flags(recentre=recentre, warm=warm, history=history)
        if warm and psf is not None:
            raise InputError(
                "`warm`=True with `psf`, which is the same in every picture",
                parameter="warm",
                advice="leave one of them out",
            )
        self.edges, self.tolerance = edges, settings.tolerance(tolerance)
        self.iterations = settings.whole("iterations", iterations)
        self.every = settings.whole("every", every)
        self._counts = settings.whole("batch", batch), settings.whole("frames", frames)
        settings.steps(self.iterations, self._counts[1])
        self._lead = tuple(count for count in self._counts if count > 1)
        self.recentre, self.warm, self.history = recentre and psf is None, warm, history
        self.dtype = settings.dtype(dtype)
        self._blur = settings.first(start, psf_size) if psf is None else settings.given(psf)
        self.side = self._blur.shape[-1]
        self.device = devices.single(device, "MIA")
        self.device_name = devices.name(self.device)
        self.prepared = False
        self._backend: Backend | None = None

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for pictures of this format; forget the PSF of the last picture.

        Parameters
        ----------
        format : Format
            Only luma counts: its size, at least that of the PSF, and `white`. None: the greatest
            value of the depth, 1.0 of floats.
        bits : int, optional
            Depth of the samples of results, 0 for float32; None: the type of the pictures that
            `run` is given.
        on_device : bool
            Whether results stay on the GPU as CuPy arrays where the pictures are in main memory.

        Returns
        -------
        Format
            That of the results: one plane.

        Raises
        ------
        InputError
            A PSF larger than the picture; not as many PSFs as there are pictures; a value of white
            beyond float32; on_device on the CPU.
        DeviceError
            The GPU's memory does not suffice.
        """
        self.close()
        if on_device and self.device == "cpu":
            raise InputError(
                "`on_device`=True for a Deblurrer on the CPU",
                parameter="on_device",
                advice="leave it out, or ask for a GPU as `device`",
            )
        self._format, self._on_device = format, on_device
        self._shape = format.height, format.width
        settings.white(format.white, "white")
        self._result = None if bits is None else format.scaled(1, bits)
        psfs.fits(self.side, self._shape)
        blur = settings.spread(self._blur, self._lead).reshape(*self._counts, *[self.side] * 2)
        period = rules.period(self._shape, self.side, self.edges)
        with arrays.working(None, self.device), paused():
            self._frames = self._frames_on(period)
            self._backend = self._backend_on(period)
            self._start = start = self._frames.spread(blur)
            # A blank picture, so that everything is compiled.
            self._restored(self._backend, np.zeros((*self._lead, *self._shape), np.uint8), 1)
            self._start = start
        self.prepared = True
        return replace(self._result or format, subsampling=None)

    def run(self, image: Any, callback: Callback | None = None) -> Restored:
        """Restore a picture, or a batch of them.

        Parameters
        ----------
        image : (rows, columns) array
            One plane, as prepared: after (batch,) and (frames,) where these are more than one.
            NumPy, where rows may have a pitch; for a GPU also CuPy there. uint8, uint16, float16,
            float32 or float64: finite, not negative. It is only read, and not after this call. In
            integers of another type than the format's, white is the greatest value of the type.
        callback : callable, optional
            callback(iteration, image, psf) every so many iterations, with shapes as in the result;
            white is 1, and nothing is moved yet. The arrays are copies, NumPy's or CuPy's.

        Returns
        -------
        Restored
            New arrays, of the library that `image` is of. For a batch, `fit` is an array, too; in
            the history it is their mean, and `change` the greatest. A picture of one value is
            returned unchanged, with the PSF that it started from and a fit of 0.

        Raises
        ------
        InputError
            Not prepared, a picture of another shape or type, or samples that are negative, not
            finite or far beyond white; a callback that cannot be called.
        """
        settings.callback(callback)
        backend = self._check(image)
        with arrays.working(image, self.device):
            return self._restored(backend, image, self.iterations, callback)

    def close(self) -> None:
        """Release threads and buffers; `prepare` may follow again."""
        self.prepared = False
        backend, self._backend = self._backend, None
        self._frames = self._start = None
        if backend:
            backend.close()

    def __enter__(self) -> Deblurrer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _restored(
        self, backend: Backend, image: Any, iterations: int, callback: Callback | None = None
    ) -> Restored:
        at, peak = self._frames, _white_of(self._format, image.dtype)
        frames = image.reshape(*self._counts, *self._shape)
        with stage("place on the period"):
            y, f = at.place(frames, peak)
            flat = samples.flat(frames)
            backend.start(y, f, self._start)
        look = callback and self._looking(callback)
        with stage("iterations"):
            done, history = iterated(
                backend, iterations, self.every, self.tolerance, look, self.history
            )
        with stage("data fidelity"):
            fit: Any = backend.fit()
        with stage("centre and cut"):
            sharp, blurs = at.finish(backend.estimate, backend.psf, self.recentre)
        start = at.spread(blurs) if self.warm else self._start
        if isinstance(image, np.ndarray) and self.device != "cpu" and not self._on_device:
            sharp, blurs = at.fetch()
        at.refuse(peak)  # which waits for the GPU, so that the next call may be on another stream
        white, dtype = self._target(peak, image.dtype)
        sharp, blurs = samples.finished(sharp, white, dtype), blurs.astype(np.float32)
        flat = flat if isinstance(flat, np.ndarray) else flat.get()
        for i in np.flatnonzero(flat).tolist():  # such a picture says nothing of its blur
            begun = psfs.from_period(self._start[i], self.side)
            blurs[i] = begun if isinstance(begun, type(blurs)) else begun.get()
            value: Any = frames[i, 0, 0, 0]
            if self._result is not None:
                real = np.full((1, 1), float(value) / peak, self.dtype)
                value = samples.finished(real, white, dtype)[0, 0]
            sharp[i], fit[i], start[i] = value, 0, self._start[i]
        self._start = start
        sharp, blurs = self._led(sharp, blurs)
        alone = self._counts[0] == 1
        return Restored(sharp, blurs, fit[0].item() if alone else fit, done, history)

    def _led(self, sharp: Any, blurs: Any) -> tuple[Any, Any]:
        """Return pictures and PSFs without axes of one."""
        lead = self._lead[:1] if self._counts[0] > 1 else ()
        return (
            sharp.reshape(*lead, *sharp.shape[-2:]),
            blurs.reshape(*self._lead, *blurs.shape[-2:]),
        )

    def _looking(self, callback: Callback) -> Callback:
        """Return a callback for what lies on the period."""

        def look(iteration: int, f: Any, h: Any) -> None:
            both = rules.cut(f, self._shape).copy(), psfs.from_period(h, self.side)
            callback(iteration, *self._led(*both))

        return look

    def _frames_on(self, period: tuple[int, int]) -> Any:
        how = self._shape, period, self.side, self.edges, self.dtype
        if self.device == "cpu":
            from snellen.mia.frames import Frames

            return Frames(*how)
        from snellen.mia.cuda import frames

        batch, count = self._counts
        return frames.Frames(*how, count, batch)

    def _backend_on(self, period: tuple[int, int]) -> Backend:
        batch, frames = self._counts
        how = self.definition, period, frames, batch, self.device, self.dtype
        if self.device == "cpu":
            from snellen.mia import cpu

            return cpu.Backend(*how)
        if set(period) <= set(SIDES) and self.dtype == "float32":
            from snellen.mia.cuda import fused

            return fused.Backend(*how)
        from snellen.mia.cuda import cufft

        return cufft.Backend(*how)

    def _check(self, image: Any) -> Backend:
        """Return the backend for a picture as it is prepared for."""
        if self._backend is None:
            raise InputError(
                "this Deblurrer is not prepared", advice="call prepare(format) before run"
            )
        if not isinstance(image, np.ndarray) and (
            self.device == "cpu" or arrays.place(image) != self.device
        ):
            raise InputError(
                f"got a picture that is no NumPy array"
                f"{'' if self.device == 'cpu' else ', nor CuPy there'}, for a Deblurrer on "
                f"{self.device!r}",
                advice="use snellen.deblur for arrays of other libraries",
            )
        if image.shape != (*self._lead, *self._shape):
            raise InputError(
                f"got an array {image.shape}; prepared for {(*self._lead, *self._shape)}",
                advice="prepare again, or use snellen.deblur for colour",
            )
        check_dtype(image.dtype)
        return self._backend

    def _target(self, peak: float, dtype: np.dtype[Any]) -> tuple[float, np.dtype[Any]]:
        """Return white and type of the results' samples, for pictures of this white and type."""
        if self._result is None:
            return peak, dtype
        return _white_of(self._result, self._result.dtype), self._result.dtype


def _white_of(format: Format, dtype: np.dtype[Any]) -> float:
    """Return the sample value of white of pictures of a format and a type."""
    if format.white is None and format.bits and dtype == format.dtype:
        return float((1 << format.bits) - 1)
    return samples.white(dtype, format.white)
