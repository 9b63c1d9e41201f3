"""Non-local means in float64, written from the papers: every distance is summed by itself."""

from __future__ import annotations

import numpy as np

SEARCH, PATCH, POWER = 3, 2, 8
COUNT = (2 * PATCH + 1) ** 2
QUANTILE, BLOCK, BIN = 20, 16, 64


def denoised(frames, at, bits, strength=1.2, radius=2, noise=None, to=None, full_range=False):
    """Frame number `at` of a run as real numbers, before they are rounded to `to` bits.

    A frame is a list of planes: luma, or luma and two chroma planes.
    """
    chosen = frames[max(0, at - radius) : at + radius + 1]
    found = []
    for group in (slice(0, 1), slice(1, 3)):
        if frames[at][group]:
            run = [np.array(frame[group], np.int64) for frame in chosen]
            found += mean(run, min(at, radius), bits, strength, noise)
    if to is None or to == bits:
        return found
    scale = ((1 << to) - 1) / ((1 << bits) - 1) if full_range else 2.0 ** (to - bits)
    middle = [0.0] + 2 * [2.0 ** (bits - 1)] if full_range else 3 * [0.0]
    return [(plane - m) * scale + (m and 2.0 ** (to - 1))
            for plane, m in zip(found, middle, strict=False)]  # fmt: skip


def mean(run, at, bits, strength, noise):
    """Weighted means of planes (planes, H, W) with common weights."""
    drop = max(0, bits - 10)
    count, height, width = run[at].shape
    code = 2.0 ** (bits - drop - 8)
    sigma = deviation(run[at] >> drop) if noise is None else noise * code
    threshold = np.floor(POWER * (strength * max(sigma, code / 4)) ** 2 * count * COUNT)
    threshold = min(max(threshold, 1), 2**24 - 1)
    most = int(((2**24 - 1) / (count * COUNT)) ** 0.5)
    margin = SEARCH + PATCH
    wide = [np.pad(one, ((0, 0), (margin, margin), (margin, margin)), "symmetric") for one in run]
    total, weights = np.zeros((count, height, width)), np.zeros((height, width))
    greatest = np.zeros((height, width))

    def part(number, down, right):
        top, left = margin + down, margin + right
        return wide[number][:, top : top + height, left : left + width]

    for number in range(len(run)):
        for down in range(-SEARCH, SEARCH + 1):
            for right in range(-SEARCH, SEARCH + 1):
                if (number, down, right) == (at, 0, 0):
                    continue
                distance = np.zeros((height, width))
                for i in range(-PATCH, PATCH + 1):
                    for j in range(-PATCH, PATCH + 1):
                        other = part(number, down + i, right + j) >> drop
                        difference = other - (part(at, i, j) >> drop)
                        distance += (np.clip(difference, -most, most) ** 2).sum(0)
                weight = np.maximum(1 - distance / threshold, 0) ** POWER
                total += weight * part(number, down, right)
                weights += weight
                greatest = np.maximum(greatest, weight)
    greatest[greatest == 0] = 1
    return list((total + greatest * run[at]) / (weights + greatest))


def deviation(levels):
    """Standard deviation of the noise: that below which one of twenty blocks is."""
    taps = np.array([1, 0, -2, 0, 1])
    sums = []
    for plane in levels:
        height, width = plane.shape
        for top in range(0, height - 4 - BLOCK + 1, BLOCK):
            for left in range(0, width - 4 - BLOCK + 1, BLOCK):
                part = plane[top : top + BLOCK + 4, left : left + BLOCK + 4]
                rows = np.array([np.convolve(row, taps, "valid") for row in part])
                both = np.array([np.convolve(one, taps, "valid") for one in rows.T])
                there = both != 0
                empty = not (there.any(0).all() and there.any(1).all())
                sums.append(-1 if empty else np.abs(both).sum())
    full = [one for one in sums if one >= 0]
    if not full or 2 * len(full) < len(sums):
        return BIN / 2 / BLOCK**2 * np.sqrt(np.pi / 2) / 6
    sums = sorted(full)
    chosen = sums[-(-len(sums) // QUANTILE) - 1] // BIN * BIN + BIN / 2
    return min(chosen, 4095.5 * BIN) / BLOCK**2 * np.sqrt(np.pi / 2) / 6


def close(found, exact, bits, frames):
    """Whether codes are roundings of real numbers that float32 may give for these.

    Σ w v and Σ w of float32 have a relative error below 2⁻²⁴ for each of their terms, at most 49 a
    frame and two more; the weights, nine roundings. So a mean is off by at most this part of white.
    """
    white = (1 << bits) - 1
    error = 2.0**-24 * (2 * (49 * frames + 2) + 9) * white
    wanted = np.clip(exact, 0, white)
    return found.shape == exact.shape and (np.abs(found - wanted) <= 0.5 + error).all()
