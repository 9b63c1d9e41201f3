"""Which part of a video is worked on."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import flag, number, plain, whole

LONGEST = 10**9
"""Greatest time in seconds: FFmpeg's are 64-bit ticks."""


@dataclass(frozen=True, slots=True, repr=False)
class Clip(Brief):
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
        for name in ("start", "duration", "frames"):
            object.__setattr__(self, name, plain(getattr(self, name)))
        for name in ("start", "duration"):
            value = getattr(self, name)
            found = number(value)
            if value is not None and (found is None or abs(found) > LONGEST):
                raise InputError(f"got `{name}`={quoted(value)}; expected seconds", parameter=name)
        if self.start is not None and self.start < 0:
            raise InputError(
                f"got `start`={float(self.start):g}; expected seconds from 0 on", parameter="start"
            )
        if self.duration is not None and self.duration <= 0:
            raise InputError(
                f"got `duration`={float(self.duration):g}; expected more than 0 seconds",
                parameter="duration",
            )
        if self.frames is not None:
            whole("frames", self.frames)
        flag("deinterlace", self.deinterlace)

    @property
    def is_part(self) -> bool:
        """Whether it is a part: then numbers about the whole input do not hold."""
        return any(value is not None for value in (self.start, self.duration, self.frames))
