"""Blurred images of any dtype."""

from __future__ import annotations

import numpy as np

from support.mia import drawn

WHITE = {"uint8": 255, "uint16": 1023, "float16": 1, "float32": 1, "float64": 255}


def image(random, dtype="uint8", size=(45, 52), channels=()):
    """A blurred picture of any type, grey or RGB."""
    plane = drawn.problem(random, size).y[0].clip(0, 1) * WHITE[dtype]
    if channels:
        plane = np.stack([plane, 0.8 * plane, plane[::-1]], axis=-1)
    return (np.rint(plane) if dtype[0] == "u" else plane).astype(dtype)
