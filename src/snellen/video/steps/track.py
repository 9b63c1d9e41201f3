"""Where the region of a film is in each frame."""

from __future__ import annotations

from dataclasses import dataclass

from snellen.errors import InputError
from snellen.video.messages import counted


@dataclass(frozen=True, slots=True)
class Track:
    """Position of the region in each frame."""

    width: int
    height: int
    """Size of the region in luma samples."""
    positions: tuple[tuple[int, int], ...]
    """Column and row of its top left sample: one for each frame, or a single one for all."""
    file: str | None = None
    """Name of the file of the positions; None: there is a single position."""
    lines: tuple[int, ...] = ()
    """Line number in the file of each position."""

    def check(self, width: int, height: int, frames: int = 1) -> None:
        """Raise InputError if the region leaves frames of this size, or positions are too few.

        At least so many `frames` will come.
        """
        size = f"{self.width}×{self.height}"
        if self.width > width or self.height > height:
            raise InputError(
                f"got a region of {size} for frames of {width}×{height}",
                parameter="region",
                advice="take a smaller one",
            )
        for number, (x, y) in enumerate(self.positions):
            if not (0 <= x <= width - self.width and 0 <= y <= height - self.height):
                raise InputError(
                    f"{self._origin(number)} leaves the frame: {x},{y} with a region of {size} in "
                    f"{width}×{height}; columns go from 0 to {width - self.width}, rows to "
                    f"{height - self.height}",
                    parameter="region" if self.file is None else "positions",
                )
        if self.file is not None and len(self.positions) < frames:
            raise self._too_few(f"at least {frames} frames will come")

    def at(self, number: int) -> tuple[int, int]:
        """Return the position in a frame, counted from 0; InputError: there is none."""
        if self.file is None:
            return self.positions[0]
        if number >= len(self.positions):
            raise self._too_few("there are more frames")
        return self.positions[number]

    def _origin(self, number: int) -> str:
        return f"{self.file} line {self.lines[number]}" if self.file else "the region"

    def _too_few(self, reason: str) -> InputError:
        count = len(self.positions)
        return InputError(
            f"{self.file} has {counted(count, 'position')}, but {reason}",
            parameter="positions",
            advice=f"write a line for each, or take fewer frames (`frames`={count})",
        )
