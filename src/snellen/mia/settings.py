"""Checks and conversions of the parameters of `deblur` and `Deblurrer`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, quoted
from snellen.frames import arrays, values
from snellen.mia import psf as psfs
from snellen.mia.centre import WHOLE, Recentre
from snellen.mia.definition import TV_STABLE, in_range
from snellen.mia.samples import LARGEST

STEPS = 2**31 - 1  # iterations times frames: a kernel counts them in 32 bits
LEAST = float(np.finfo(np.float32).tiny)
MOST = float(np.finfo(np.float32).max) / LARGEST
"""Greatest value of white: float32 holds it and the brightest sample that is accepted."""

Float64 = npt.NDArray[np.float64]


def whole(name: str, value: object) -> int:
    """Return an integer that is 1 or more; refuse other values (InputError)."""
    most = 2**63 - 1 if name == "iterations" else values.MOST  # `steps` says how many are too many
    return values.whole(name, value, 1, most)


def steps(iterations: int, frames: int) -> None:
    """Refuse more iterations than a kernel can count (InputError)."""
    if iterations * frames > STEPS:
        raise InputError(
            f"`iterations`={iterations} with `frames`={frames}; expected at most {STEPS // frames} "
            "iterations",
            parameter="iterations",
        )


def flags(**given: object) -> tuple[bool, ...]:
    """Return truth values of any library (InputError: one is neither True nor False)."""
    return tuple(values.flag(name, value) for name, value in given.items())


def recentre(value: object) -> Recentre:
    """Return whether PSFs are centred: True, False or WHOLE; refuse other values (InputError)."""
    if isinstance(value, str):
        return values.choice("recentre", value, (WHOLE,), ", True or False")
    (found,) = flags(recentre=value)
    return found


def tv(value: object) -> None:
    """Refuse a weight of total variation that is no number, negative or divergent (InputError)."""
    in_range("tv", value, TV_STABLE, "as 0.001 … 0.004; larger weights diverge")


def tolerance(value: object) -> float:
    """Return a tolerance, 0 or more; refuse other values (InputError)."""
    found = values.number(value)
    if found is None or found < 0:
        raise InputError(
            f"`tolerance`={quoted(value)}; expected a number that is 0 or more, as 1e-3",
            parameter="tolerance",
        )
    return found


def white(value: object, name: str = "data_range") -> float | None:
    """Return a value of white within float32, or None; refuse other values (InputError)."""
    if value is None:
        return None
    found = values.number(value)
    if found is None or not LEAST <= found <= MOST:
        raise InputError(
            f"`{name}`={quoted(value)}; expected the value of white, as 1, 255 or 1023: a number "
            f"from {LEAST:.0e} to {MOST:.0e}",
            parameter=name,
            advice="scale samples that are beyond this range",
        )
    return found


def callback(value: object) -> None:
    """Refuse a callback that is neither callable nor None (InputError)."""
    if value is not None and not callable(value):
        raise InputError(
            f"`callback`={quoted(value)}; expected a function of (iteration, image, psf), or None",
            parameter="callback",
        )


def dtype(name: str | None) -> str:
    """Return the precision, by default "float32"; refuse other names (InputError)."""
    return "float32" if name is None else values.precision(name)


def shape(value: object) -> tuple[int, int]:
    """Return rows and columns (InputError: these are not two numbers)."""
    try:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError
        one, other = islice(value, 3)
    except Exception as error:  # of any library, or not two
        raise InputError(
            f"`shape`={quoted(value)}; expected (rows, columns) of one plane",
            parameter="shape",
            advice="use snellen.deblur for colour",
        ) from error
    return whole("shape", one), whole("shape", other)


def position(value: Any) -> tuple[int, int]:
    """Return column and row (InputError: these are not two integers)."""
    try:
        if len(value) != 2:
            raise TypeError
        column, row = (operator.index(place) for place in value)
    except Exception as error:  # of any library
        raise InputError(
            f"`position`={quoted(value)}; expected (column, row), two integers",
            parameter="position",
            advice="round the positions of a tracker, round(x), round(y)",
        ) from error
    return column, row


def given(psf: Any, name: str = "psf") -> Float64:
    """Return the PSFs (…, K, K) of an array of any library: see `psf.given`."""
    try:
        array = arrays.read(psf)
    except InputError as error:
        raise InputError(
            f"`{name}` is not an array ({error})",
            parameter=name,
            advice="give rows of numbers, all of one length",
        ) from error
    return psfs.given(arrays.host(array), name)


def first(start: Any, size: object) -> Float64:
    """Return the first PSF (size, size) of a blind restoration, from σ in pixels or from a PSF.

    InputError: `start` is neither or larger than the support, or `size` is not a positive integer.
    """
    side = psfs.side(size)
    if isinstance(start, Real | str | bytes) or start is None:
        return psfs.gaussian(start, side)
    plane = given(start, "start")
    if plane.ndim != 2 or len(plane) > side:
        raise InputError(
            f"`start` has shape {np.shape(start)}; expected one PSF, no larger than "
            f"`psf_size`={quoted(size)}",
            parameter="start",
            advice="take a larger `psf_size`, or a smaller `start`",
        )
    return np.pad(plane, (side - len(plane)) // 2)


def spread(blur: Float64, lead: tuple[int, ...]) -> Float64:
    """Return PSFs (*lead, K, K) from one PSF for all, or from as many as that (else InputError)."""
    if blur.shape[:-2] not in ((), lead):
        expected = " or ".join(str(tuple(axes)) for axes in {(): 0, lead: 0})
        raise InputError(
            f"`psf` has axes {blur.shape[:-2]} before its rows and columns; expected {expected}",
            parameter="psf",
        )
    return np.broadcast_to(blur, (*lead, *blur.shape[-2:]))
