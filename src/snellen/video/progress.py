"""How far the road has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    frames: int
    total: int | None
    """Expected frames, an estimate for some containers; None: unknown."""
    elapsed: float
    fps: float
    eta: float | None
    """Seconds to go; None: unknown."""


class Meter:
    """Counts frames and tells how far it is."""

    def __init__(self, total: int | None, tell: Callable[[Progress], None] | None) -> None:
        self._total = total
        self._tell = tell
        self._frames = 0
        self._began = time.monotonic()

    def count(self) -> None:
        """Add a frame."""
        self._frames += 1
        if self._tell is None:
            return
        elapsed = time.monotonic() - self._began
        fps = self._frames / elapsed if elapsed > 0 else 0.0
        total = None if self._total is None else max(self._total, self._frames)
        eta = None if total is None or fps == 0 else (total - self._frames) / fps
        self._tell(Progress(self._frames, total, elapsed, fps, eta))
