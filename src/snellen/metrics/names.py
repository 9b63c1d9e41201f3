"""Names of metrics, as `metrics` of `snellen.score` and of the command gives them."""

from __future__ import annotations

from snellen.errors import InputError, quoted
from snellen.frames import values

MAD, PSNR, SSIM, VMAF = METRICS = ("mad", "psnr", "ssim", "vmaf")
LOWER_IS_BETTER = (MAD,)


def chosen(metrics: object, allowed: tuple[str, ...] = METRICS) -> tuple[str, ...]:
    """Return names of metrics in the order of METRICS.

    Parameters
    ----------
    metrics : str or sequence of str
        The caller's: "mad,psnr", or ["mad", "psnr"].
    allowed : tuple of str
        Those that can be computed here.

    Raises
    ------
    InputError
        Another name, or none at all.
    """
    if isinstance(metrics, str):
        given: list[object] = [name.strip() for name in str.__str__(metrics).split(",")]
    else:
        given = list(values.items("metrics", metrics, len(METRICS)))
    wrong = [name for name in given if not isinstance(name, str) or name not in allowed]
    if wrong or not given:
        raise InputError(
            f"`metrics`={quoted(metrics)}; expected some of {', '.join(allowed)}, with commas",
            parameter="metrics",
        )
    return tuple(name for name in METRICS if name in given)
