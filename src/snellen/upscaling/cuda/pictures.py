"""Pictures as arrays on the GPU: samples → planes → enlarged planes → samples."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from snellen.engine.engine import Engine, Pending
from snellen.frames.bicubic import bicubic, kernel
from snellen.frames.frame import CENTRE
from snellen.gpu import device as devices
from snellen.gpu.memory import lasting, scratch
from snellen.upscaling.cuda.planes import Planes
from snellen.upscaling.cuda.samples import LARGEST, Check, Samples
from snellen.upscaling.methods import format_of, method_of
from snellen.upscaling.models import Model

Arrays = tuple[Any, ...]
"""Arrays of CuPy."""


class Pictures:
    """Enlarges pictures of one shape and type on a GPU, one after another. Holds all buffers.

    Parameters
    ----------
    model : Model
    size : (int, int)
        Rows and columns of a picture.
    channels : int
        1, 3 (RGB) or 4 (RGBA with straight alpha).
    dtype : dtype
        Of the samples: uint8, uint16, float16, float32 or float64.
    bits : int
        Significant bits of integers; 0: floats.
    device : str
        "cuda:N".
    slots : int
        Pictures of main memory in flight, as `run` takes them; 0: it is not called.
    white : float, optional
        The sample value of white; None: the greatest of integers, 1 of floats.
    largest : float
        The greatest magnitude of floats that can be used.

    Attributes
    ----------
    looked : bool
        Whether a caller has looked at a picture for traces of coding.

    Raises
    ------
    DeviceError
        Memory does not suffice, or CUDA failed.
    """

    def __init__(
        self,
        model: Model,
        size: tuple[int, int],
        channels: int,
        dtype: np.dtype[Any],
        bits: int,
        device: str,
        slots: int = 0,
        white: float | None = None,
        largest: float = LARGEST,
    ):
        import cupy

        colour = channels > 1
        source = format_of(size, colour, bits, white)
        target = source.scaled(model.scale)
        self._device, self._scale, self._slots = device, model.scale, slots
        self.looked = False
        self._kinds = [
            ((format.height, format.width, *((channels,) if colour else ())), dtype)
            for format in (source, target)
        ]
        self._engine: Engine | None = None
        with devices.on(self._device), lasting():
            taken = max(1, slots) * sum(_bytes(*kind) for kind in self._kinds)
            self._check = Check(dtype, bits, largest) if Check.needed(dtype, bits) else None
            self._planes = Planes(model, source, target, scratch(taken))
            self._samples: Samples | None = None
            if colour or dtype != source.dtype or not bits:
                self._samples = Samples(dtype, channels, bits, source.dtype)
                if colour:  # of chroma and alpha: it is compiled beside those of luma
                    kernel(model.scale, CENTRE, "float32", "float32")
                self._small, self._large = (
                    tuple(
                        cupy.empty((format.height, format.width), format.dtype)
                        for _ in range(channels)
                    )
                    for format in (source, target)
                )
            self._done = cupy.cuda.Event(disable_timing=True)
            self._done.record()
        if slots:
            once = method_of(model).writes_once and not (self._samples or self._check)
            self._engine = Engine(
                device,
                inputs=[self._kinds[0]],
                outputs=[self._kinds[1], *([((1,), np.int32)] if self._check else [])],
                work=self._work,
                slots=slots,
                # Of several pictures one comes back while the next is computed.
                direct=slots == 1 and once,
            )

    def __call__(self, picture: Any, out: Any) -> None:
        """Enlarge a picture on CuPy's current stream; contiguous CuPy arrays on this GPU."""
        import cupy

        stream = cupy.cuda.get_current_stream()
        stream.wait_event(self._done)  # of the work before, on whatever stream
        try:
            self._enlarge(picture, out)
        finally:
            self._done.record(stream)

    def odd(self, pictures: Any) -> bool:
        """Return whether samples of CuPy pictures cannot be used; wait for the current stream."""
        import cupy

        if not self._check:
            return False
        found = cupy.empty(1, np.int32)
        self._check(cupy.ascontiguousarray(pictures), found)
        return bool(found.get()[0])

    def run(self, numbers: Iterator[int], pictures: Any, out: Any, locked: bool) -> bool:
        """Enlarge some of the pictures in main memory, several in flight.

        Parameters
        ----------
        numbers : iterator of int
            Which ones.
        pictures : (N, H, W[, channels]) NumPy array
            Of this type, in any order of bytes.
        out : (N, s·H, s·W[, channels]) NumPy array
            Their results, contiguous.
        locked : bool
            Whether `out` is page-locked: then the GPU writes into it; else results are copied.

        Returns
        -------
        bool
            Whether a picture has samples that cannot be used: NaN, infinity, too large, or of more
            bits. Results mean nothing then.
        """
        engine, odd = self._engine, False
        flights: deque[tuple[int, Pending]] = deque()
        assert engine is not None

        def finish() -> bool:
            number, pending = flights.popleft()
            result, *found = pending.result()
            if not locked:
                np.copyto(out[number], result)
            return bool(found) and bool(found[0][0])

        try:
            for number in numbers:
                if len(flights) == self._slots:
                    odd |= finish()
                given = [out[number]] if locked else []
                flights.append((number, engine.submit([pictures[number]], out=given)))
            while flights:
                odd |= finish()
        finally:
            if flights:  # something failed
                engine.streams.settle()  # nobody writes to `out` any more
        return odd

    def close(self) -> None:
        """Wait for what is queued, and drop all buffers."""
        if self._engine:
            self._engine.close()
        with devices.on(self._device):
            with suppress(Exception):  # CUDA has failed
                self._done.synchronize()
            self._engine = self._samples = None
            self._small = self._large = ()
            del self._planes

    def _work(self, inputs: Arrays, outputs: Arrays) -> None:
        """Enlarge a picture of an engine, and say whether its samples can be used."""
        if self._check:
            self._check(inputs[0], outputs[1])
        self._enlarge(inputs[0], outputs[0])

    def _enlarge(self, picture: Any, out: Any) -> None:
        """Queue all kernels on CuPy's current stream."""
        if self._samples is None:
            self._planes((picture,), (out,))
            return
        small, large = self._small, self._large
        self._samples.split(picture, small)
        self._planes(small[:3], large[:3])
        if len(small) == 4:
            bicubic(small[3], self._scale, large[3])
        self._samples.join(large, out)


def _bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return int(np.prod(shape)) * dtype.itemsize
