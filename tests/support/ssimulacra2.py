"""SSIMULACRA 2.1 in float64, step by step as its author describes it; and pictures for its tests.

The blur is the recursion of Charalampidis 2016, which Snellen does not use. Only the table of
weights is the package's own: scores of the reference program hold it.
"""

from __future__ import annotations

import numpy as np

from snellen.metrics.ssimulacra2.definition import WEIGHTS

SIGMA = 1.5


def score(reference, distorted):
    """The score of two pictures of linear RGB (3, H, W)."""
    norms = [[[mean(d), mean(d**4) ** 0.25] for d in component]
             for component in by_component(scales(reference, distorted))]  # fmt: skip
    flat = np.transpose(np.array(norms).reshape(3, -1, 3, 2), (0, 1, 3, 2)).ravel()
    error = 0.9562382616834844 * (flat * np.array(WEIGHTS)[: flat.size]).sum()
    error = (2.326765642916932 * error - 0.020884521182843837 * error**2
             + 6.248496625763138e-05 * error**3)  # fmt: skip
    return 100 - 10 * error**0.6276336467831387 if error > 0 else 100.0


def mean(values):
    return values.mean()


def by_component(found):
    """Maps of [scale][component][kind] as [component][scale × kind]."""
    return [[one for scale in found for one in scale[c]] for c in range(3)]


def scales(reference, distorted):
    """Maps of error, ringing and blur of X, Y and B, at each scale."""
    pair = [np.asarray(one, np.float64) for one in (reference, distorted)]
    found = []
    for scale in range(6):
        if min(pair[0].shape[1:]) < 8:
            break
        if scale:
            pair = [half(one) for one in pair]
        found.append([compared(*both) for both in zip(*map(xyb, pair), strict=True)])
    return found


def half(planes):
    planes = np.pad(planes, ((0, 0), (0, planes.shape[1] % 2), (0, planes.shape[2] % 2)), "edge")
    return (planes[:, ::2, ::2] + planes[:, ::2, 1::2]
            + planes[:, 1::2, ::2] + planes[:, 1::2, 1::2]) / 4  # fmt: skip


def xyb(rgb):
    bias = 0.0037930732552754493
    matrix = np.array([[0.3, 0.622, 0.078], [0.23, 0.692, 0.078],
                       [0.24342268924547819, 0.20476744424496821, 0.5518098663095536]])  # fmt: skip
    light = np.tensordot(matrix, rgb, 1) + bias
    long, medium, short = np.cbrt(np.maximum(light, 0)) - np.cbrt(bias)
    y = (long + medium) / 2
    return np.stack([14 * (long - medium) / 2 + 0.42, y + 0.01, short - y + 0.55])


def compared(a, b):
    mean_a, mean_b = blurred(a), blurred(b)
    structure = 2 * (blurred(a * b) - mean_a * mean_b) + 0.0009
    spread = blurred(a * a) - mean_a**2 + blurred(b * b) - mean_b**2 + 0.0009
    error = np.maximum(1 - (1 - (mean_a - mean_b) ** 2) * structure / spread, 0)
    edges = (1 + abs(b - mean_b)) / (1 + abs(a - mean_a)) - 1
    return [error, np.maximum(edges, 0), np.maximum(-edges, 0)]


def blurred(plane):
    return along(along(plane.T).T)


def along(plane):
    """The recursion along axis 0; 0 is taken outside."""
    radius = round(3.2795 * SIGMA + 0.2546)
    w = np.array([1, 3, 5]) * np.pi / (2 * radius)
    sign = np.array([1, -1, 1])
    p = sign / np.tan(w / 2)
    r = sign * p**2 / np.sin(w)
    rho = np.exp(-(SIGMA**2) / 2 * w**2) / radius
    zeta = np.cross(p, r)
    zeta /= zeta[2]
    beta = np.linalg.solve([p, r, zeta], [1, radius**2 - SIGMA**2, zeta @ rho])
    gain, back = -beta * np.cos(w * (radius + 1)), 2 * np.cos(w)
    size = len(plane)
    padded = np.pad(plane, ((2 * radius, radius), (0, 0)))
    one = two = np.zeros((3, plane.shape[1]))
    out = np.empty_like(plane)
    for n in range(1 - radius, size):
        both = padded[n + radius - 1] + padded[n + 3 * radius - 1]
        one, two = gain[:, None] * both + back[:, None] * one - two, one
        if n >= 0:
            out[n] = one.sum(0)
    return out


def pictures(scene, change, height, width, seed):
    """A pair of sRGB (H, W, 3) uint8, made of integers only, so that it is the same everywhere."""
    random = np.random.RandomState(seed)
    planes = SCENES[scene](random, height, width)
    return [np.ascontiguousarray(np.moveaxis(one.clip(0, 255), 0, -1)).astype(np.uint8)
            for one in (planes, CHANGES[change](random, planes.clip(0, 255)))]  # fmt: skip


