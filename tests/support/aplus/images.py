"""Images of any dtype, and planes of any depth."""

from __future__ import annotations

import numpy as np

WHITE = {"uint8": 255, "uint16": 65535, "float16": 1, "float32": 1, "float64": 1}


def drawn(random, shape, dtype):
    """Noise over the whole range, black and white among it."""
    values = random.uniform(-0.1, 1.1, shape).clip(0, 1) * WHITE[dtype]
    return (np.rint(values) if dtype.startswith("u") else values).astype(dtype)


def noise(random, bits, size):
    """Samples of the whole range, a fifth of them black or white."""
    values = random.uniform(-0.1, 1.1, size).clip(0, 1)
    if not bits:
        return values.astype(np.float32)
    return np.rint(values * ((1 << bits) - 1)).astype(np.uint8 if bits == 8 else np.uint16)
