"""Fourier transforms of whole planes at their exact size, on the current GPU: cuFFT's plans."""

from __future__ import annotations

from typing import Any

ALIGNED = 64  # elements: cuFFT refuses real planes that do not begin where a complex number may


def planes(count: int, height: int, width: int) -> Any:
    """Return (count, height, width) float32 on the current GPU, so far apart as plans want them."""
    import cupy

    apart = distance(height, width)
    memory = cupy.empty(count * apart, cupy.float32).data
    strides = (4 * apart, 4 * width, 4)
    return cupy.ndarray((count, height, width), cupy.float32, memory, strides)


def distance(height: int, width: int) -> int:
    """Return from one real plane to the next, in elements."""
    return -(-height * width // ALIGNED) * ALIGNED


class Plan:
    """A 2-D transform of so many planes at once, single precision, not scaled.

    Parameters
    ----------
    kind : str
        "r2c": real (M, N) → half spectrum (M, N/2 + 1); "c2r": back, which destroys its input;
        "inverse": complex (M, N) → the same, in place where `out` is the input.
    height, width : int
        M and N of the real plane, any.
    batch : int
        Planes at once: real ones as `planes` gives them, others end to end.
    """

    def __init__(self, kind: str, height: int, width: int, batch: int):
        from cupy.cuda import cufft

        half = width // 2 + 1
        shapes = {
            "r2c": ((height, width), (height, half), cufft.CUFFT_R2C),
            "c2r": ((height, half), (height, width), cufft.CUFFT_C2R),
            "inverse": ((height, width), (height, width), cufft.CUFFT_C2C),
        }
        given, made, code = shapes[kind]
        apart = [
            distance(height, width) if real else shape[0] * shape[1]
            for shape, real in ((given, kind == "r2c"), (made, kind == "c2r"))
        ]
        self.batch = batch
        self._direction = cufft.CUFFT_INVERSE
        self._plan = cufft.PlanNd(
            (height, width), given, 1, apart[0], made, 1, apart[1], code, batch, "C", 1, made[1]
        )  # fmt: skip

    def __call__(self, array: Any, out: Any) -> None:
        """Transform on CuPy's current stream; contiguous CuPy arrays (batch, …)."""
        self._plan.fft(array, out, self._direction)
