"""Progress of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a run after a frame."""

    frames: int
    """Frames done."""
    total: int | None
    """Expected frames, an estimate for some containers; None: unknown."""
    elapsed: float
    """Seconds since the beginning."""
    fps: float
    eta: float | None
    """Seconds remaining; None: unknown."""
    stage: str | None = None
    """The work that is done, where it is not the film itself."""


class Meter:
    """Counts frames and reports progress after each; `stage` is what it says of them."""

    def __init__(
        self,
        total: int | None,
        report: Callable[[Progress], None] | None,
        stage: str | None = None,
    ) -> None:
        self._stage = stage
        self._total = total
        self._report = report
        self._frames = self._skipped = 0
        self._began = time.monotonic()

    def skip(self, frames: int) -> None:
        """Count frames that an earlier run has done."""
        self._frames += frames
        self._skipped += frames

    def count(self) -> None:
        """Add a frame."""
        self.add(1)

    def add(self, frames: int) -> None:
        """Add frames; fewer than 0, where some have to be made again."""
        self._frames += frames
        if self._report is None:
            return
        elapsed = time.monotonic() - self._began
        fps = (self._frames - self._skipped) / elapsed if elapsed > 0 else 0.0
        total = None if self._total is None else max(self._total, self._frames)
        eta = None if total is None or fps == 0 else (total - self._frames) / fps
        self._report(Progress(self._frames, total, elapsed, fps, eta, self._stage))
