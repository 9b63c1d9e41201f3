"""SSIMULACRA 2.1: all constants, and what follows from them.

Two pictures of linear RGB become XYB at six scales. At each scale, three maps compare each of the
three components; the mean of a map and its 4-norm make 108 numbers, whose weighted sum is mapped to
a score.

Source: J. Sneyers, github.com/cloudinary/ssimulacra2, commit 81feacf of May 2025, which prints
"SSIMULACRA 2.1"; colours and blur: libjxl in the same repository (`lib/jxl`).
"""

from __future__ import annotations

from math import cos, exp, pi, sin, tan

import numpy as np
import numpy.typing as npt

SMALLEST = 8
"""Pixels of a side. A scale is computed if the sides of the one before it are at least these."""
SCALES = 6
"""1:1 to 1:32, each by the mean of 2 × 2 pixels of linear RGB; the last row or column of an odd
side counts twice."""

MATRIX = (
    (0.30, 1 - 0.078 - 0.30, 0.078),
    (0.23, 1 - 0.078 - 0.23, 0.078),
    (0.24342268924547819, 0.20476744424496821, 1 - 0.24342268924547819 - 0.20476744424496821),
)
"""Linear sRGB to L, M, S; `opsin_params.h`."""
BIAS = 0.0037930732552754493
"""Added to L, M and S before their cube root, whose value at black is subtracted."""

# With l, m, s for these roots: X = (l − m) / 2, Y = (l + m) / 2, B = s. `MakePositiveXYB`:
X_SCALE, X_OFFSET = 14.0, 0.42  # X becomes 14 X + 0.42
Y_OFFSET = 0.01  # Y becomes Y + 0.01
B_OFFSET = 0.55  # B becomes B − Y + 0.55

SIGMA = 1.5
"""Standard deviation of the blur in pixels."""
RADIUS = 5
"""N = round(3.2795 σ + 0.2546); Charalampidis 2016, equation 57."""
C2 = 0.0009
"""Added to both parts of the structure term of SSIM."""

WEIGHTS = (
    0.0, 0.0007376606707406586, 0.0, 0.0, 0.0007793481682867309, 0.0,  # X, 1:1
    0.0, 0.0004371155730107379, 0.0,
    1.1041726426657346, 0.00066284834129271, 0.00015231632783718752,  # X, 1:2
    0.0, 0.0016406437456599754, 0.0, 1.8422455520539298, 11.441172603757666, 0.0,  # X, 1:4
    0.0007989109436015163, 0.000176816438078653, 0.0,
    1.8787594979546387, 10.94906990605142, 0.0,  # X, 1:8
    0.0007289346991508072, 0.9677937080626833, 0.0,
    0.00014003424285435884, 0.9981766977854967, 0.00031949755934435053,  # X, 1:16
    0.0004550992113792063, 0.0, 0.0, 0.0013648766163243398, 0.0, 0.0,  # X, 1:32
    0.0, 0.0, 0.0, 7.466890328078848, 0.0, 17.445833984131262,  # Y, 1:1
    0.0006235601634041466, 0.0, 0.0,
    6.683678146179332, 0.00037724407979611296, 1.027889937768264,  # Y, 1:2
    225.20515300849274, 0.0, 0.0,
    19.213238186143016, 0.0011401524586618361, 0.001237755635509985,  # Y, 1:4
    176.39317598450694, 0.0, 0.0,
    24.43300999870476, 0.28520802612117757, 0.0004485436923833408,  # Y, 1:8
    0.0, 0.0, 0.0, 34.77906344483772, 44.835625328877896, 0.0,  # Y, 1:16
    0.0, 0.0, 0.0, 0.0, 0.0, 0.0,  # Y, 1:32
    0.0, 0.0008680556573291698, 0.0, 0.0, 0.0, 0.0,  # B, 1:1
    0.0, 0.0005313191874358747, 0.0, 0.00016533814161379112, 0.0, 0.0,  # B, 1:2
    0.0, 0.0, 0.0, 0.0004179171803251336, 0.0017290828234722833, 0.0,  # B, 1:4
    0.0020827005846636437, 0.0, 0.0, 8.826982764996862, 23.19243343998926, 0.0,  # B, 1:8
    95.1080498811086, 0.9863978034400682, 0.9834382792465353,
    0.0012286405048278493, 171.2667255897307, 0.9807858872435379,  # B, 1:16
    0.0, 0.0, 0.0, 0.0005130064588990679, 0.0, 0.00010854057858411537,  # B, 1:32
)  # fmt: skip
"""Weights of the mean of SSIM's error, ringing and blur, then of their 4-norms; scales from fine;
X, Y, B. Fitted by the author to opinions of CID22, TID2013, KADID-10k and KonFiG-IQA."""

