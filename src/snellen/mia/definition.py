"""The variants of MIA, and the constants that all backends share.

f is the estimate of the sharp picture, h_m is the point spread function (PSF) of frame m, y_m is
the observed frame and g_m = h_m ⊛ f is its model. All are on one period and scaled to 0 … 1, and
corr(a, b) = IFFT(A · conj B). Each iteration computes both corrections from the old f and h::

    poisson    r_m = (y_m + σ²) / max(g_m + σ², EPS), 1 where nothing was observed
               f:   mean over m of corr(r_m, h_m) / Σh_m
               h_m: corr(r_m, f) / Σf
    gaussian   t_m = y_m, g_m where nothing was observed
               f:   Σ_m corr(t_m, h_m) / max(Σ_m corr(g_m, h_m), EPS)
               h_m: (corr(t_m, f) / Σf) / max(corr(g_m, f) / Σf, EPS)
    both       f ← f · max(its correction, LEAST) / T
               h_m ← h_m · max(its correction, 0), then h_m / Σh_m (the old h_m if this is 0)
    T          max(1 − λ div(∇f / |∇f|), TV_LEAST), |∇f| = √(fx² + fy² + TV_EPS), forward
               differences on the period, div their adjoint; 1 where λ = 0

In both, unobserved samples have the value of the model (EM with missing data). If ISRA left them
out of its sums instead, it would divide numbers in the margin that are both nearly 0: in float32
these are rounding errors, and f would grow to a thousand there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from snellen.errors import InputError, quoted
from snellen.frames.values import choice, flag, number

Noise = Literal["poisson", "gaussian"]
NOISES: tuple[str, ...] = get_args(Noise)

EPS = 1e-6
"""Least divisor of r = y / g and of ISRA's quotients. It is 1/4000 of an 8-bit step: small enough
to change no picture, and large enough for float32, whose transforms of 0 … 1 round by 1e-7. Our
value."""
LEAST = 1e-6
"""Least correction of f in an iteration. Without it, a sample that one bad iteration sets to 0
would stay 0. The limit of h is 0: samples of h may vanish, which forms its shape. Our value."""
TV_EPS = 1e-6
"""Added under the root of |∇f|, since the gradient of a flat area has no direction. Our value."""
MOST = 1000.0
"""Greatest read_noise and λ, for which float32 does not overflow. Our value."""
TV_STABLE = 0.1
"""Greatest λ that `deblur` accepts. From about 0.25 on, unobserved samples diverge, to NaN within
200 iterations at 0.5 (ISRA). At 0.1 and 0.2 they do not in 5000. Our measurement."""
TV_LEAST = 0.2
"""Least divisor 1 − λ div(∇f/|∇f|), which the old f could make 0 if λ is large. Our value."""

UNOBSERVED = -1.0  # value in y of samples that were not observed; any negative value means this
SIDES = (32, 64, 128, 256)  # sides of periods that run in one GPU kernel; Yan, Su et al. 2017
PSF_SIZE = (
    31  # side of the support of h, pixels; camera shake is up to 27 (Levin 2009); our default
)
ITERATIONS = 200  # default; Yan, Su et al. 2017
START = 2.0  # σ of the Gaussian from which h starts, pixels; our default
EVERY = 10  # iterations between two checks of the progress; our default


@dataclass(frozen=True, slots=True)
class Definition:
    """Variant of the iteration (InputError: a field is out of range, or contradicts another)."""

    noise: str = "poisson"
    """Noise of y: "poisson", the Richardson–Lucy form, with 4M + 2 transforms per iteration for M
    frames; or "gaussian", the image space reconstruction algorithm (ISRA), with 3M + 3."""
    read_noise: float = 0.0
    """Standard deviation of Gaussian noise in addition to Poisson noise, in units of white, 0 …
    1000; its square is added to y and g (Snyder et al. 1993)."""
    blind: bool = True
    """True: h is estimated, too; otherwise it is given."""
    tv: float = 0.0
    """Weight λ of the total variation of the old f; 0: none; see TV_STABLE. Above √TV_EPS / 4 =
    2.5e-4, flat white areas alternate by about λ from an iteration to the next (darker areas only
    at a larger λ). Rounding decides the phase, so float32 and float64 then differ by as much."""

    def __post_init__(self) -> None:
        read_noise = in_range("read_noise", self.read_noise, MOST, "white being 1, as 2 / 255")
        tv = in_range("tv", self.tv, MOST, "as 0.001 … 0.004")
        noise, blind = choice("noise", self.noise, NOISES), flag("blind", self.blind)
        held = {"noise": noise, "read_noise": read_noise, "blind": blind, "tv": tv}
        for name, value in held.items():  # Python's own: those of few digits would round the rest
            object.__setattr__(self, name, value)
        if self.read_noise and self.noise != "poisson":
            raise InputError(
                f"`read_noise`={self.read_noise!r} with `noise`={self.noise!r}, which includes it",
                parameter="read_noise",
                advice="leave `read_noise` out, or ask for `noise`='poisson'",
            )


def in_range(name: str, value: object, most: float, usual: str) -> float:
    """Return a number from 0 to `most`; refuse other values (InputError)."""
    found = number(value)
    if found is None or not 0 <= found <= most:
        raise InputError(
            f"`{name}`={quoted(value)}; expected a number from 0 to {most:g}, {usual}",
            parameter=name,
        )
    return found
