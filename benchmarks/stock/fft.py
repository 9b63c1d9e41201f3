"""The transforms that are timed: ours, and cuFFT's."""

from __future__ import annotations

from snellen import fft
from snellen.bench.fft.cases import Case
from snellen.bench.fft.exact import Transform

OURS = "Snellen"
CUFFT = "cuFFT"


def ours(case: Case) -> Transform:
    """Return our transform."""
    transform: Transform = getattr(fft, case.kind)
    return transform


def cufft(case: Case) -> Transform:
    """Return cuFFT's as bare as it comes: a plan, no scaling; irfft2 destroys its input."""
    from cupy.cuda import cufft as library

    half = case.half
    given, code, direction = {
        "fft2": (case.shape, library.CUFFT_C2C, library.CUFFT_FORWARD),
        "ifft2": (case.shape, library.CUFFT_C2C, library.CUFFT_INVERSE),
        "rfft2": (case.shape, library.CUFFT_R2C, library.CUFFT_FORWARD),
        "irfft2": (half, library.CUFFT_C2R, library.CUFFT_INVERSE),
    }[case.kind]
    made = case.made
    plan = library.PlanNd(
        case.shape, given, 1, given[0] * given[1], made, 1, made[0] * made[1], code, case.batch,
        "C", 1, made[1],
    )  # fmt: skip
    return lambda array, out: plan.fft(array, out, direction)


def scale(name: str, case: Case) -> float:
    """Return what a line's result is multiplied by to be NumPy's."""
    whole = case.shape[0] * case.shape[1]
    return 1 / whole if name == CUFFT and case.kind in ("ifft2", "irfft2") else 1.0
