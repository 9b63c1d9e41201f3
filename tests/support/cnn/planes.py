"""Whole results of compact networks in float64, for planes of any depth."""

from __future__ import annotations

import numpy as np

from snellen.cnn.definition import HALF, unit
from snellen.frames.quantise import recode
from support.aplus.reference import bicubic
from support.cnn import reference


def enlarged(plane, model, source, target):
    """Return what is rounded and clipped in the end, as codes of the target, and the residual."""
    codes = np.asarray(plane, np.float64) / unit(source)
    factor, offset = recode(source, target, chroma=False)
    residual = reference.residual(codes, model) * unit(source) * factor
    return bicubic(plane, model.scale) * factor + offset + residual, residual


def check(found, plane, model, source, target):
    """Compare a result with float64.

    Each activation, of M + 1 convolutions one after another, is rounded by up to 2⁻¹¹ of itself,
    and a result is a sum of hundreds of these, which differ in sign: together they stay below
    2⁻¹⁰ of a unit of v, of which a random network's results are some, or of the greatest result.
    Float32 sums, and v of 16 bits or floats in two parts, add 2⁻¹⁸.
    """
    wanted, residual = enlarged(plane, model, source, target)
    one = HALF * unit(source) * recode(source, target, chroma=False)[0]
    error = 2.0**-10 * max(one, np.abs(residual).max()) + 2.0**-18 * np.abs(wanted).max()
    if target.bits:
        wanted, error = wanted.clip(0, (1 << target.bits) - 1), error + 0.5
    assert found.dtype == target.dtype and found.shape == wanted.shape
    assert np.abs(found.astype(np.float64) - wanted).max() <= error  # false for NaN
