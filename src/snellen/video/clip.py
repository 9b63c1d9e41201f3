"""Which part of a video is worked on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from snellen.errors import InputError


@dataclass(frozen=True, slots=True)
class Clip:
    """Which part of the input to work on, and whether it is deinterlaced."""

    start: Fraction | None = None
    """Seconds from the beginning; the first frame at or after it becomes time 0."""
    duration: Fraction | None = None
    """Seconds from `start`."""
    frames: int | None = None
    """At most so many frames."""
    deinterlace: bool = False
    """Whether interlaced pictures are deinterlaced; False: they are refused."""

    def __post_init__(self) -> None:
        if self.start is not None and self.start < 0:
            raise InputError(f"the start is a time from 0 on, not {float(self.start):g} s")
        if self.duration is not None and self.duration <= 0:
            raise InputError(f"the duration is more than 0 s, not {float(self.duration):g} s")
        if self.frames is not None and self.frames < 1:
            raise InputError(f"the number of frames is 1 or more, not {self.frames}")

    @property
    def is_part(self) -> bool:
        """Whether a part was asked for: then numbers about the whole input do not hold."""
        return any(value is not None for value in (self.start, self.duration, self.frames))
