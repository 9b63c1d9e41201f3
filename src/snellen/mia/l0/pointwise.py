"""Loops of the latent picture between transforms, on the CPU, in rows first … last − 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Float64 = npt.NDArray[np.float64]
Complex128 = npt.NDArray[np.complex128]


def edges(f: Float64, least: float, out: Float64, first: int, last: int) -> None:
    """Compute the adjoint of the differences of f, of those only whose |∇f|² is at least `least`.

    See `gradients.differences` and `gradients.divergence`; f is periodic.
    """
    _edges(f, least, np.empty((3, f.shape[1])), out, first, last)


@compiled
def _edges(f, least, rows, out, first, last):  # type: ignore[no-untyped-def]
    height, width = f.shape
    across, down, above = rows[0], rows[1], rows[2]
    for i in range(first - 1, last):
        row, below, to = f[i % height], f[(i + 1) % height], out[i % height]
        for j in range(width - 1):
            across[j] = row[j + 1] - row[j]
        across[width - 1] = row[0] - row[width - 1]
        for j in range(width):
            vertical = below[j] - row[j]
            keep = across[j] * across[j] + vertical * vertical >= least
            across[j] = across[j] if keep else 0.0
            down[j] = vertical if keep else 0.0
        if i >= first:
            to[0] = across[width - 1] - across[0] + above[0] - down[0]
            for j in range(1, width):
                to[j] = across[j - 1] - across[j] + above[j] - down[j]
        down, above = above, down


def divide(
    data: Complex128, power: Float64, down: Any, across: Any, beta: float, spectrum: Complex128,
    first: int, last: int,
) -> None:  # fmt: skip
    """Replace a spectrum by (data + β · spectrum) / (power + β · (down + across))."""
    wanted, numbers = data.view(np.float64), spectrum.view(np.float64)
    _divide(wanted, power, down, across, beta, numbers, first, last)


@compiled
def _divide(data, power, down, across, beta, spectrum, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        row, wanted, blur = spectrum[i], data[i], power[i]
        for k in range(len(blur)):
            share = 1.0 / (blur[k] + beta * (down[i] + across[k]))
            row[2 * k] = (beta * row[2 * k] + wanted[2 * k]) * share
            row[2 * k + 1] = (beta * row[2 * k + 1] + wanted[2 * k + 1]) * share
