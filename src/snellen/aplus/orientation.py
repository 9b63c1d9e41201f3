"""Orientation, a step of models of format 2: each window is turned into one of eight orientations.

A window is flipped so that it becomes brighter to the right and downwards, and transposed so that
it does so more across than down. Then it is matched and regressed, and its patch is turned back.

This is exactly equivariant: a flipped or turned picture gives the flipped or turned result. The
signs of gradients are exact, because they are sums of samples with whole-number weights: for
integers, and for floats as long as none but 0 is smaller than 2⁻²⁰ of the greatest one around. A
sign is 0 in a tie. There the feature and the patch are the means over all orientations that tie; of
a feature, the sign 0 makes this mean. What remains is rounding: bicubic and matrix products sum in
another order, so two anchors that tie within rounding may be exchanged.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from snellen.aplus.model import Model
from snellen.cpu.compiled import compiled
from snellen.frames.frame import Format, Plane

# Weights of the samples at distances 1 and 2 along the gradient, and at 0, 1, 2 across it: nearly
# those of the window's mean gradient after bicubic, at any scale, but unequal, so that hardly any
# but symmetric windows tie. The sum of their magnitudes, 660, times 65535 is an int32.
NEAR, FAR = 6, 5
CENTRE, BESIDE, END = 10, 9, 1
REACH = 2

Float32 = npt.NDArray[np.float32]


def orientations(plane: Plane, first: int, out: npt.NDArray[np.int8]) -> None:
    """Compute the signs of the gradients of windows.

    Parameters
    ----------
    plane : (H, W) uint8, uint16 or float32
        Low-resolution picture, edges replicated; rows may have a pitch.
    first : int
        Row of the centres of the first windows.
    out : (rows, 3, W) int8
        For each window the signs of its gradient across, of that down, and of the difference of
        their magnitudes: −1 where the window is flipped across, flipped down, transposed.
    """
    sums = np.empty((2, plane.shape[1] + 2 * REACH))
    _signs(plane, first, sums, out)


@compiled(strided=("plane",))
def _signs(plane, first, sums, out):  # type: ignore[no-untyped-def]
    """Compute the signs; `sums` of a row's columns, weighted as along and across, is scratch."""
    height, width = plane.shape[0], plane.shape[1]
    along, beside = sums[0], sums[1]
    for r in range(out.shape[0]):
        y = first + r
        a, b = plane[max(y - 2, 0)], plane[max(y - 1, 0)]
        c, d, e = plane[y], plane[min(y + 1, height - 1)], plane[min(y + 2, height - 1)]
        for x in range(width):
            before, after = np.float64(b[x]), np.float64(d[x])
            start, end = np.float64(a[x]), np.float64(e[x])
            along[x + 2] = NEAR * (after - before) + FAR * (end - start)
            beside[x + 2] = (
                CENTRE * np.float64(c[x]) + BESIDE * (before + after) + END * (start + end)
            )
        for i in range(2):
            line = sums[i]
            line[0] = line[1] = line[2]
            line[width + 2] = line[width + 3] = line[width + 1]
        across_sign, down_sign, order = out[r, 0], out[r, 1], out[r, 2]
        for x in range(width):
            across = NEAR * (beside[x + 3] - beside[x + 1]) + FAR * (beside[x + 4] - beside[x])
            down = (CENTRE * along[x + 2] + BESIDE * (along[x + 1] + along[x + 3])
                    + END * (along[x] + along[x + 4]))  # fmt: skip
            more = abs(across) - abs(down)
            across_sign[x] = (across > 0) - (across < 0)
            down_sign[x] = (down > 0) - (down < 0)
            order[x] = (more > 0) - (more < 0)


def edges(model: Model, format: Format) -> Float32:
    """Return the squared norms at which the next class of strength begins, (classes − 1,).

    Parameters
    ----------
    model : Model
        Of format 2.
    format : Format
        Of the planes to come; white of float planes is 1 unless it says otherwise.
    """
    assert model.strengths is not None
    white = format.white or ((1 << format.bits) - 1 if format.bits else 1)
    found: Float32 = np.square(model.strengths * np.float32(white))
    return found


def turn(
    features: Float32,
    signs: Float32,
    kinds: npt.NDArray[np.int32],
    strengths: Float32,
    out: npt.NDArray[np.int32],
) -> None:
    """Turn features in place, and find their classes of strength.

    Parameters
    ----------
    features : (d, n) float32
        One column for each window.
    signs : (3, n) float32
        Of each window, as `orientations` computes them.
    kinds : (d,) int32
        How each coordinate turns, see `symmetry.Kind`.
    strengths : (c,) float32
        Squared norms of features at which the next class begins, ascending.
    out : (n,) int32
        Class of each feature, 0 … c.
    """
    _turn(features, signs, kinds, strengths, np.empty(len(out), np.float32), out)


@compiled
def _turn(features, signs, kinds, strengths, norm, out):  # type: ignore[no-untyped-def]
    count = features.shape[1]
    half, one = np.float32(0.5), np.float32(1)
    across, down, order = signs[0], signs[1], signs[2]
    for p in range(count):
        norm[p] = 0
        out[p] = 0
    for k in range(features.shape[0]):
        kind, f = kinds[k], features[k]
        if kind == 1:
            for p in range(count):
                f[p] *= across[p] * down[p] * order[p]
        elif kind == 2:
            for p in range(count):
                f[p] *= order[p]
        elif kind == 3:
            for p in range(count):
                f[p] *= across[p] * down[p]
        elif kind == 4:
            g = features[k + 1]
            for p in range(count):
                u, v, share = across[p] * f[p], down[p] * g[p], half * (one + order[p])
                f[p] = share * u + (one - share) * v
                g[p] = share * v + (one - share) * u
        for p in range(count):
            norm[p] += f[p] * f[p]
    for c in range(strengths.shape[0]):
        edge = strengths[c]
        for p in range(count):
            out[p] += norm[p] >= edge
