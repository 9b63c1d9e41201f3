"""Names of metrics, as `metrics` of `snellen.score` and of the command gives them."""

from __future__ import annotations

from collections.abc import Iterable

from snellen.errors import InputError, quoted
from snellen.frames import values

MAD, PSNR, SSIM = COMPUTED = ("mad", "psnr", "ssim")
VMAF = "vmaf"
KNOWN = (*COMPUTED, VMAF)
"""With VMAF, which is of films only."""


def chosen(metrics: object, known: tuple[str, ...] = COMPUTED) -> tuple[str, ...]:
    """Return names of metrics, those that are computed in their order.

    Parameters
    ----------
    metrics : str or sequence of str
        The caller's: "mad,psnr", or ["mad", "psnr"].
    known : tuple of str
        Names that are let pass.

    Raises
    ------
    InputError
        Another name, or none at all.
    """
    if isinstance(metrics, str):
        given: list[object] = [name.strip() for name in str.__str__(metrics).split(",")]
    elif isinstance(metrics, Iterable):
        given = [values.plain(name) for name in values.items("metrics", metrics, len(KNOWN))]
    else:
        given = []
    wrong = [name for name in given if not isinstance(name, str) or name not in known]
    if wrong or not given:
        raise InputError(
            f"`metrics`={quoted(metrics)}; expected some of {', '.join(known)}, as text with "
            "commas, or a sequence of these names",
            parameter="metrics",
            advice="vmaf is of films: snellen.score_files has it"
            if VMAF in (name for name in wrong if isinstance(name, str))
            else None,
        )
    return tuple(name for name in known if name in given)