def _smooth(random, height, width):
    """Colours that vary slowly, as a sky."""
    coarse = random.randint(0, 256, (3, height // 16 + 3, width // 16 + 3))
    fine = coarse.repeat(16, axis=1).repeat(16, axis=2)[:, : height + 16, : width + 16]
    return _box(fine, 16)[:, :height, :width]


def _box(planes, size):
    """Means of size × size pixels, rounded down; the edge repeats."""
    for axis in (1, 2):
        width = [(0, 0)] * 3
        width[axis] = (size - 1 - size // 2, size // 2)
        sums = np.pad(planes, width, "edge").cumsum(axis)
        width[axis] = (1, 0)
        sums = np.moveaxis(np.pad(sums, width), axis, 0)
        planes = np.moveaxis(sums[size:] - sums[:-size], 0, axis) // size
    return planes


def _textured(random, height, width):
    grain = _box(random.randint(-90, 91, (1, height, width)), 2)
    return _smooth(random, height, width) + grain


def _drawn(random, height, width):
    """Rectangles of one colour each."""
    planes = np.full((3, height, width), 200)
    for _ in range(12):
        top, left = random.randint(0, height), random.randint(0, width)
        tall, wide = random.randint(1, height + 1), random.randint(1, width + 1)
        planes[:, top : top + tall, left : left + wide] = random.randint(0, 256, (3, 1, 1))
    return planes


def _grey(random, height, width):
    return _textured(random, height, width)[1:2].repeat(3, axis=0)


def _noise(random, height, width):
    return random.randint(0, 256, (3, height, width))


def _checks(random, height, width):
    """Black and white, pixel by pixel."""
    y, x = np.ogrid[:height, :width]
    return np.broadcast_to(255 * ((x + y) % 2), (3, height, width))


def _flat(random, height, width):
    return np.broadcast_to(random.randint(20, 200, (3, 1, 1)), (3, height, width))


def _black(random, height, width):
    return np.zeros((3, height, width), int)


SCENES = {
    "smooth": _smooth, "textured": _textured, "drawn": _drawn, "grey": _grey, "noise": _noise,
    "checks": _checks, "flat": _flat, "black": _black,
}  # fmt: skip


def _same(random, planes):
    return planes


def _noisy(most):
    return lambda random, planes: planes + random.randint(-most, most + 1, planes.shape)


def _blurred(size):
    return lambda random, planes: _box(planes, size)


def _coded(step):
    """Hadamard transforms of 8 × 8 pixels, whose coefficients are rounded, as a codec does."""

    def change(random, planes):
        tall, wide = planes.shape[1:]
        matrix = np.array([[1]])
        for _ in range(3):
            matrix = np.block([[matrix, matrix], [matrix, -matrix]])
        blocks = np.pad(planes, ((0, 0), (0, -tall % 8), (0, -wide % 8)), "edge")
        blocks = blocks.reshape(3, -(-tall // 8), 8, -(-wide // 8), 8).swapaxes(2, 3)
        kept = (matrix @ blocks @ matrix + 4 * step) // (8 * step) * (8 * step)
        back = (matrix @ kept @ matrix // 64).swapaxes(2, 3)
        return back.reshape(3, 8 * back.shape[1], -1)[:, :tall, :wide]

    return change


def _steps(random, planes):
    return planes // 32 * 32 + 16


def _moved(random, planes):
    return np.roll(planes, 1, axis=2)


def _tinted(random, planes):
    return planes + np.array([6, -3, 9])[:, None, None]


def _dot(random, planes):
    planes = planes.copy()
    planes[:, planes.shape[1] // 2, planes.shape[2] // 2] ^= 1
    return planes


def _less_colour(random, planes):
    """The differences from green at a quarter of the pixels, as 4:2:0."""
    green = planes[1:2]
    few = _box(planes - green, 2)[:, ::2, ::2].repeat(2, axis=1).repeat(2, axis=2)
    return green + few[:, : planes.shape[1], : planes.shape[2]]


def _inverted(random, planes):
    return 255 - planes


CHANGES = {
    "same": _same, "noisy 1": _noisy(1), "noisy 8": _noisy(8), "noisy 40": _noisy(40),
    "blurred 2": _blurred(2), "blurred 5": _blurred(5), "coded 1": _coded(1), "coded 3": _coded(3),
    "coded 12": _coded(12), "steps": _steps, "moved": _moved, "tinted": _tinted, "dot": _dot,
    "less colour": _less_colour, "inverted": _inverted,
}  # fmt: skip
