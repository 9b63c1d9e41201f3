"""SSIMULACRA 2.1 on the CPU, with the reference program's rounding.

Rounding errors of its blur show in scores (`definition.recursion`). So colours and blur take the
program's float32 operations in its order, with its multiply-adds: across, four columns at a time
from earlier ones; down, row by row. Maps have no such rounding; sums are float64.

A scale has two phases. Groups of ROWS rows become colours, are transposed, so that the rows of a
group are the lanes of vectors, and blurred across. Then strips of COLUMNS columns are blurred down
and compared. Loops keep what they work on in one array at constant distances: otherwise the
compiler could not tell that results do not overlap inputs, and would make no vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.compiled import compiled
from snellen.cpu.external import multiply_add
from snellen.cpu.pool import Pool, results
from snellen.errors import InputError
from snellen.metrics.ssimulacra2 import definition
from snellen.metrics.ssimulacra2.definition import RADIUS

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]

ROWS = 16  # of a group
COLUMNS = 512  # of a strip
QUARTERS = COLUMNS // 4
PIXELS = 256  # whose colours are computed at a time
BEFORE, AFTER = 2 * RADIUS, RADIUS - 1  # columns of 0 around a transposed group

_f = np.float32
_n, _d = definition.recursion()
N1, N3, N5 = map(_f, _n)
D1, D3, D5 = (_f(-one) for one in _d)  # with their sign changed


def _four(gain: float, d: float) -> tuple[tuple[np.float32, ...], ...]:
    """Return factors for four outputs at once: of inputs, of the last output, of the one before."""
    return (
        tuple(map(_f, (gain, -d * gain, d * d * gain - gain, -d * d * d * gain + 2 * d * gain))),
        tuple(map(_f, (-d, d * d - 1, -d * d * d + 2 * d, d * d * d * d - 3 * d * d + 1))),
        tuple(map(_f, (-1.0, d, -d * d + 1, d * d * d - 2 * d))),
    )


_four_of = [_four(gain, d) for gain, d in zip(_n, _d, strict=True)]
I1, I3, I5 = (one[0] for one in _four_of)
P1, P3, P5 = (one[1] for one in _four_of)
Q1, Q3, Q5 = (one[2] for one in _four_of)

LR, LG, LB = map(_f, definition.MATRIX[0])
MR, MG, MB = map(_f, definition.MATRIX[1])
SR, SG, SB = map(_f, definition.MATRIX[2])
BIAS = _f(definition.BIAS)
BLACK = -np.cbrt(BIAS)
THIRD, FOUR_THIRDS = _f(1) / _f(3), _f(4) / _f(3)
GUESS, EXPONENT = 0x54800000, 0x002AAAAA  # 4/3 of the exponent's bias; a third of its unit
HALF, QUARTER, ONE, TWO = _f(0.5), _f(0.25), _f(1), _f(2)
X_SCALE, X_OFFSET = _f(definition.X_SCALE), _f(definition.X_OFFSET)
Y_OFFSET, B_OFFSET = _f(definition.Y_OFFSET), _f(definition.B_OFFSET)
C2, ZERO = _f(definition.C2), _f(0)


def ssimulacra2(reference: Array, distorted: Array) -> float:
    """Return the score of two pictures, by SSIMULACRA 2.1; of equal ones exactly 100.

    Parameters
    ----------
    reference, distorted : (3, H, W) array
        Red, green and blue with the primaries of sRGB and BT.709, in linear light, from 0 (black)
        to 1 (white), as float32: `colours.Picture` makes them. Values outside are taken as they
        are. At least 8 × 8.

    Returns
    -------
    float
        At most 100; negative if the pictures have little in common.

    Raises
    ------
    InputError
        Shapes that differ, or are none of these; samples that are not finite.
    """
    return _compared(reference, distorted, mapped=False)[0]


def maps(reference: Array, distorted: Array) -> tuple[float, list[Float32]]:
    """Return the score, and for each scale a map of where the pictures differ.

    A map has the size of its scale, (H, W), (⌈H / 2⌉, ⌈W / 2⌉) …, and holds for each of its pixels
    this scale's part of the weighted sum that a picture would have which is like this pixel
    everywhere: 0 where nothing differs, without an upper limit. `definition.score` of the sum of
    all maps, enlarged, is that picture's score.
    """
    return _compared(reference, distorted, mapped=True)


def _checked(reference: Array, distorted: Array) -> tuple[Float32, Float32]:
    planes = [np.ascontiguousarray(one, np.float32) for one in (reference, distorted)]
    shapes = [one.shape for one in planes]
    if len(shapes[0]) != 3 or shapes[0][0] != 3 or shapes[0] != shapes[1]:
        raise InputError(
            f"got arrays of {shapes[0]} and {shapes[1]}; expected two of one shape, (3, H, W)",
            parameter="distorted",
        )
    least = definition.SMALLEST
    if not all(np.isfinite(one.sum()) for one in planes):
        raise InputError(
            "got samples that are not finite; expected linear light, 0 … 1", parameter="distorted"
        )
    if min(shapes[0][1:]) < least:
        height, width = shapes[0][1:]
        raise InputError(
            f"got pictures of {width}×{height}; expected at least {least}×{least}",
            parameter="reference",
        )
    return planes[0], planes[1]


def _compared(reference: Array, distorted: Array, mapped: bool) -> tuple[float, list[Float32]]:
    """Return the score and, where asked for, the maps."""
    pair = _checked(reference, distorted)
    sizes = definition.sizes(*pair[0].shape[1:])
    weights = definition.weights(len(sizes))
    norms, found = np.empty((3, len(sizes), 2, 3)), []
    with Pool(threads.available()) as pool:
        for index in range(len(sizes)):
            scale = Scale(pair, weights[:, index], mapped)
            pair = scale.blurred(pool, index + 1 < len(sizes))
            norms[:, index] = scale.norms(pool)
            if scale.maps is not None:
                found.append(scale.maps.sum(axis=0))
    return definition.score(float((weights * norms).sum())), found


class Scale:
    """The comparison at one scale.

    Parameters
    ----------
    pair : two (3, H, W) float32 arrays
        Linear RGB.
    weights : (3, 2, 3) array
        Weights of this scale: component, norm, kind.
    mapped : bool
        Whether there are maps.
    """

    def __init__(self, pair: tuple[Float32, Float32], weights: Array, mapped: bool):
        self._pair = pair
        _, self._height, self._width = pair[0].shape
        self._colours = np.empty((2, *pair[0].shape), np.float32)
        # Where SSIM has no weight, as of X and B at 1:1, only the means are blurred.
        self._counts = [5 if one[:, 0].any() else 2 for one in weights]
        self._first = [0, *np.cumsum(self._counts).tolist()]
        self._planes = np.empty((self._first[-1], self._height, self._width), np.float32)
        self._weights = weights.sum(axis=1).astype(np.float32)
        self.maps = np.zeros(pair[0].shape, np.float32) if mapped else None
        """(3, H, W): each component's weighted sum; None: not asked for."""

    def blurred(self, pool: Pool, smaller: bool) -> tuple[Float32, Float32]:
        """Compute colours and blur them across; return the pair at the next scale."""
        half = (3, (self._height + 1) // 2, (self._width + 1) // 2) if smaller else (3, 0, 0)
        halves = np.empty(half, np.float32), np.empty(half, np.float32)

        def group(top: int) -> None:
            end = min(top + ROWS, self._height)
            light, root = np.zeros((2, 3 * PIXELS), np.float32)
            bits = light.view(np.int32), root.view(np.int32)
            for planes, colours, out in zip(self._pair, self._colours, halves, strict=True):
                _xyb(planes, colours, top, end, light, bits[0], root, bits[1])
                if smaller:
                    _half(planes, out, top // 2, (end + 1) // 2)
            width = self._width + BEFORE + AFTER
            one, other = np.zeros((2, width * ROWS), np.float32)
            blurred, work = (
                np.empty(self._width * ROWS, np.float32),
                np.empty(10 * ROWS, np.float32),
            )
            for c in range(3):
                _transposed(self._colours[0, c], top, end, one)
                _transposed(self._colours[1, c], top, end, other)
                sources = ((one, one, 0), (other, other, 0), (one, one, 1), (other, other, 1),
                           (one, other, 1))  # fmt: skip
                for i, source in enumerate(sources[: self._counts[c]]):
                    _across(*source, work, blurred, self._width)
                    _back(blurred, self._planes[self._first[c] + i], top, end)

        results([pool.submit(group, top) for top in range(0, self._height, ROWS)])
        return halves

    def norms(self, pool: Pool) -> Array:
        """Blur down and compare; return the norms (component, norm, kind)."""

        def strip(c: int, left: int) -> Array:
            sums = np.zeros(6 * QUARTERS)
            planes = self._planes[self._first[c] : self._first[c + 1]]
            maps = np.zeros((0, 0), np.float32) if self.maps is None else self.maps[c]
            _compare(
                planes, self._colours[0, c], self._colours[1, c], left,
                min(COLUMNS, self._width - left), np.zeros(COLUMNS, np.float32),
                np.zeros(38 * COLUMNS, np.float32), self._weights[c], sums, maps,
            )  # fmt: skip
            found: Array = sums.reshape(2, 3, QUARTERS).sum(axis=2)
            return found

        tasks = [
            [pool.submit(strip, c, left) for left in range(0, self._width, COLUMNS)]
            for c in range(3)
        ]
        means = np.array([np.sum(results(one), axis=0) for one in tasks])
        means /= self._height * self._width
        means[:, 1] **= 0.25
        return means


@compiled
def _xyb(planes, out, top, end, light, light_bits, root, root_bits):  # type: ignore[no-untyped-def]
    """Convert rows of linear RGB to X, Y and B."""
    for y in range(top, end):
        for left in range(0, planes.shape[2], PIXELS):
            count = min(PIXELS, planes.shape[2] - left)
            _mixed(planes[0, y, left:], planes[1, y, left:], planes[2, y, left:], count, light)
            _cube_roots(light, light_bits, root, root_bits)
            _opponent(root, count, out[0, y, left:], out[1, y, left:], out[2, y, left:])


@compiled
def _mixed(red, green, blue, count, light):  # type: ignore[no-untyped-def]
    """Compute L, M and S."""
    for x in range(count):
        r, g, b = red[x], green[x], blue[x]
        one = multiply_add(LR, r, multiply_add(LG, g, multiply_add(LB, b, BIAS)))
        two = multiply_add(MR, r, multiply_add(MG, g, multiply_add(MB, b, BIAS)))
        three = multiply_add(SR, r, multiply_add(SG, g, multiply_add(SB, b, BIAS)))
        light[x] = max(one, ZERO)
        light[x + PIXELS] = max(two, ZERO)
        light[x + 2 * PIXELS] = max(three, ZERO)


@compiled
def _cube_roots(light, light_bits, root, root_bits):  # type: ignore[no-untyped-def]
    """Compute cube roots less that of black: x · r², with r = x^(-1/3) by Newton's method."""
    for i in range(len(light_bits)):
        bits = light_bits[i]
        root_bits[i] = 0 if bits == 0 else GUESS - (bits >> 23) * EXPONENT
    for i in range(len(light)):
        x, r = light[i], root[i]
        third = THIRD * x
        for _ in range(3):
            square = r * r
            r = multiply_add(-third, square * square, FOUR_THIRDS * r)
        square = r * r
        r = multiply_add(THIRD, multiply_add(-x, square * square, r), r)
        root[i] = multiply_add(r * r, x, BLACK)


@compiled
def _opponent(root, count, out_x, out_y, out_b):  # type: ignore[no-untyped-def]
    """Compute X, Y and B, near 0 … 1."""
    for x in range(count):
        one, two, three = root[x], root[x + PIXELS], root[x + 2 * PIXELS]
        y = HALF * (one + two)
        out_x[x] = HALF * (one - two) * X_SCALE + X_OFFSET
        out_y[x] = y + Y_OFFSET
        out_b[x] = (three - y) + B_OFFSET


@compiled
def _half(planes, out, top, end):  # type: ignore[no-untyped-def]
    """Compute the means of 2 × 2 pixels, for rows of the result; an odd edge counts twice."""
    for c in range(3):
        for y in range(top, end):
            one, two = planes[c, 2 * y], planes[c, min(2 * y + 1, planes.shape[1] - 1)]
            row = out[c, y]
            for x in range(len(one) // 2):
                row[x] = (((one[2 * x] + one[2 * x + 1]) + two[2 * x]) + two[2 * x + 1]) * QUARTER
            if len(one) % 2:
                x = len(one) - 1
                row[x // 2] = (((one[x] + one[x]) + two[x]) + two[x]) * QUARTER


@compiled
def _transposed(plane, top, end, out):  # type: ignore[no-untyped-def]
    """Copy a group of rows into the columns of ROWS samples that follow the first BEFORE ones."""
    width = plane.shape[1]
    for left in range(0, width, ROWS):
        for y in range(top, end):
            row, column = plane[y, left:], out[(BEFORE + left) * ROWS + y - top :]
            for x in range(min(ROWS, width - left)):
                column[x * ROWS] = row[x]


@compiled
def _back(columns, plane, top, end):  # type: ignore[no-untyped-def]
    """Copy columns of ROWS samples into a group of rows."""
    width = plane.shape[1]
    for left in range(0, width, ROWS):
        for y in range(top, end):
            row, column = plane[y, left:], columns[left * ROWS + y - top :]
            for x in range(min(ROWS, width - left)):
                row[x] = column[x * ROWS]


@compiled
def _across(one, other, product, work, out, width):  # type: ignore[no-untyped-def]
    """Blur a group along its rows: one, or where `product` is 1 the product of both.

    `work` has the sums of four columns, the last outputs of the three recursions, and those before.
    """
    for i in range(len(work)):
        work[i] = 0
    n = 1 - RADIUS
    while n < width:
        at = n + RADIUS - 1
        if 8 <= n < width - 7:
            _sums(one, other, product, at, 4, work)
            _four_columns(work, out[n * ROWS :])
            n += 4
        else:
            _sums(one, other, product, at, 1, work)
            _column(work, out[max(n, 0) * ROWS :])
            n += 1


@compiled
def _sums(one, other, product, at, count, work):  # type: ignore[no-untyped-def]
    """Add the inputs N + 1 columns before and N − 1 after each of the outputs."""
    near, far = one[at * ROWS :], other[at * ROWS :]
    if product:
        for i in range(count * ROWS):
            j = i + 2 * RADIUS * ROWS
            work[i] = near[i] * far[i] + near[j] * far[j]
    else:
        for i in range(count * ROWS):
            work[i] = near[i] + near[i + 2 * RADIUS * ROWS]


@compiled
def _column(work, out):  # type: ignore[no-untyped-def]
    """Take one step of the recursions."""
    for r in range(ROWS):
        both = work[r]
        p, q = work[r + 4 * ROWS], work[r + 7 * ROWS]
        y1 = multiply_add(P1[0], p, multiply_add(Q1[0], q, I1[0] * both))
        work[r + 4 * ROWS], work[r + 7 * ROWS] = y1, p
        p, q = work[r + 5 * ROWS], work[r + 8 * ROWS]
        y3 = multiply_add(P3[0], p, multiply_add(Q3[0], q, I3[0] * both))
        work[r + 5 * ROWS], work[r + 8 * ROWS] = y3, p
        p, q = work[r + 6 * ROWS], work[r + 9 * ROWS]
        y5 = multiply_add(P5[0], p, multiply_add(Q5[0], q, I5[0] * both))
        work[r + 6 * ROWS], work[r + 9 * ROWS] = y5, p
        out[r] = y1 + (y3 + y5)


@compiled
def _four_columns(work, out):  # type: ignore[no-untyped-def]
    """Take four steps of the recursions, all from the outputs before the first of them."""
    for r in range(ROWS):
        i0, i1 = work[r], work[r + ROWS]
        i2, i3 = work[r + 2 * ROWS], work[r + 3 * ROWS]
        p, q = work[r + 4 * ROWS], work[r + 7 * ROWS]
        a0 = multiply_add(P1[0], p, multiply_add(Q1[0], q, I1[0] * i0))
        b0 = multiply_add(I1[0], i1, I1[1] * i0)
        b0 = multiply_add(P1[1], p, multiply_add(Q1[1], q, b0))
        c0 = multiply_add(I1[0], i2, multiply_add(I1[1], i1, I1[2] * i0))
        c0 = multiply_add(P1[2], p, multiply_add(Q1[2], q, c0))
        d0 = multiply_add(I1[1], i2, multiply_add(I1[2], i1, I1[3] * i0))
        d0 = multiply_add(I1[0], i3, d0)
        d0 = multiply_add(P1[3], p, multiply_add(Q1[3], q, d0))
        work[r + 4 * ROWS], work[r + 7 * ROWS] = d0, c0
        p, q = work[r + 5 * ROWS], work[r + 8 * ROWS]
        a1 = multiply_add(P3[0], p, multiply_add(Q3[0], q, I3[0] * i0))
        b1 = multiply_add(I3[0], i1, I3[1] * i0)
        b1 = multiply_add(P3[1], p, multiply_add(Q3[1], q, b1))
        c1 = multiply_add(I3[0], i2, multiply_add(I3[1], i1, I3[2] * i0))
        c1 = multiply_add(P3[2], p, multiply_add(Q3[2], q, c1))
        d1 = multiply_add(I3[1], i2, multiply_add(I3[2], i1, I3[3] * i0))
        d1 = multiply_add(I3[0], i3, d1)
        d1 = multiply_add(P3[3], p, multiply_add(Q3[3], q, d1))
        work[r + 5 * ROWS], work[r + 8 * ROWS] = d1, c1
        p, q = work[r + 6 * ROWS], work[r + 9 * ROWS]
        a2 = multiply_add(P5[0], p, multiply_add(Q5[0], q, I5[0] * i0))
        b2 = multiply_add(I5[0], i1, I5[1] * i0)
        b2 = multiply_add(P5[1], p, multiply_add(Q5[1], q, b2))
        c2 = multiply_add(I5[0], i2, multiply_add(I5[1], i1, I5[2] * i0))
        c2 = multiply_add(P5[2], p, multiply_add(Q5[2], q, c2))
        d2 = multiply_add(I5[1], i2, multiply_add(I5[2], i1, I5[3] * i0))
        d2 = multiply_add(I5[0], i3, d2)
        d2 = multiply_add(P5[3], p, multiply_add(Q5[3], q, d2))
        work[r + 6 * ROWS], work[r + 9 * ROWS] = d2, c2
        out[r] = a0 + (a1 + a2)
        out[r + ROWS] = b0 + (b1 + b2)
        out[r + 2 * ROWS] = c0 + (c1 + c2)
        out[r + 3 * ROWS] = d0 + (d1 + d2)


@compiled
def _compare(planes, one, other, left, count, nothing, work, weights, sums, maps):  # type: ignore[no-untyped-def]
    """Blur a strip of columns down, and compare row by row.

    `work` has rows of the strip: the blurred planes, the three maps, and of each plane the last
    outputs of its three recursions, and those before. Beyond the strip's columns it stays 0.
    """
    height = planes.shape[1]
    for y in range(1 - RADIUS, height):
        for i in range(len(planes)):
            top = planes[i, y - RADIUS - 1, left:] if y > RADIUS else nothing
            bottom = planes[i, y + RADIUS - 1, left:] if y + RADIUS - 1 < height else nothing
            _down(top, bottom, count, work[i * COLUMNS :], work[(8 + 6 * i) * COLUMNS :])
        if y >= 0:
            _maps(one[y, left:], other[y, left:], count, len(planes) > 2, work)
            _add(work[5 * COLUMNS :], count, weights, sums)
            if len(maps):
                _map(work[5 * COLUMNS :], count, weights, maps[y, left:])


@compiled
def _down(top, bottom, count, out, state):  # type: ignore[no-untyped-def]
    """Take one step of the recursions of each column."""
    for x in range(count):
        both = top[x] + bottom[x]
        p, q = state[x + 0 * COLUMNS], state[x + 3 * COLUMNS]
        y1 = multiply_add(N1, both, multiply_add(D1, p, -q))
        state[x + 0 * COLUMNS], state[x + 3 * COLUMNS] = y1, p
        p, q = state[x + 1 * COLUMNS], state[x + 4 * COLUMNS]
        y3 = multiply_add(N3, both, multiply_add(D3, p, -q))
        state[x + 1 * COLUMNS], state[x + 4 * COLUMNS] = y3, p
        p, q = state[x + 2 * COLUMNS], state[x + 5 * COLUMNS]
        y5 = multiply_add(N5, both, multiply_add(D5, p, -q))
        state[x + 2 * COLUMNS], state[x + 5 * COLUMNS] = y5, p
        out[x] = y1 + (y3 + y5)


@compiled
def _maps(one, other, count, structure, work):  # type: ignore[no-untyped-def]
    """Compute the three maps of a row."""
    for x in range(count):
        mean, means = work[x], work[x + COLUMNS]
        near, far = abs(one[x] - mean), abs(other[x] - means)
        edges = (far - near) / (ONE + near)
        work[x + 6 * COLUMNS], work[x + 7 * COLUMNS] = max(edges, ZERO), max(-edges, ZERO)
    if structure:
        for x in range(count):
            mean, means = work[x], work[x + COLUMNS]
            squares, other_squares = work[x + 2 * COLUMNS], work[x + 3 * COLUMNS]
            alike = ONE - (mean - means) * (mean - means)
            above = TWO * (work[x + 4 * COLUMNS] - mean * means) + C2
            below = (squares - mean * mean) + (other_squares - means * means) + C2
            work[x + 5 * COLUMNS] = max(ONE - alike * above / below, ZERO)


@compiled
def _add(values, count, weights, sums):  # type: ignore[no-untyped-def]
    """Add a row's values and their fourth powers, of maps that have a weight, in QUARTERS sums."""
    for i in range(3):
        if weights[i] > 0:
            for x in range(min(count, QUARTERS)):
                a, b = values[x + i * COLUMNS], values[x + i * COLUMNS + QUARTERS]
                c = values[x + i * COLUMNS + 2 * QUARTERS]
                d = values[x + i * COLUMNS + 3 * QUARTERS]
                sums[x + i * QUARTERS] += (np.float64(a) + np.float64(b)) + (
                    np.float64(c) + np.float64(d)
                )
                aa, bb, cc, dd = a * a, b * b, c * c, d * d
                sums[x + (3 + i) * QUARTERS] += (np.float64(aa * aa) + np.float64(bb * bb)) + (
                    np.float64(cc * cc) + np.float64(dd * dd)
                )


@compiled
def _map(values, count, weights, out):  # type: ignore[no-untyped-def]
    """Compute the weighted sum of the three maps."""
    for x in range(count):
        error, ringing, blur = values[x], values[x + COLUMNS], values[x + 2 * COLUMNS]
        out[x] = weights[0] * error + weights[1] * ringing + weights[2] * blur
