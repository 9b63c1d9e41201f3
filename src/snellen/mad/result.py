"""What a comparison of two pictures gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Number = float | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Score:
    """How far a picture is from its reference. Numbers are arrays where a batch was scored."""

    mad: Number
    """0: identical. Higher is worse: some 140 for photographs, without an upper bound."""
    hi: Number
    """Of the detection stage: what is just seen, in pictures of high quality."""
    lo: Number
    """Of the appearance stage: how different it looks, in pictures of low quality."""
    detection: Any = None
    """Map (…, H, W) if asked for: hi is `hi_scale` times its root mean square, without the margin
    (16 rows and columns at the top left, 17 at the bottom right)."""
    appearance: Any = None
    """Map (…, H, W) if asked for: lo is its root mean square, without the margin."""


Answer = Callable[[], tuple[Score, bool]]
"""Waits for a comparison that was begun: its score, and whether float32 does not suffice for it."""
