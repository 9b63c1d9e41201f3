"""Training and evaluation of A+ in plain float64 NumPy, from the rules, loops welcome."""

from __future__ import annotations

import math

import numpy as np


def cubic(x):
    x = abs(x)
    if x <= 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    if x < 2:
        return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return 0.0


def shrink_axis(column, factor):
    """MATLAB's imresize of one column, antialiased by `factor`, edges clamped."""
    n = len(column)
    out = []
    for i in range(1, math.ceil(n * factor) + 1):  # 1-based, as MATLAB counts
        u = i / factor + 0.5 * (1 - 1 / factor)
        total = weights = 0.0
        for j in range(math.floor(u - 2 / factor) - 1, math.ceil(u + 2 / factor) + 2):
            w = factor * cubic(factor * (u - j))
            weights += w
            total += w * column[min(max(j, 1), n) - 1]
        out.append(total / weights)
    return np.array(out)


def shrink(plane, factor):
    rows = np.stack([shrink_axis(c, factor) for c in np.asarray(plane, np.float64).T], axis=1)
    return np.stack([shrink_axis(r, factor) for r in rows], axis=0)


def difference(mid, scale, which, i, j):
    ahead, behind = {2: (1, 1), 3: (2, 1), 4: (2, 2)}[scale]
    if which == 0:
        return mid[i, j + ahead] - mid[i, j - behind]
    if which == 1:
        return mid[i + ahead, j] - mid[i - behind, j]
    if which == 2:
        return (mid[i, j + scale] + mid[i, j - scale]) / 2 - mid[i, j]
    return (mid[i + scale, j] + mid[i - scale, j]) / 2 - mid[i, j]


def corners(size, scale, window, step):
    """First corner s, last ≤ size − w·s − s: the authors leave out one low-resolution pixel."""
    return range(scale, size - window * scale - scale + 1, step * scale)


def windows(mid, rest, scale, window, step=1):
    """Raw windows (n, 4·(w·s)²) of mid and patches (n, (w·s)²) of rest, column by column."""
    side = window * scale
    mid = np.asarray(mid, np.float64)
    raw, high = [], []
    for top in corners(mid.shape[0], scale, window, step):
        for left in corners(mid.shape[1], scale, window, step):
            inside = [(top + y, left + x) for x in range(side) for y in range(side)]
            raw.append([difference(mid, scale, k, i, j) for k in range(4) for i, j in inside])
            high.append([rest[i, j] for i, j in inside])
    return np.array(raw), np.array(high)


def pursue(signal, atoms, sparsity):
    """Orthogonal matching pursuit: greedy choice, least squares over the chosen."""
    chosen, weights = [], np.zeros(0)
    rest = signal.copy()
    for _ in range(sparsity):
        product = np.abs(atoms @ rest)
        if product.max() ** 2 < 1e-14:
            break
        chosen.append(int(product.argmax()))
        weights = np.linalg.lstsq(atoms[chosen].T, signal, rcond=None)[0]
        rest = signal - weights @ atoms[chosen]
    return chosen, weights


def ksvd(signals, count, sparsity, iterations, seed):
    """Approximate K-SVD by KSVDBox's formulas, with a dense code (n, count)."""
    random = np.random.default_rng(seed)
    usable = np.flatnonzero((signals**2).sum(1) > 1e-6)
    atoms = signals[random.permutation(usable)[:count]]
    atoms = atoms / np.linalg.norm(atoms, axis=1, keepdims=True)
    for _ in range(iterations):
        coded = np.zeros((len(signals), count))
        for p, signal in enumerate(signals):
            chosen, weights = pursue(signal, atoms, sparsity)
            coded[p, chosen] = weights
        free = np.ones(len(signals), bool)
        fresh = np.zeros(count, bool)
        used = coded != 0
        for k in random.permutation(count):
            mine = np.flatnonzero(used[:, k])
            if len(mine) == 0:
                left = np.flatnonzero(free)
                some = left[random.permutation(len(left))[:5000]]
                worst = some[((signals - coded @ atoms)[some] ** 2).sum(1).argmax()]
                atoms[k] = signals[worst] / np.linalg.norm(signals[worst])
                free[worst], fresh[k] = False, True
                continue
            weights = coded[mine, k]
            others = signals[mine] - coded[mine] @ atoms + np.outer(weights, atoms[k])
            atoms[k] = weights @ others / np.linalg.norm(weights @ others)
            coded[mine, k] = others @ atoms[k]
        error = ((signals - coded @ atoms) ** 2).sum(1)
        for k in range(count):
            close = max(abs(atoms[m] @ atoms[k]) for m in range(count) if m != k)
            if not fresh[k] and ((np.abs(coded[:, k]) > 1e-7).sum() < 4 or close > 0.99):
                worst = np.where(free, error, -1).argmax()
                atoms[k] = signals[worst] / np.linalg.norm(signals[worst])
                free[worst] = False
    return atoms


def nearest(features, anchors, count):
    """Indices of the nearest features of each anchor, ascending; equals: the earlier."""
    out = []
    for anchor in anchors:
        distance = ((features - anchor) ** 2).sum(1)
        out.append(np.sort(np.argsort(distance, kind="stable")[:count]))
    return np.array(out)


def projection(low, high, ridge):
    """P = H Lᵀ (L Lᵀ + λI)⁻¹, samples as columns."""
    return high @ low.T @ np.linalg.inv(low @ low.T + ridge * np.eye(len(low)))


def psnr(truth, estimate, border):
    a, b = (np.floor(np.clip(np.float64(p), 0, 1) * 255 + 0.5) for p in (truth, estimate))
    cut = slice(border, a.shape[0] - border), slice(border, a.shape[1] - border)
    return 10 * math.log10(255**2 / ((a[cut] - b[cut]) ** 2).mean())


def unit_rows(random, shape):
    """Return random rows of norm 1."""
    rows = random.normal(size=shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
