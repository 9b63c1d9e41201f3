"""FFmpeg's filters in the enhancement of films: those that users write, and those with a name.

The chains of the named ones, and why: lab/enhancement.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from snellen.errors import InputError
from snellen.frames.values import number

if TYPE_CHECKING:
    from snellen.jobs.enhance_line import Line

DENOISE = ("light", "medium", "strong")
_LIGHT = "atadenoise=" + ":".join(f"{plane}a=0.03:{plane}b=0.05" for plane in (0, 1, 2))
_MEDIUM = "fftdnoiz=sigma=4:prev=1:next=1"
_DEBLOCK = "deblock=filter=weak"
_DEBAND = "deband=1thr=0.01:2thr=0.01:3thr=0.01:range=32:blur=0"
_DEBAND_BITS = 10
"""With 8 bits, deband cannot make steps smaller than they are."""
_SHARPEST = 0.8
"""Strength of FFmpeg's cas for the amount 1; near 1 it divides by zero."""


def check_sharpen(amount: float | None) -> None:
    """Refuse (InputError) an amount that is not above 0, up to 1, and not None."""
    found = None if amount is None else number(amount)
    if amount is not None and (found is None or not 0 < found <= 1):
        raise InputError(
            f"got `sharpen`={amount}; expected an amount above 0, up to 1", parameter="sharpen"
        )


def add_deblock(line: Line) -> None:
    """Add the filter against the edges of blocks."""
    add_filters(line, _DEBLOCK, "deblock", "deblock")


def add_denoise(line: Line, how: str) -> None:
    """Add a filter against noise."""
    if how == "strong":
        from snellen.filters.nlm.step import Denoiser

        step = Denoiser(device=line.device)
        step.label = "denoise strong"
        line.add(step)
        return
    chain = _LIGHT if how == "light" else _MEDIUM
    add_filters(line, chain, "denoise", f"denoise {how}")


def add_sharpen(line: Line, amount: float) -> None:
    """Add contrast adaptive sharpening of luma."""
    chain = f"cas=strength={_SHARPEST * amount:.6g}:planes=1"
    add_filters(line, chain, "sharpen", f"sharpen {amount:g}")


def add_deband(line: Line) -> None:
    """Add the filter against bands, which works on 10 bits at least."""
    add_filters(line, _DEBAND, "deband", "deband", _DEBAND_BITS)


def add_filters(
    line: Line, chain: str, parameter: str, title: str | None = None, least_bits: int = 0
) -> None:
    """Add a chain of FFmpeg's filters, and say what users may want to know of it.

    Parameters
    ----------
    line : Line
    chain : str
    parameter : str
        The option that asks for it.
    title : str, optional
        What the printed chain calls it; None: the option and the filters, as they were written.
    least_bits : int
        Depth that the filters work at, at least.
    """
    from snellen.video.filtering.overlaps import UNKNOWN, unknown
    from snellen.video.filtering.parse import parse
    from snellen.video.filtering.step import FilterStep

    filters = parse(chain, parameter)
    title = title or f"{parameter.replace('_', '-')} {chain.strip()}"
    step = FilterStep(filters, line.info, parameter, title, least_bits, line.files)
    for note in step.notes:
        line.say(note)
    if step.reach is not None and (others := unknown(filters)):
        line.say(
            f"it is not known how many frames around one {' and '.join(others)} of `{parameter}` "
            f"looks at: in a film in segments, at {UNKNOWN}"
        )
    losses = (*step.picture.losses, *step.losses)
    line.add(step, replace(step.picture, losses=losses))
