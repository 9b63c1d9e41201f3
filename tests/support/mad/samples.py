"""Samples of every type that a Scorer takes."""

from __future__ import annotations

import numpy as np

TYPES = [(8, 255), (8, 200), (10, 1023), (12, 4095), (16, 65535), (0, 1.0), (0, 255.0)]


def drawn(random, size, bits, peak):
    """Samples of the whole range, a fifth of them black or white; others close to them, or far."""
    values = random.uniform(-0.1, 1.1, size).clip(0, 1)
    near = (values + random.normal(0, 0.01, size)).clip(0, 1)
    near[: size[0] // 2] = values[: size[0] // 2, ::-1]
    near[-3:] = values[-3:]
    if not bits:
        return tuple((v * peak).astype(np.float32) for v in (values, near))
    kind = np.uint8 if bits == 8 else np.uint16
    return tuple(np.rint(v * peak).astype(kind) for v in (values, near))
