"""Fourier transforms on a GPU: whole planes by cuFFT (`plan`), small ones by kernels (`small`)."""

from snellen.fft.small import fft2, ifft2, irfft2, rfft2

__all__ = ["fft2", "ifft2", "irfft2", "rfft2"]
