"""Frames through an Upscaler, and how near they must come to the reference."""

from __future__ import annotations

import numpy as np

from snellen.frames.frame import Frame
from snellen.upscaling.upscaler import Upscaler
from support.aplus import reference


def tolerance(model, white=1.0):
    """Largest error of a float32 output pixel, for planes up to white.

    mid is off by 1e-6 at worst; the patch by its projection's norm times the feature's error.
    """
    norm = np.linalg.norm(model.projections.astype(np.float64), axis=2).max()
    return white * (1e-6 + norm * reference.rounding(len(model.basis), 1.0))


def enlarged(model, planes, format, bits=None, backend="cpu"):
    with Upscaler(model.scale, model, backend) as step:
        step.prepare(format, bits)
        return step.run(Frame(tuple(planes))).planes
