"""Both precisions of the GPU, and how near each must be."""

from __future__ import annotations

import numpy as np

from snellen.mad.cuda.precision import COMPLEX, chosen

DTYPES = ("float32", "float64")


def finer(dtype, single):
    """Return a tolerance, given that of float32.

    Float64 rounds 5e8 times finer. 1e6 times is asked: the float64 that it is compared with rounds,
    too, and powers and sums in other orders.
    """
    return single if dtype == "float32" else 1e-6 * single


def complex_of(dtype):
    """Return the complex dtype of a precision."""
    return np.dtype(COMPLEX[dtype])


def of_size(size, dtype=None):
    """Return the precision for pictures (H, W, …), where None asks for none."""
    return dtype or chosen(*size[:2])
