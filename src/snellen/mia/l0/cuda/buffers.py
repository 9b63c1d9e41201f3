"""The device memory of a search: levels use the same arrays, one after another."""

from __future__ import annotations

import numpy as np

from snellen.mia.l0.pyramid import Level


class Buffers:
    """The arrays that a search works in, on the current GPU; all are float64 unless said.

    Planes and half spectra are one-dimensional, as each level divides them in another way.

    Parameters
    ----------
    levels : list of Level
        The last one has the largest PSF.
    count : int
        Pictures.

    Attributes
    ----------
    y, f, across, down : planes
        The pictures of a level; the latent ones; gradients across and down, the first of which is
        scratch otherwise.
    observed, blurred_across, blurred_down, data, spectra : complex128 half spectra
        Of y; of its gradients; conj H · Y; of what is transformed. The last two are scratch.
    power : a half spectrum
        |H|².
    psf, h, residual, direction, applied, other : (K²,)
        The PSF; the vectors of the conjugate gradients; the right-hand side.
    own : ((2 K − 1)²,)
        The autocorrelation of the sharp gradients.
    labels, masses : (K²,) int32 and uint64
        For the components of the PSF.
    lengths, ranks, counts : (2 count,) uint64 and uint32, (512 count,) uint32
        Of the quantiles, see `count_lengths` in search.cu. A length is the bits of a float64.
    scalars : (4,)
        See search.cu.
    """

    def __init__(self, levels: list[Level], count: int):
        import cupy

        side = levels[-1].side
        sizes = [height * width for height, width in (level.shape for level in levels)]
        # Of an odd number of samples, cuFFT would not take the second plane where it would begin.
        plane = count * max(size + size % 2 for size in sizes)
        half = count * max(level.shape[0] * (level.shape[1] // 2 + 1) for level in levels)
        self.y, self.f, self.across, self.down = (cupy.zeros(plane) for _ in range(4))
        self.observed, self.blurred_across, self.blurred_down, self.data, self.spectra = (
            cupy.zeros(half, np.complex128) for _ in range(5)
        )
        self.power = cupy.zeros(half // count)
        self.psf, self.h, self.residual, self.direction, self.applied, self.other = (
            cupy.zeros(side * side) for _ in range(6)
        )
        self.own = cupy.zeros((2 * side - 1) ** 2)
        self.labels = cupy.zeros(side * side, np.int32)
        self.masses = cupy.zeros(side * side, np.uint64)
        self.lengths = cupy.zeros(2 * count, np.uint64)
        self.ranks = cupy.zeros(2 * count, np.uint32)
        self.counts = cupy.zeros(512 * count, np.uint32)
        self.scalars = cupy.zeros(4)
