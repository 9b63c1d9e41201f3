"""Deblurrer: pictures → period → iterations → sharp pictures and PSFs, on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.engine.prepared import retried
from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.frame import Format, check_format
from snellen.frames.values import choice
from snellen.gpu import device as devices
from snellen.gpu.profile import paused
from snellen.mia import edges as rules
from snellen.mia import psf as psfs
from snellen.mia import samples, settings
from snellen.mia.definition import EVERY, ITERATIONS, PSF_SIZE, START, Definition
from snellen.mia.progress import Callback
from snellen.mia.restorer import Method, Prepared, Restorer, Run, check_memory
from snellen.mia.result import Restored
from snellen.process import Holder, Home, in_turn

WHAT = "this Deblurrer"


class Deblurrer(Holder):
    """Restore many pictures of one shape by MIA, the multiplicative iterative algorithm.

    A picture is one plane, grey or luma; for colour there is `snellen.deblur`.

    `prepare` allocates and compiles; then call `run` for each picture, or each batch of them.
    `close` releases everything; a Deblurrer is a context manager that closes itself. Calls
    from several threads wait for each other.

    Parameters
    ----------
    psf : array, optional
        The blur, where it is known: (K, K) around its middle K // 2, of any sum; real, finite and
        not negative, its sides no longer than the picture's; one for each picture and frame as
        (batch, K, K), (frames, K, K) or (batch, frames, K, K). None: it is found, beside the
        picture. psf_size, start and recentre have no effect with one.
    psf_size, noise, read_noise, edges, recentre, every, device, dtype
        As for `snellen.deblur`, but one device only.
    iterations : int
        1 or more, of each picture; with `tolerance` at most so many.
    tv : float
        Weight of total variation, against noise, from 0, none, to 0.1; 0.001 … 0.004 are usual.
    start : float or array
        The PSF that the search starts from: σ of a Gaussian in pixels, or (K, K) as `psf`, no
        larger than psf_size. Where it is 0 it stays 0.
    tolerance : float
        Stop when `every` iterations change the picture by less, relative to it, as 1e-3; 0: never.
        0 or more. Of several pictures all must.
    warm : bool
        Start each picture with the PSF that was found in the last one. What of it is 0, as what
        recentring moves in, stays so until `prepare`.
    history : bool
        Whether to record fit and change at every check, which takes time.
    frames : int
        So many frames show each picture, each blurred by a PSF of its own.
    batch : int
        Pictures that `run` restores at once.

    Attributes
    ----------
    device : str
        The device in use: "cpu" or "cuda:N".
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

    _what = WHAT

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
        recentre: bool | str = True,
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
        self.edges = choice("edges", edges, rules.EDGES)
        recentre = settings.recentre(recentre)
        warm, history = settings.flags(warm=warm, history=history)
        if warm and psf is not None:
            raise InputError(
                "`warm`=True with `psf`, which is the same in every picture",
                parameter="warm",
                advice="leave one of them out",
            )
        self._how = Run(
            settings.whole("iterations", iterations),
            settings.whole("every", every),
            settings.tolerance(tolerance),
            history,
            recentre if psf is None else False,
        )
        self._counts = settings.whole("batch", batch), settings.whole("frames", frames)
        settings.steps(self._how.iterations, self._counts[1])
        self._lead = tuple(count for count in self._counts if count > 1)
        self.warm = warm
        self.dtype = settings.dtype(dtype)
        self._blur = settings.first(start, psf_size) if psf is None else settings.given(psf)
        self.side = self._blur.shape[-1]
        self.device = devices.single(device, "MIA")
        self.prepared = self._on_device = False
        self._home = Home(WHAT)
        self._restorer: Restorer | None = None
        self._in_flight: Any = None
        self._start: Any = None

    @property
    def device_name(self) -> str:
        """Name of the GPU; "cpu"."""
        return devices.name(self.device)

    def _holds(self) -> bool:
        return self._restorer is not None

    @in_turn
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
        check_format(format)
        (on_device,) = settings.flags(on_device=on_device)
        check_memory(format, self._counts)
        self._close()
        if on_device and self.device == "cpu":
            raise InputError(
                "`on_device`=True for a Deblurrer on the CPU",
                parameter="on_device",
                advice="leave it out, or ask for a GPU as `device`",
            )
        method = self.method(format, bits)
        blurs = settings.spread(method.start, self._lead).reshape(*self._counts, *[self.side] * 2)
        self._on_device = on_device
        kind = format.dtype.name if format.bits else None  # of the pictures
        made = retried(self.device, lambda: Restorer(method.prepared, kind))
        with arrays.working(None, self.device), paused():
            self._start = made.spread(blurs)
            devices.settle()  # other streams read it
        self._restorer = made
        self.prepared, self._home = True, Home(WHAT)
        return replace(made.pictures.target, subsampling=None)

    def method(self, format: Format, bits: int | None = None) -> Method:
        """Return the settings for pictures of a format; InputError: the PSF is larger than they."""
        settings.white(format.white, "white")
        psfs.fits(self.side, (format.height, format.width))
        prepared = Prepared(
            self.definition, format, bits, self._counts, self.side, self.edges, self.dtype,
            self.device,
        )  # fmt: skip
        return Method(prepared, self._how, self._blur)

    @in_turn
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
        restorer, image = self._check(image)
        if self._in_flight:
            self._in_flight.settle()  # it uses the same buffers
        with arrays.working(image, self.device):
            try:
                found, self._start = restorer.run(
                    image, self._start, self._how, callback, warm=self.warm,
                    on_device=self._on_device,
                )  # fmt: skip
                return found
            except BaseException:  # of a callback: kernels may still use the buffers
                devices.settle()
                raise

    @property
    def slots(self) -> int:
        """How many pictures, or batches, `submit` keeps in flight; known after `prepare`.

        More than 1 on a GPU where the period's sides are 32, 64, 128 or 256, in float32, without
        tolerance, warm, history and on_device: then no work waits for the host.
        """
        waits = self._how.tolerance or self.warm or self._how.history or self._on_device
        return 1 if waits or self._restorer is None else self._restorer.backend.slots

    def submit(self, image: Any) -> Callable[[], Restored]:
        """Begin a picture, or a batch; return a function that waits for the result and returns it.

        The picture is as for `run`, and is not read after this call. Where `slots` is more than 1
        a NumPy array is uploaded while earlier pictures are restored; otherwise this call restores
        it. At most `slots` functions may be outstanding. Errors are those of `run`, and come from
        this call or from the function.
        """
        if self.slots == 1 or not isinstance(image, np.ndarray):
            restored = self.run(image)
            return lambda: restored
        return self._begun(image)

    @in_turn
    def _begun(self, image: Any) -> Callable[[], Restored]:
        """Begin a picture in main memory that goes to a GPU."""
        restorer, image = self._check(image)
        pictures = restorer.pictures
        frames = image.reshape(pictures.whole)
        flat, start = samples.flat(frames), self._start
        first = frames[:, :1, :1, :1].copy()  # the value of each flat picture
        pending = self._flights(restorer).submit(frames, pictures.white(image.dtype))

        def result() -> Restored:
            with arrays.working(None, self.device):
                return pictures.finished(first, flat, start, pending(), self._how.iterations)

        return result

    @in_turn
    def close(self) -> None:
        """Release threads and buffers; `prepare` may follow again."""
        self._close()

    def _close(self) -> None:
        self.prepared = False
        in_flight, self._in_flight = self._in_flight, None
        restorer, self._restorer = self._restorer, None
        held = in_flight, restorer, self._start
        self._start = None
        if self._home.keep(*held):
            return
        for part in (in_flight, restorer):
            if part:
                part.close()

    def _flights(self, restorer: Restorer) -> Any:
        """Return what keeps pictures in flight, made at its first use."""
        if self._in_flight is None:
            from snellen.mia.cuda.in_flight import How, InFlight

            more: Any = restorer.more
            parts: Any = (restorer.frames, restorer.backend)
            self._in_flight = InFlight(
                self.device, restorer.pictures.whole, self.side, parts, more,
                How(self._start, self._how.iterations, self._how.recentre),
            )  # fmt: skip
        return self._in_flight

    def _check(self, image: Any) -> tuple[Restorer, Any]:
        """Return what is prepared, and a picture, which is checked."""
        if self._restorer is None:
            raise InputError(
                "this Deblurrer is not prepared", advice="call prepare(format) before run"
            )
        self._home.check()
        return self._restorer, self._restorer.pictures.check(image)
