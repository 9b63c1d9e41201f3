"""Loops of the CPU backend between transforms, over pictures g, frames m and rows first … last − 1.

Scalar arguments have the dtype of the arrays, so that float32 arrays are computed in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu.compiled import compiled

Array = npt.NDArray[Any]

ZERO, ONE = np.float32(0), np.float32(1)  # float32, so that they do not promote float32 arrays


@compiled
def products(picture, blurs, out, first, last):  # type: ignore[no-untyped-def]
    """Compute `out` = F · H."""
    for g in range(out.shape[0]):
        for m in range(out.shape[1]):
            for i in range(first, last):
                one, other, to = picture[g, i], blurs[g, m, i], out[g, m, i]
                for k in range(len(to)):
                    to[k] = one[k] * other[k]


@compiled
def products_conj(picture, spectra, out, first, last):  # type: ignore[no-untyped-def]
    """Compute `out` = spectra · conj F."""
    for g in range(out.shape[0]):
        for m in range(out.shape[1]):
            for i in range(first, last):
                one, other, to = picture[g, i], spectra[g, m, i], out[g, m, i]
                for k in range(len(to)):
                    to[k] = other[k] * one[k].conjugate()


@compiled
def gather(spectra, blurs, share, out, first, last):  # type: ignore[no-untyped-def]
    """Compute `out` = Σ share · spectrum · conj H over the frames."""
    for g in range(out.shape[0]):
        for i in range(first, last):
            to = out[g, i]
            for k in range(len(to)):
                to[k] = 0
        for m in range(blurs.shape[1]):
            factor = share[g, m]
            for i in range(first, last):
                one, other, to = spectra[g, m, i], blurs[g, m, i], out[g, i]
                for k in range(len(to)):
                    to[k] += factor * (one[k] * other[k].conjugate())


@compiled
def ratios(y, offset, eps, g, first, last):  # type: ignore[no-untyped-def]
    """Replace g by r: y / g, and 1 for unobserved samples."""
    for b in range(g.shape[0]):
        for m in range(g.shape[1]):
            for i in range(first, last):
                wanted, model = y[b, m, i], g[b, m, i]
                for j in range(len(model)):
                    ratio = (wanted[j] + offset) / max(model[j] + offset, eps)
                    model[j] = ratio if wanted[j] >= ZERO else ONE


@compiled
def complete(y, g, first, last):  # type: ignore[no-untyped-def]
    """Replace g by y, except for unobserved samples."""
    for b in range(g.shape[0]):
        for m in range(g.shape[1]):
            for i in range(first, last):
                wanted, model = y[b, m, i], g[b, m, i]
                for j in range(len(model)):
                    model[j] = wanted[j] if wanted[j] >= ZERO else model[j]


@compiled
def quotients(divisor, least, out, first, last):  # type: ignore[no-untyped-def]
    """Divide `out` by max(divisor, least); 0 where that is 0."""
    for g in range(out.shape[0]):
        for m in range(out.shape[1]):
            for i in range(first, last):
                below, to = divisor[g, m, i], out[g, m, i]
                for j in range(len(to)):
                    floored = max(below[j], least[g])
                    to[j] = to[j] / floored if floored > ZERO else ZERO


@compiled
def update(f, least, correction, first, last):  # type: ignore[no-untyped-def]
    """Replace the correction by the new f."""
    for g in range(f.shape[0]):
        for i in range(first, last):
            before, to = f[g, i], correction[g, i]
            for j in range(len(to)):
                to[j] = before[j] * max(to[j], least)


@compiled
def update_psf(correction, h):  # type: ignore[no-untyped-def]
    """Multiply h by max(correction, 0) and scale it to sum 1; if that is 0 (black f), h stays."""
    for g in range(h.shape[0]):
        for m in range(h.shape[1]):
            total = 0.0
            new, to = correction[g, m], h[g, m]
            for i in range(to.shape[0]):
                for j in range(to.shape[1]):
                    new[i, j] = to[i, j] * max(new[i, j], ZERO)
                    total += new[i, j]
            if total > 0:
                for i in range(to.shape[0]):
                    for j in range(to.shape[1]):
                        to[i, j] = new[i, j] / total


def flatten(
    f: Array, weight: np.floating, eps: np.floating, least: np.floating, out: Array, first: int,
    last: int,
) -> None:  # fmt: skip
    """Divide `out` by max(1 − λ div(∇f / |∇f|), least); f is periodic."""
    _flatten(f, weight, eps, least, np.empty((4, f.shape[2]), f.dtype), out, first, last)


@compiled
def _flatten(f, weight, eps, least, rows, out, first, last):  # type: ignore[no-untyped-def]
    height, width = f.shape[1], f.shape[2]
    right, p, q, above = rows[0], rows[1], rows[2], rows[3]
    for g in range(f.shape[0]):
        for i in range(first - 1, last):
            row, below, to = f[g, i % height], f[g, (i + 1) % height], out[g, i % height]
            for j in range(width - 1):
                right[j] = row[j + 1] - row[j]
            right[width - 1] = row[0] - row[width - 1]
            for j in range(width):
                down = below[j] - row[j]
                size = np.sqrt(right[j] * right[j] + down * down + eps)
                p[j] = right[j] / size
                q[j] = down / size
            if i >= first:
                for j in range(width):
                    left = p[j - 1]  # for j = 0 the last one
                    divergence = p[j] - left + q[j] - above[j]
                    to[j] = to[j] / max(ONE - weight * divergence, least)
            q, above = above, q


@compiled
def fit(y, g, poisson, eps, out):  # type: ignore[no-untyped-def]
    """Compute the means of y ln(y/g) − y + g, or of (y − g)², over the observed samples."""
    for b in range(y.shape[0]):
        total, count = 0.0, 0
        for m in range(y.shape[1]):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    wanted, model = np.float64(y[b, m, i, j]), np.float64(g[b, m, i, j])
                    if wanted < 0:
                        continue
                    count += 1
                    if not poisson:
                        total += (wanted - model) * (wanted - model)
                        continue
                    model = max(model, eps)
                    total += model - wanted
                    if wanted > 0:
                        total += wanted * np.log(wanted / model)
        out[b] = total / max(count, 1)
