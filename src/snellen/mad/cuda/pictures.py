"""Pictures as arrays to planes of luma on the GPU, to the bytes of `mad.luma` on NumPy."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from snellen.engine.engine import Engine
from snellen.gpu import device as devices
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel
from snellen.gpu.memory import lasting
from snellen.mad.luma import BLUE, GREEN, RED

THREADS = 256
SLOTS = 4  # pictures in flight: those of two pairs
SLACK = 1e-6  # of the range: rounding may put float samples so far beyond it; they are clipped


class Luma:
    """The stage for pictures of one type; the kernel is compiled at its first use.

    Parameters
    ----------
    dtype : dtype
        Of the samples: uint8, uint16, float16, float32 or float64.
    channels : int
        1 or 3 (RGB).
    peak : float
        The sample value of white.

    Attributes
    ----------
    plane : dtype
        Of the planes: that of the samples for grey integers and for uint8, else float64.
    """

    def __init__(self, dtype: np.dtype[Any], channels: int, peak: float):
        self._kernel = kernel(dtype.name, channels)
        slack = SLACK * peak if dtype.kind == "f" else 0.0
        self._range = tuple(np.float64(x) for x in (-slack, peak + slack, peak))
        self.plane = _plane(dtype, channels)

    def __call__(self, picture: Any, plane: Any, odd: Any) -> None:
        """Fill the plane (H, W) from a contiguous picture (H, W[, 3]), on CuPy's current stream.

        `odd` (1,) int32 becomes 1 if a sample is not finite, or lies beyond the range; a value of
        1 stays.
        """
        blocks = -(-plane.size // THREADS)
        self._kernel(blocks, THREADS, picture, np.int64(plane.size), *self._range, plane, odd)


class Pictures:
    """Planes on a GPU from pictures in main memory of one shape, several in flight.

    Parameters
    ----------
    shape : tuple of int
        (H, W) or (H, W, 3).
    dtype, peak
        As for `Luma`.
    device : str
        "cuda:N".

    Attributes
    ----------
    stream : cupy.cuda.Stream
        For the work with the planes.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], peak: float, device: str):
        import cupy

        self._device = device
        self._luma = Luma(dtype, 3 if len(shape) == 3 else 1, peak)
        with devices.on(device):
            self.stream = cupy.cuda.Stream(non_blocking=True)
            with lasting():
                self._odd = cupy.zeros((1,), np.int32)
        self._engine = Engine(
            device,
            inputs=[(shape, dtype)],
            outputs=[(shape[:2], self._luma.plane)],
            work=self._work,
            slots=SLOTS,
            on_device=True,
        )

    def begin(self) -> None:
        """Forget what was found before."""
        with self._engine.streams.compute:
            self._odd.fill(0)

    def plane(self, picture: Any) -> Any:
        """Return the luma of a NumPy picture as a CuPy array, for work on the current stream."""
        import cupy

        pending = self._engine.submit([picture])
        cupy.cuda.get_current_stream().wait_event(pending.ready)
        return pending.result()[0]

    def odd(self) -> bool:
        """Return, when it is known, whether a sample since `begin` cannot be scored."""
        with self._engine.streams.compute as stream:
            stream.synchronize()
            return bool(self._odd.get()[0])

    def close(self) -> None:
        """Wait for what is queued, and drop all buffers."""
        with devices.on(self._device):
            with suppress(Exception):  # CUDA has failed
                self.stream.synchronize()
            self._engine.close()
            del self._odd

    def _work(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        self._luma(inputs[0], outputs[0], self._odd)


@lru_cache(maxsize=16)
def kernel(dtype: str, channels: int) -> Kernel:
    """Return the kernel, not yet compiled; parameters as of `Luma`."""
    plane = _plane(np.dtype(dtype), channels)
    return Kernel(
        Path(__file__).with_suffix(".cu"), "luma", sample=C_TYPES[dtype],
        channels=channels, plane=C_TYPES[plane.name],
        whole=int(plane.kind == "u"), red=repr(RED), green=repr(GREEN), blue=repr(BLUE),
    )  # fmt: skip


def _plane(dtype: np.dtype[Any], channels: int) -> np.dtype[Any]:
    if dtype == np.uint8 or (dtype.kind == "u" and channels == 1):
        return dtype
    return np.dtype(np.float64)
