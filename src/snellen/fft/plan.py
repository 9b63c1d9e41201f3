"""Fourier transforms of whole planes at their exact size, on the current GPU: cuFFT's plans."""

from __future__ import annotations

from typing import Any


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
        Planes at once, end to end. Not for real ones: cuFFT pairs them, so that the rounding of a
        bright plane would go into a dark one, and refuses those of an odd number of elements.
    """

    def __init__(self, kind: str, height: int, width: int, batch: int = 1):
        from cupy.cuda import cufft

        half = width // 2 + 1
        shapes = {
            "r2c": ((height, width), (height, half), cufft.CUFFT_R2C),
            "c2r": ((height, half), (height, width), cufft.CUFFT_C2R),
            "inverse": ((height, width), (height, width), cufft.CUFFT_C2C),
        }
        given, made, code = shapes[kind]
        self.batch = batch
        self._direction = cufft.CUFFT_INVERSE
        self._plan = cufft.PlanNd(
            (height, width), given, 1, given[0] * given[1], made, 1, made[0] * made[1], code, batch,
            "C", 1, made[1],
        )  # fmt: skip

    def __call__(self, array: Any, out: Any) -> None:
        """Transform on CuPy's current stream; contiguous CuPy arrays (batch, …)."""
        self._plan.fft(array, out, self._direction)
