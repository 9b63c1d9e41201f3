"""MIA in plain NumPy float64 (and a spline of SciPy), from the definition; no code of ours.

Pictures are of 0 … 1. One object f (H, W) gave M frames y (M, H, W) through M PSFs h (M, H, W), all
on one period, the PSFs around (0, 0); negative samples of y are unobserved.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

EPS = 1e-6


def convolved(a, b):
    """a ⊛ b on the period of both."""
    return np.fft.ifft2(np.fft.fft2(a) * np.fft.fft2(b)).real


def correlated(a, b):
    """corr(a, b)[x] = Σ_k a[x + k] · b[k]."""
    return np.fft.ifft2(np.fft.fft2(a) * np.fft.fft2(b).conj()).real


def normalised(h, before=None):
    """h / Σh, each of (M, H, W); what vanished altogether (of a black picture) stays as before."""
    out = []
    for m, plane in enumerate(h):
        total = plane.sum()
        out.append(plane / total if total > 0 else before[m])
    return np.array(out)


def curvature(f):
    """div(∇f / |∇f|): forward differences, their adjoint, both across the period's edges."""
    right, down = np.roll(f, -1, 1) - f, np.roll(f, -1, 0) - f
    size = np.sqrt(right**2 + down**2 + 1e-6)
    p, q = right / size, down / size
    return p - np.roll(p, 1, 1) + q - np.roll(q, 1, 0)


def divisor(f, tv):
    """T, by which f's correction is divided."""
    return np.maximum(1 - tv * curvature(f), 0.2) if tv else 1.0


def poisson(y, f, h, read_noise=0.0):
    """Corrections of f and of each h, before they are floored."""
    of_f, of_h = [], []
    for frame, psf in zip(y, h, strict=True):
        g = convolved(psf, f)
        quotient = (frame + read_noise**2) / np.maximum(g + read_noise**2, EPS)
        r = np.where(frame >= 0, quotient, 1.0)
        of_f.append(correlated(r, psf) / psf.sum())
        total = f.sum()
        of_h.append(correlated(r, f) / total if total > 0 else np.zeros_like(f))
    return np.mean(of_f, 0), np.array(of_h)


def gaussian(y, f, h):
    """Likewise, by ISRA."""
    above, below, of_h = 0.0, 0.0, []
    for frame, psf in zip(y, h, strict=True):
        g = convolved(psf, f)
        completed = np.where(frame >= 0, frame, g)  # nothing observed: what the model says
        above = above + correlated(completed, psf)
        below = below + correlated(g, psf)
        total = f.sum()
        if total > 0:
            quotient = np.maximum(correlated(g, f) / total, EPS)
            of_h.append(correlated(completed, f) / total / quotient)
        else:
            of_h.append(np.zeros_like(f))
    return above / np.maximum(below, EPS), np.array(of_h)


def iterated(y, f, h, count, noise="poisson", read_noise=0.0, blind=True, tv=0.0):
    """f (H, W) and h (M, H, W) after so many iterations."""
    h = normalised(h)
    for _ in range(count):
        if noise == "poisson":
            of_f, of_h = poisson(y, f, h, read_noise)
        else:
            of_f, of_h = gaussian(y, f, h)
        before = f
        f = f * np.maximum(of_f, EPS) / divisor(before, tv)
        if blind:
            h = normalised(h * np.maximum(of_h, 0), h)
    return f, h


def fit(y, f, h, noise="poisson"):
    """Mean over what was observed, sample by sample."""
    terms = []
    for frame, psf in zip(y, h, strict=True):
        g = convolved(psf, f)
        for wanted, found in zip(frame.ravel(), g.ravel(), strict=True):
            if wanted < 0:
                continue
            if noise == "gaussian":
                terms.append((wanted - found) ** 2)
                continue
            found = max(found, EPS)
            terms.append(found - wanted + (wanted * np.log(wanted / found) if wanted > 0 else 0))
    return float(np.mean(terms))


# PSFs


def bell(sigma, side):
    """A Gaussian (side, side), sum 1."""
    out = np.zeros((side, side))
    middle = side // 2
    for i, j in np.ndindex(out.shape):
        out[i, j] = np.exp(-((i - middle) ** 2 + (j - middle) ** 2) / (2 * sigma**2))
    return out / out.sum()


def on_period(psf, period):
    """psf (side, side) with its middle at (0, 0) of the period."""
    out = np.zeros(period)
    middle = len(psf) // 2
    for i, j in np.ndindex(psf.shape):
        out[(i - middle) % period[0], (j - middle) % period[1]] = psf[i, j]
    return out


