"""What a restoration gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Step:
    """A look at the progress."""

    iteration: int
    """After so many iterations."""
    fit: float
    """How far the model is from what came: see `Restored.fit`."""
    change: float
    """By how much the picture changed since the last look: ‖f − f before‖ / ‖f‖."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A sharp picture, and what blurred it."""

    image: Any
    """As it came: the same kind of array, shape (one picture where many frames of one came) and
    dtype."""
    psf: Any
    """(…, K, K) float32, K odd, sum 1: what came is about convolution(image, psf). One that was
    found is centred, but for recentre=False; one that was given is where it was. One for each
    picture of a batch, and for each of many frames."""
    fit: float | npt.NDArray[np.float64]
    """Mean over the samples of y·ln(y/g) − y + g (Poisson), or of (y − g)² (Gaussian), with
    g = convolution(image, psf): 0 if they agree, and of a picture of one value. In units of the
    picture scaled to 0 … 1. Of a batch an array over its axes."""
    iterations: int
    """So many were done: as asked, or fewer where it stopped for lack of change."""
    history: tuple[Step, ...] = ()
    """Every so many iterations."""
