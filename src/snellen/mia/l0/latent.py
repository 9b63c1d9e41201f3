"""The latent picture: the picture with few edges that, blurred by the current PSF, explains y.

Xu, Zheng, Jia 2013; Pan et al. 2014: f minimises ‖h ⊛ f − y‖² + λ ‖∇f‖₀, where ‖·‖₀ counts the
samples with a gradient. Half-quadratic splitting introduces g for ∇f and alternates between two
steps while β grows. Given f, g is ∇f where |∇f|² ≥ λ/β, else 0. Given g, f minimises
‖h ⊛ f − y‖² + β ‖∇f − g‖², a linear problem that is diagonal in the Fourier domain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from snellen.cpu.compiled import compiled
from snellen.frames.arrays import library
from snellen.mia.l0.gradients import differences, divergence
from snellen.mia.l0.transform import Transform

FIRST = 2.0  # first β / λ; Xu, Lu, Xu, Jia 2011 (L0 smoothing)
GROWTH = 2.0  # factor from each β to the next; ibid.
LAST = 1e5  # β stays below this; ibid.


def latent(
    y: Any, observed: Any, blur: Any, weight: float, curvature: tuple[Any, Any], at: Transform
) -> Any:
    """Return the latent picture f, (H, W) float64, of a periodic blurred one y of the same kind.

    `observed` and `blur` are the spectra (H, W // 2 + 1) complex128 of y and of the PSF h, `weight`
    is λ, and `curvature` the spectrum of the negative Laplacian, see `gradients.laplacian`.
    """
    xp = library(y)
    data, power = xp.conj(blur) * observed, blur.real * blur.real + blur.imag * blur.imag
    edges, divided = (_edges, _divided) if xp is np else (_edges_there, _divided_there)
    f, beta = xp.ascontiguousarray(y), FIRST * weight
    while beta < LAST:
        spectrum = at.forward(edges(f, weight / beta, at))
        f = at.inverse(divided(data, power, *curvature, beta, spectrum, at))
        beta *= GROWTH
    return f


def _edges(f: Any, least: float, at: Transform) -> Any:
    """Return the divergence of those gradients g of f, periodic, whose square is at least λ / β."""

    def rows(first: int, last: int) -> None:
        _keep(f, least, np.empty((3, f.shape[1])), at.plane, first, last)

    at.strips.run(rows)
    return at.plane


def _divided(
    data: Any, power: Any, down: Any, across: Any, beta: float, spectrum: Any, at: Transform
) -> Any:
    """Return the spectrum of f of that of g's divergence, in place."""
    wanted, numbers = data.view(np.float64), spectrum.view(np.float64)
    at.strips.run(_divide, wanted, power, down, across, beta, numbers)
    return spectrum


def _edges_there(f: Any, least: float, at: Transform) -> Any:
    """Return the same as `_edges` on a GPU."""
    across, down = differences(f)
    keep = (across * across + down * down >= least).astype(np.float64)
    return divergence(across * keep, down * keep)


def _divided_there(
    data: Any, power: Any, down: Any, across: Any, beta: float, spectrum: Any, at: Transform
) -> Any:
    """Return the same as `_divided` on a GPU."""
    spectrum *= beta
    spectrum += data
    spectrum /= power + beta * (down[:, None] + across)
    return spectrum


@compiled
def _keep(f, least, rows, out, first, last):  # type: ignore[no-untyped-def]
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


@compiled
def _divide(data, power, down, across, beta, spectrum, first, last):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        row, wanted, blur = spectrum[i], data[i], power[i]
        for k in range(len(blur)):
            share = 1.0 / (blur[k] + beta * (down[i] + across[k]))
            row[2 * k] = (beta * row[2 * k] + wanted[2 * k]) * share
            row[2 * k + 1] = (beta * row[2 * k + 1] + wanted[2 * k + 1]) * share
