"""The memory of the GPU backend of whole frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.mia.definition import Definition


class Buffers:
    """What an backend works in, on the current GPU; None where it needs none.

    f, y, h are what they are called elsewhere; picture and blurs are F and H. `spectra` and g are
    of the frames, first of what the model says, at last of h's correction. `above` and `below` are
    f's correction, or its dividend and divisor, `sum` the spectrum of either; turn is T. cuFFT
    takes real planes where complex numbers may lie; of an odd number of samples every other one
    lies between, and goes by way of `aligned`. `partial` are sums of h by so many shares.
    """

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int, dtype: str,
        shares: int,
    ):  # fmt: skip
        import cupy

        half = (period[0], period[1] // 2 + 1)
        waves = np.result_type(dtype, np.complex64)
        blind, gaussian = definition.blind, definition.noise == "gaussian"

        def pictures(wanted: bool = True) -> Any:
            return cupy.zeros((batch, *period), dtype) if wanted else None

        def planes(wanted: bool = True) -> Any:
            return cupy.zeros((batch, frames, *period), dtype) if wanted else None

        def spectra(wanted: bool = True) -> Any:
            return cupy.zeros((batch, frames, *half), waves) if wanted else None

        self.f, self.above = pictures(), pictures()
        self.below, self.turn = pictures(gaussian), pictures(definition.tv > 0)
        self.y, self.h, self.g = planes(), planes(), planes()
        self.of_h = planes(gaussian and blind)
        self.picture, self.sum = (cupy.zeros((batch, *half), waves) for _ in range(2))
        self.blurs, self.spectra = spectra(), spectra()
        self.observed, self.back = spectra(gaussian), spectra(gaussian and blind)
        odd = period[0] * period[1] % 2 and batch * frames > 1
        self.aligned = cupy.zeros(period, dtype) if odd else None
        self.partial = cupy.zeros((batch, frames, shares)) if blind else None
