"""The eight flips and turns of a square, and what they do to windows, features and patches.

Orientation g = x + 2·y + 4·t of 0 … 7: flip across if x is 1, then flip down if y is 1, then
transpose if t is 1. In a basis that is adapted to these, a flip changes the signs of some
coordinates of a feature, and a transposition changes signs and swaps pairs; see `Kind`. So it is 28
numbers that are turned, not the 144 samples of a raw window.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS

ORIENTATIONS = 8
TRANSPOSED = (1, 0, 3, 2)  # filters G, Gᵀ, L, Lᵀ of the transposed picture

Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]


class Kind(IntEnum):
    """The changes of a coordinate of a feature: the irreducible representations of the square."""

    SAME = 0
    """It never changes."""
    TURN = 1
    """Flips and the transposition change its sign."""
    SQUARE = 2
    """The transposition changes its sign, flips do not."""
    DIAGONAL = 3
    """Flips change its sign, the transposition does not."""
    ACROSS = 4
    """A flip across changes its sign; the transposition swaps it with the next, of kind DOWN. Its
    number is even, so that a lane of a GPU holds both."""
    DOWN = 5
    """A flip down changes its sign."""


SIGNS = {Kind.SAME: (1, 1, 1), Kind.TURN: (-1, -1, -1), Kind.SQUARE: (1, 1, -1),
         Kind.DIAGONAL: (-1, -1, 1), Kind.ACROSS: (-1, 1, 0), Kind.DOWN: (1, -1, 0)}  # fmt: skip
"""Signs that a flip across, a flip down and the transposition give; 0: another coordinate."""


def turned(raw: npt.NDArray[np.floating], orientation: int) -> npt.NDArray[np.floating]:
    """Return raw windows of the picture in an orientation.

    Parameters
    ----------
    raw : (4·(w·s)², …)
        Samples by filter (G, Gᵀ, L, Lᵀ), then by column and row of the window.
    """
    side = round((len(raw) / FILTERS) ** 0.5)
    windows = raw.reshape(FILTERS, side, side, *raw.shape[1:]).copy()
    if orientation & 1:
        windows = windows[:, ::-1]
        windows[0] *= -1
    if orientation & 2:
        windows = windows[:, :, ::-1]
        windows[1] *= -1
    if orientation & 4:
        windows = windows.swapaxes(1, 2)[list(TRANSPOSED)]
    return np.ascontiguousarray(windows).reshape(raw.shape)


def places(side: int) -> Int32:
    """Return where the samples of a turned patch lie in the patch: (8, side²) int32.

    Sample j of the patch in orientation g is sample places[g, j] of the patch as it is. Patches are
    stored column by column.
    """
    found = []
    for orientation in range(ORIENTATIONS):
        at = np.arange(side * side, dtype=np.int32).reshape(side, side)
        if orientation & 1:
            at = at[::-1]
        if orientation & 2:
            at = at[:, ::-1]
        found.append((at.T if orientation & 4 else at).ravel())
    return np.ascontiguousarray(found)


def kinds(basis: Float32) -> Int32:
    """Return the kind of each column of a basis, (d,) int32; ValueError where there is none."""
    images = [turned(basis, orientation) for orientation in (1, 2, 4)]
    found: list[Kind] = []
    for k, column in enumerate(basis.T):
        signs = tuple(
            1 if (image[:, k] == column).all() else -1 if (image[:, k] == -column).all() else 0
            for image in images
        )
        kind = next((kind for kind in Kind if SIGNS[kind] == signs), None)
        second = k % 2 == 1 and found[-1] == Kind.ACROSS
        if kind is None or (kind == Kind.DOWN) != second:
            raise ValueError(f"column {k} of the basis is not adapted to flips and turns")
        if kind == Kind.ACROSS and k % 2:
            raise ValueError(f"a pair of the basis begins at the odd column {k}")
        if second and not (images[2][:, k - 1] == column).all():
            raise ValueError(f"columns {k - 1} and {k} of the basis are no pair")
        found.append(kind)
    if found[-1] == Kind.ACROSS:
        raise ValueError("the last column of the basis has no partner")
    return np.array(found, np.int32)


def adapted(covariance: Float64, energy: float) -> tuple[Float32, float]:
    """Return the PCA basis of windows in all orientations, adapted to flips and turns.

    Parameters
    ----------
    covariance : (n, n) float64
        Sum of the products of raw windows with themselves.
    energy : float
        Share to retain, 0 … 1.

    Returns
    -------
    basis : (n, d) float32
        Orthonormal columns, the strongest first but that pairs begin at even numbers; `kinds` gives
        their kinds.
    retained : float
        Share of the energy that the d dimensions retain.
    """
    mean = np.zeros_like(covariance)
    for g in range(ORIENTATIONS):
        mean += turned(turned(covariance, g).T, g) / ORIENTATIONS
    found: list[tuple[float, list[Float64]]] = []
    for kind in (Kind.SAME, Kind.TURN, Kind.SQUARE, Kind.DIAGONAL, Kind.ACROSS):
        space = _space(len(mean), kind)
        values, vectors = np.linalg.eigh(space.T @ mean @ space)
        for value, vector in zip(values, (space @ vectors).T, strict=True):
            if value > 1e-12 * values[-1]:
                column = vector * np.sign(vector[np.abs(vector).argmax()])
                pair = [column, turned(column, 4)] if kind == Kind.ACROSS else [column]
                found.append((float(value), pair))
    found.sort(key=lambda one: -one[0])
    shares = np.cumsum([value * len(pair) for value, pair in found]) / np.trace(mean)
    count = min(int(np.searchsorted(shares, energy)) + 1, len(found))
    columns: list[Float64] = []
    waiting: list[Float64] = []  # pairs, for an even number
    for _, one in found[:count]:
        (waiting if len(one) == 2 and len(columns) % 2 else columns).extend(one)
        if len(columns) % 2 == 0:
            columns, waiting = columns + waiting, []
    if waiting:
        columns = [*columns[:-1], *waiting, columns[-1]]
    return np.ascontiguousarray(np.transpose(columns), np.float32), float(shares[count - 1])


def _space(size: int, kind: Kind) -> Float64:
    """Return an orthonormal basis (size, n) of the raw windows of a kind."""
    # Each row has at most one number that is not 0, and the magnitudes in a column are equal. So
    # linear combinations of the columns are exactly as symmetric as the kind says.
    projector = np.eye(size)
    for orientation, sign in zip((1, 2, 4), SIGNS[kind], strict=True):
        if sign:
            projector = (projector + sign * turned(projector, orientation)) / 2
    first = (projector != 0).argmax(axis=0)
    columns = projector[:, (first == np.arange(size)) & (np.diag(projector) != 0)]
    magnitudes = np.abs(columns).max(axis=0)
    lengths = np.sqrt((columns != 0).sum(axis=0))
    space: Float64 = columns / magnitudes / lengths
    return space
