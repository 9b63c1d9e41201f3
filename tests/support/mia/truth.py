"""What the reference makes of frames, and how near a Deblurrer must come."""

from __future__ import annotations

import numpy as np
import pytest

from support.mia import reference

WITHIN = {"float64": 1e-9, "float32": 1e-4}  # of the peak: as cases.py says

SINGLE = 1e-7  # of the peak: PSFs are returned in float32


def placed(y, side, edges):
    """Frames (M, rows, columns) on their period, and what f starts as."""
    if edges == "extend":
        period = reference.period(y.shape[1:], side)
        both = [reference.extended(plane, period) for plane in y]
        return np.array([one for one, _ in both]), np.mean([other for _, other in both], 0)
    if edges == "taper":
        y = np.array([reference.tapered(plane, side) for plane in y])
    return y, y.mean(0)


def truth(y, count, side, edges="taper", blurs=None, recentre=True, start=None, **options):
    """What the reference makes of frames (M, rows, columns): picture, PSFs, fit."""
    size = y.shape[1:]
    came, f = placed(y, side, edges)
    first = reference.bell(2, side) if start is None else start
    first = [first] * len(y) if blurs is None else blurs
    h = np.array([reference.on_period(plane, f.shape) for plane in first])
    f, h = reference.iterated(came, f, h, count, blind=blurs is None, **options)
    fit = reference.fit(came, f, h, options.get("noise", "poisson"))
    if recentre and blurs is None:
        f, h = reference.recentred(f, h, side, recentre != "whole")
    return f[: size[0], : size[1]], np.array([reference.off_period(p, side) for p in h]), fit


def compare(found, wanted, dtype="float64"):
    """Check a result of one picture."""
    image, psf, fit = wanted
    within = WITHIN[dtype]
    np.testing.assert_allclose(found.image, image, rtol=0, atol=within * image.max())
    psf = psf if len(psf) > 1 else psf[0]
    assert found.psf.dtype == np.float32
    np.testing.assert_allclose(found.psf, psf, rtol=0, atol=(within + SINGLE) * psf.max())
    assert found.fit == pytest.approx(fit, rel=1e-6, abs={"float64": 1e-15, "float32": 1e-7}[dtype])
