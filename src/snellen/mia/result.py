"""What a restoration gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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
    """(…, K, K) float32, K odd, sum 1, centred: what came is about convolution(image, psf). One for
    each picture of a batch, and for each of many frames."""
    fit: float
    """Mean over the samples of y·ln(y/g) − y + g (Poisson), or of (y − g)² (Gaussian), with
    g = convolution(image, psf): 0 if they agree. In units of the picture scaled to 0 … 1."""
    iterations: int
    """So many were done: as asked, or fewer where it stopped for lack of change."""
    history: tuple[Step, ...] = ()
    """Every so many iterations."""
