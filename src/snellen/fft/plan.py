"""cuFFT plans for 2-D transforms of whole planes at their exact size, on the current GPU."""

from __future__ import annotations

from typing import Any

from snellen.errors import DeviceMemoryError


class Plan:
    """A 2-D transform of a batch of planes, not scaled.

    Parameters
    ----------
    kind : str
        "r2c": real (M, N) → half spectrum (M, N/2 + 1); "c2r": the inverse of that, which destroys
        its input; "inverse": complex (M, N) → complex (M, N), in place where `out` is the input.
    height, width : int
        M and N of the real plane, any.
    dtype : str
        "float32" or "float64", and complex64 or complex128 with it.
    batch : int
        Planes of one call, contiguous in memory. Keep 1 for real planes: cuFFT transforms them in
        pairs, so that the rounding of a bright plane reaches a dark one, and it refuses pairs of
        an odd number of elements.

    Raises
    ------
    DeviceMemoryError
        The memory of the GPU does not suffice.
    """

    def __init__(self, kind: str, height: int, width: int, dtype: str, batch: int = 1):
        from cupy.cuda import cufft

        whole, half = (height, width), (height, width // 2 + 1)
        given, made, single, double = {
            "r2c": (whole, half, cufft.CUFFT_R2C, cufft.CUFFT_D2Z),
            "c2r": (half, whole, cufft.CUFFT_C2R, cufft.CUFFT_Z2D),
            "inverse": (whole, whole, cufft.CUFFT_C2C, cufft.CUFFT_Z2Z),
        }[kind]
        self._direction = cufft.CUFFT_INVERSE
        try:
            self._plan = cufft.PlanNd(
                whole, given, 1, given[0] * given[1], made, 1, made[0] * made[1],
                double if dtype == "float64" else single, batch, "C", 1, made[1],
            )  # fmt: skip
        except cufft.CuFFTError as error:
            raise DeviceMemoryError(
                f"cuFFT makes no plan for {batch} of {width}×{height} ({error}): the memory of the "
                "GPU may not suffice",
                parameter="device",
                advice="close other programs, or use `device`=cpu",
            ) from error

    def __call__(self, array: Any, out: Any) -> None:
        """Transform on CuPy's current stream; contiguous CuPy arrays (batch, …)."""
        self._plan.fft(array, out, self._direction)