FACTOR = 0.9562382616834844  # of the weighted sum, which then is e
CUBIC = (2.326765642916932, -0.020884521182843837, 6.248496625763138e-05)  # of e, e², e³
GAIN, EXPONENT = 10.0, 0.6276336467831387  # score = 100 − 10 (their sum) ^ 0.628
BEST = 100.0
"""The score of equal pictures; there is no lower limit."""

KINDS = ("error", "ringing", "blur")
"""Maps of a component: the error of SSIM; edges that only the distorted picture has; edges that
only the reference has."""


def sizes(height: int, width: int) -> list[tuple[int, int]]:
    """Return (height, width) of each scale that is computed; from 113 × 113 on six."""
    found = [(height, width)]
    while len(found) < SCALES and min(found[-1]) >= SMALLEST:
        rows, columns = found[-1]
        found.append(((rows + 1) // 2, (columns + 1) // 2))
    return found


def weights(scales: int) -> npt.NDArray[np.float64]:
    """Return the weights (component, scale, norm, kind) where so many scales are computed.

    The reference program goes through its table without a gap, whatever the number of scales. So
    in pictures of fewer than six, weights of Y and B are taken that were fitted to X and Y.
    """
    return np.array(WEIGHTS[: 18 * scales]).reshape(3, scales, 2, 3)


def recursion() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the coefficients n and d of the blur's three recursions.

    y[i] = n · (x[i − N − 1] + x[i + N − 1]) − d · y[i − 1] − y[i − 2], from i = 1 − N on, with 0
    outside of the picture; the blur is the sum of the three y. It is a Gaussian as the sum of three
    cosines within N pixels: D. Charalampidis, "Recursive Implementation of the Gaussian Filter
    Using Truncated Cosine Functions", IEEE Trans. Signal Processing 64(14), 2016.

    Rounding errors do not fade in such a recursion. In float32 they are part of the reference
    program's scores, in flat parts of pictures above all: of a drawing of 321 × 243 two points. So
    whoever computes the metric has to round as the program does: see `cpu.py`.
    """
    omega = [k * pi / (2 * RADIUS) for k in (1, 3, 5)]
    p = [sign / tan(w / 2) for sign, w in zip((1, -1, 1), omega, strict=True)]  # 37
    r = [sign * a * a / sin(w) for sign, a, w in zip((1, -1, 1), p, omega, strict=True)]  # 44
    rho = [exp(-0.5 * (SIGMA * w) ** 2) / RADIUS for w in omega]  # 50
    below = p[0] * r[1] - r[0] * p[1]
    zeta = ((p[1] * r[2] - r[1] * p[2]) / below, (p[2] * r[0] - r[2] * p[0]) / below, 1.0)  # 52
    right = (1.0, RADIUS**2 - SIGMA**2, sum(a * b for a, b in zip(zeta, rho, strict=True)))  # 55
    beta = np.linalg.solve(np.array([p, r, zeta]), np.array(right))  # 53, 56
    gain = tuple(-float(b) * cos(w * (RADIUS + 1)) for b, w in zip(beta, omega, strict=True))
    return gain, tuple(-2 * cos(w) for w in omega)  # 33


def score(total: float) -> float:
    """Return the score of a weighted sum of norms."""
    error = FACTOR * total
    mapped = sum(factor * error**power for power, factor in enumerate(CUBIC, 1))
    return BEST - GAIN * mapped**EXPONENT if mapped > 0 else BEST
