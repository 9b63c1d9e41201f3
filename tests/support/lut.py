"""References in float64 for LUTs, from the definitions: H.273's equations, and tetrahedra."""

from __future__ import annotations

from itertools import permutations

import numpy as np

WEIGHTS = {"bt709": (0.2126, 0.0722), "bt601": (0.299, 0.114), "bt2020": (0.2627, 0.0593)}


def text(table, *head):
    """The text of a .cube file; `table` is (N, 3), or (N, N, N, 3) by blue, green and red."""
    key = "LUT_1D_SIZE" if table.ndim == 2 else "LUT_3D_SIZE"
    rows = "\n".join(" ".join(f"{x:.9g}" for x in row) for row in table.reshape(-1, 3))
    return "\n".join([f"{key} {len(table)}", *head, rows, ""])


def identity(size, low=0.0, high=1.0):
    """The colours at the entries of a 3D table."""
    steps = np.linspace(low, high, size)
    blue, green, red = np.meshgrid(steps, steps, steps, indexing="ij")
    return np.stack([red, green, blue], axis=-1)


def tetrahedral(table, rgb):
    """A colour of a 3D table over 0 … 1: barycentric coordinates in the tetrahedron it lies in."""
    place = np.clip(rgb, 0, 1) * (len(table) - 1)
    cell = np.minimum(place.astype(int), len(table) - 2)
    part = place - cell
    for order in permutations(range(3)):
        corners = [cell]
        for axis in order:
            corners.append(corners[-1] + np.eye(3, dtype=int)[axis])
        edges = np.array([corner - cell for corner in corners])
        system = np.vstack([edges.T, np.ones(4)])
        shares = np.linalg.solve(system, [*part, 1])
        if (shares > -1e-12).all():
            return sum(s * table[b, g, r] for s, (r, g, b) in zip(shares, corners, strict=True))
    raise AssertionError("no tetrahedron")


def to_rgb(planes, matrix, bits, full):
    """(H, W, 3): H.273, equations 38 … 56 solved for red, green and blue."""
    red, blue = WEIGHTS[matrix]
    unit = 2.0 ** (bits - 8)
    span, black, colour = (2**bits - 1,) * 3 if full else (219 * unit, 16 * unit, 224 * unit)
    black = 0 if full else black
    y, pb, pr = (planes[0] - black) / span, *((p - 2 ** (bits - 1)) / colour for p in planes[1:])
    r, b = y + 2 * (1 - red) * pr, y + 2 * (1 - blue) * pb
    return np.stack([r, (y - red * r - blue * b) / (1 - red - blue), b], axis=-1)


def from_rgb(rgb, matrix, bits, full):
    """Planes of code values, not rounded: H.273, equations 31 … 42."""
    red, blue = WEIGHTS[matrix]
    unit = 2.0 ** (bits - 8)
    r, g, b = np.moveaxis(rgb, -1, 0)
    y = red * r + (1 - red - blue) * g + blue * b
    pb, pr = 0.5 * (b - y) / (1 - blue), 0.5 * (r - y) / (1 - red)
    if full:
        most = 2**bits - 1
        return y * most, pb * most + 2 ** (bits - 1), pr * most + 2 ** (bits - 1)
    return (219 * y + 16) * unit, (224 * pb + 128) * unit, (224 * pr + 128) * unit
