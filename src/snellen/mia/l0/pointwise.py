"""Loops of the latent picture between transforms, on the CPU, in rows first … last − 1."""

from __future__ import annotations

import numpy as np

from snellen.cpu.compiled import compiled


@compiled
def edges(f, least, out, first, last):  # type: ignore[no-untyped-def]
    """Compute the adjoint of the differences of f, of those only whose |∇f|² is at least `least`.

    See `gradients.differences` and `gradients.divergence`; f is periodic.
    """
    height, width = f.shape
    across, down = np.empty(width), np.empty(width)
    above = np.empty(width)
    for i in range(first - 1, last):
        row, below = f[i % height], f[(i + 1) % height]
        for j in range(width - 1):
            across[j] = row[j + 1] - row[j]
        across[width - 1] = row[0] - row[width - 1]
        for j in range(width):
            vertical = below[j] - row[j]
            keep = across[j] * across[j] + vertical * vertical >= least
            across[j] = across[j] if keep else 0.0
            down[j] = vertical if keep else 0.0
        if i >= first:
            to = out[i]
            to[0] = across[width - 1] - across[0] + above[0] - down[0]
            for j in range(1, width):
                to[j] = across[j - 1] - across[j] + above[j] - down[j]
        down, above = above, down


@compiled
def divide(data, power, down, across, beta, spectrum, first, last):  # type: ignore[no-untyped-def]
    """Replace a spectrum by (data + β · spectrum) / (power + β · (down + across))."""
    for i in range(first, last):
        row, wanted, blur = spectrum[i], data[i], power[i]
        for k in range(len(row)):
            share = 1.0 / (blur[k] + beta * (down[i] + across[k]))
            real = (beta * row[k].real + wanted[k].real) * share
            row[k] = complex(real, (beta * row[k].imag + wanted[k].imag) * share)
