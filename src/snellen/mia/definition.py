"""Which MIA is computed, and the constants that all backends share.

f is the sharp picture, h_m the point spread functions (PSFs) of its frames, g_m = h_m ⊛ f the model
of what came, y_m, all on one period and scaled to 0 … 1; corr(a, b) = IFFT(A · conj B). Each
iteration takes both corrections from the old f and h::

    poisson    r_m = (y_m + σ²) / max(g_m + σ², EPS), 1 where nothing was observed
               f:   mean over m of corr(r_m, h_m) / Σh_m
               h_m: corr(r_m, f) / Σf
    gaussian   t_m = y_m, g_m where nothing was observed
               f:   Σ_m corr(t_m, h_m) / max(Σ_m corr(g_m, h_m), EPS)
               h_m: (corr(t_m, f) / Σf) / max(corr(g_m, f) / Σf, EPS)
    both       f ← f · max(its correction, LEAST) / T
               h_m ← h_m · max(its correction, 0), then h_m / Σh_m (kept where nothing is left)
    T          max(1 − λ div(∇f / |∇f|), TV_LEAST), |∇f| = √(fx² + fy² + TV_EPS), forward
               differences on the period, div their adjoint; 1 where λ = 0

So what nobody observed is taken for what the model says (EM of missing data), in both. ISRA that
leaves it out of its sums instead would divide by each other, in the margin, numbers that are both
nearly 0: in float32 mere rounding, and f grows to a thousand there.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from snellen.errors import InputError

NOISES = ("poisson", "gaussian")

EPS = 1e-6
"""Least divisor: of r = y / g, and of ISRA's quotients. 1/4000 of a step of 8 bits: small enough
to change no picture, large enough for float32, whose transforms of 0 … 1 round by 1e-7. Ours."""
LEAST = 1e-6
"""Least correction of f in an iteration: what one bad iteration made 0 would stay 0. Of h it is 0:
h may vanish, which gives it its shape. Ours."""
TV_EPS = 1e-6
"""Added below the root of |∇f|: where a picture is flat it has no direction. Ours."""
MOST = 1000.0
"""Greatest read_noise and λ: float32 holds what is made of them. Ours."""
TV_STABLE = 0.1
"""Greatest λ that pictures are restored with: from about 0.25 on what was not observed grows
without end, to NaN within 200 iterations at 0.5 (ISRA). At 0.1 and 0.2 it does not in 5000. Ours,
measured."""
TV_LEAST = 0.2
"""Least divisor 1 − λ div(∇f/|∇f|): one step late, it could become 0 where λ is large. Ours."""

UNOBSERVED = -1.0  # mark in y of samples that no camera saw; any negative value is one
SIDES = (32, 64, 128, 256)  # of periods that run in one kernel on a GPU; Yan, Su et al. 2017
PSF_SIZE = 31  # support of h, pixels; our default: real camera shake is up to 27 (Levin 2009)
ITERATIONS = 200  # Yan, Su et al. 2017
START = 2.0  # σ of the Gaussian that h starts as, pixels; our default
EVERY = 10  # iterations from a look at the progress to the next; our default


@dataclass(frozen=True, slots=True)
class Definition:
    """Which of the iterations is meant.

    Raises
    ------
    InputError
        Settings that do not exist, or do not go together.
    """

    noise: str = "poisson"
    """Of what y is noisy: "poisson", the Richardson–Lucy form, 4M + 2 transforms an iteration for
    M frames; "gaussian", the image space reconstruction algorithm (ISRA), 3M + 3."""
    read_noise: float = 0.0
    """Standard deviation of the Gaussian noise beside Poisson's, in units of the picture scaled to
    0 … 1, from 0 to 1000; its square is added to y and g (Snyder et al. 1993)."""
    blind: bool = True
    """Whether h is estimated too; else it is given."""
    tv: float = 0.0
    """Weight λ of the total variation, one step late; 0: none; see TV_STABLE. Above √TV_EPS / 4 =
    2.5e-4 what is white and flat flickers by about λ from an iteration to the next (darker places
    from a larger λ on), and rounding chooses the phase: float32 and float64 then differ by as
    much."""

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise InputError(
                f"`noise`={self.noise!r}; expected one of {', '.join(NOISES)}", parameter="noise"
            )
        in_range("read_noise", self.read_noise, MOST, "white being 1, as 2 / 255")
        in_range("tv", self.tv, MOST, "as 0.001 … 0.004")
        if self.read_noise and self.noise != "poisson":
            raise InputError(
                f"`read_noise`={self.read_noise!r} with `noise`={self.noise!r}, which includes it",
                parameter="read_noise",
                advice="leave `read_noise` out, or ask for `noise`='poisson'",
            )
        if not isinstance(self.blind, bool | np.bool_):
            raise InputError(f"`blind`={self.blind!r}; expected True or False", parameter="blind")


def in_range(name: str, value: object, most: float, usual: str) -> None:
    """Check a number from 0 on (InputError: it is none, or too large)."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not (real and 0 <= value <= most):  # type: ignore[operator]
        raise InputError(
            f"`{name}`={value!r}; expected a number from 0 to {most:g}, {usual}", parameter=name
        )