def off_period(h, side):
    """The support (side, side) of h on its period."""
    out = np.zeros((side, side))
    middle = side // 2
    for i, j in np.ndindex(out.shape):
        out[i, j] = h[(i - middle) % h.shape[0], (j - middle) % h.shape[1]]
    return out


def recentred(f, h, side, parts=True):
    """f and h (M, H, W), h's mean centre of mass in the middle; without `parts` to a pixel."""
    mean = np.mean([off_period(plane, side) for plane in h], 0)
    away = np.arange(side) - side // 2
    total = mean.sum()
    down, right = (mean * away[:, None]).sum() / total, (mean * away[None, :]).sum() / total
    whole = int(np.rint(down)), int(np.rint(right))
    rest = (down - whole[0], right - whole[1]) if parts else (0, 0)
    moved = []
    for plane in h:
        psf = off_period(np.roll(plane, (-whole[0], -whole[1]), (0, 1)), side)
        psf = shifted(psf / psf.sum(), (-rest[0], -rest[1]), closed=True)
        moved.append(on_period(psf, f.shape))
    return shifted(np.roll(f, whole, (0, 1)), rest), np.array(moved)


def shifted(plane, by, closed=False):
    """A plane moved down and to the right by less than a sample: the lines, then the columns."""
    plane = np.array([_shifted(line, by[1], closed) for line in plane])
    return np.array([_shifted(line, by[0], closed) for line in plane.T]).T


def _shifted(line, by, closed):
    """A line moved by a fraction of a sample: that of linear interpolation, and what the cubic
    spline adds to it, as far as no sample gives more than it has."""
    size, reach = len(line), 8
    outer = 0 if closed else 3 * reach
    wide = np.pad(line, outer, "wrap") if outer else line
    # How the spline spreads a single sample, to 8 samples each way; what is beyond it keeps.
    nodes = np.arange(-60, 61)
    spread = CubicSpline(nodes, (nodes == 0) * 1.0)(np.arange(-reach, reach + 1) - by)
    spread[reach] += 1 - spread.sum()
    count = len(wide)
    linear, more = np.zeros(count + 1), np.zeros(count + 1)  # across the boundary before a sample
    for i in range(1, count):
        linear[i] = by * (wide[i - 1] if by > 0 else wide[i])
        for j in range(max(0, i - reach), min(count, i + reach)):
            goes = spread[max(0, i - j + reach) :].sum() if j < i else 0
            comes = spread[: i - j + reach].sum() if j >= i else 0
            more[i] += wide[j] * (goes - comes)
        more[i] -= linear[i]
    has = wide + linear[:-1] - linear[1:]
    gives = np.maximum(more[1:], 0) + np.maximum(-more[:-1], 0)
    share = [min(1.0, max(h, 0) / g) if g else 1.0 for h, g in zip(has, gives, strict=True)]
    for i in range(1, count):
        more[i] *= share[i - 1] if more[i] > 0 else share[i]
    return np.maximum(has + more[:-1] - more[1:], 0)[outer : outer + size]


# Edges


def period(shape, side):
    """Of the rule "extend": two of 32 … 256, or the next sizes without large prime factors."""
    wanted = [size + side - 1 for size in shape]
    if max(wanted) <= 256:
        return tuple(min(s for s in (32, 64, 128, 256) if s >= size) for size in wanted)
    return tuple(_smooth(size) for size in wanted)


def _smooth(size):
    """The next number whose prime factors are 2, 3 and 5: fast for real transforms."""
    while True:
        rest = size
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return size
        size += 1


def tapered(y, side):
    """A plane whose opposite edges are blended into each other, rows first, then columns."""
    reach = side // 2
    for turned in (False, True):
        plane = y.T if turned else y
        out = plane.copy()
        size = len(plane)
        for i in range(size):
            distance = min(i, size - 1 - i) + 0.5  # from between the outermost samples
            if distance < reach:
                w = 0.5 + 0.25 * (1 - np.cos(np.pi * distance / reach))
                out[i] = w * plane[i] + (1 - w) * plane[size - 1 - i]
        y = out.T if turned else out
    return y


def extended(y, period):
    """A plane at the top left of the period, −1 elsewhere, and f's start there."""
    rows, columns = y.shape
    observed = np.full(period, -1.0)
    observed[:rows, :columns] = y
    f = np.zeros(period)
    f[:rows, :columns] = y
    for j in range(columns, period[1]):
        t = (j - columns + 1) / (period[1] - columns + 1)
        f[:rows, j] = (1 - t) * y[:, -1] + t * y[:, 0]
    for i in range(rows, period[0]):
        t = (i - rows + 1) / (period[0] - rows + 1)
        f[i] = (1 - t) * f[rows - 1] + t * f[0]
    return observed, f
