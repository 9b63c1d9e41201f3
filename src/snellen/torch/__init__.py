"""Modules of PyTorch: super-resolution, MAD as a score, and MAD as a loss.

Snellen does not depend on PyTorch: this package, and the training of networks, import it.
"""

from __future__ import annotations

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"snellen.torch needs PyTorch, which cannot be imported ({error}): install it as "
        "https://pytorch.org says, or use snellen.score and snellen.upscale, which take NumPy "
        "arrays, too",
        name="torch",
    ) from error

from snellen.torch.loss import MADLoss
from snellen.torch.mad import MAD
from snellen.torch.upscaling import Upscale

__all__ = ["MAD", "MADLoss", "Upscale"]
