"""The device memory of the cuFFT backend."""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.mia.definition import Definition


class Buffers:
    """The arrays that a backend works in, on the current GPU; None where the method needs none.

    Parameters
    ----------
    definition : Definition
    period : (H, W)
    frames, batch : int
        M frames of each of B pictures.
    dtype : str
        "float32" or "float64".
    blocks : int
        Blocks that share the sum of one plane, see `partial`.

    Attributes
    ----------
    f, numerator, denominator, tv_divisor : (B, H, W)
        The estimates; numerator and denominator of their corrections (the numerator alone is the
        correction with Poisson noise); the divisor T of total variation.
    y, h, g : (B, M, H, W)
        Observed frames, PSFs, and h ⊛ f, which later holds the denominator of h's correction.
    h_numerator : (B, M, H, W)
        The numerator of h's correction, with Gaussian noise.
    f_spectrum, f_sum : (B, H, W / 2 + 1)
        F, and the spectrum of numerator or denominator.
    h_spectrum, spectra, y_spectrum, h_out : (B, M, H, W / 2 + 1)
        H; spectra of g, of the ratio y / g or of h's correction; Y; and the spectrum of h's
        numerator, with Gaussian noise.
    aligned : (H, W)
        A plane that cuFFT transforms in place of others: it takes real planes only at addresses
        where complex numbers may lie, which every second plane of an odd number of samples misses.
    partial : (B, M, blocks) float64
        Partial sums of h.
    """

    def __init__(
        self, definition: Definition, period: tuple[int, int], frames: int, batch: int, dtype: str,
        blocks: int,
    ):  # fmt: skip
        import cupy

        half = (period[0], period[1] // 2 + 1)
        complex_type = np.result_type(dtype, np.complex64)
        blind, gaussian = definition.blind, definition.noise == "gaussian"

        def pictures(needed: bool = True) -> Any:
            return cupy.zeros((batch, *period), dtype) if needed else None

        def planes(needed: bool = True) -> Any:
            return cupy.zeros((batch, frames, *period), dtype) if needed else None

        def spectra(needed: bool = True) -> Any:
            return cupy.zeros((batch, frames, *half), complex_type) if needed else None

        self.f, self.numerator = pictures(), pictures()
        self.denominator, self.tv_divisor = pictures(gaussian), pictures(definition.tv > 0)
        self.y, self.h, self.g = planes(), planes(), planes()
        self.h_numerator = planes(gaussian and blind)
        self.f_spectrum, self.f_sum = (cupy.zeros((batch, *half), complex_type) for _ in range(2))
        self.h_spectrum, self.spectra = spectra(), spectra()
        self.y_spectrum, self.h_out = spectra(gaussian), spectra(gaussian and blind)
        odd = period[0] * period[1] % 2 and batch * frames > 1
        self.aligned = cupy.zeros(period, dtype) if odd else None
        self.partial = cupy.zeros((batch, frames, blocks))
