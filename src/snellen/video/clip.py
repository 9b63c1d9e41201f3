"""Which part of a video is worked on, its streams, and what becomes of interlaced pictures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import choice, flag, number, plain, whole
from snellen.video.rate import rate
from snellen.video.selection import check

LONGEST = 10**9
"""Greatest time in seconds: FFmpeg's are 64-bit ticks."""

INTERLACED = ("auto", "ignore", "top", "bottom")
DEINTERLACE = ("frame", "field")


@dataclass(frozen=True, slots=True, repr=False)
class Clip(Brief):
    """Which part of the input to work on, and how interlaced pictures become progressive."""

    start: Fraction | None = None
    """Seconds from the beginning; the first frame at or after it becomes time 0."""
    duration: Fraction | None = None
    """Seconds from `start`."""
    frames: int | None = None
    """At most so many frames."""
    deinterlace: bool | str = False
    """"frame" (or True): a frame of each interlaced picture; "field": one of each of its two
    fields, at twice the rate. False: interlaced pictures are refused."""
    interlaced: str = "auto"
    """"auto": pictures marked as interlaced are, unless the content says that they are not;
    "ignore": none is; "top", "bottom": all are, and this field comes first."""
    ivtc: bool = False
    """True: film at 24 frames a second is taken out of interlaced pictures at 30 (telecine)."""

    map: tuple[str, ...] = ()
    """Streams that are kept, as FFmpeg's -map has them: "0:a:1"; empty: all. The first video among
    them is worked on; where there is none, as without maps."""

    fps: Fraction | None = None
    """Frames a second of a film that states no rate, as y4m of F0:0 and SER. None: as it states,
    or 25."""

    def __post_init__(self) -> None:
        if not isinstance(self.map, tuple) or not all(isinstance(s, str) for s in self.map):
            raise InputError(
                f"got `map`={quoted(self.map)}; expected a tuple of text",
                parameter="map",
            )
        object.__setattr__(self, "map", tuple(map(plain, self.map)))
        check(self.map)
        object.__setattr__(self, "fps", rate(self.fps))
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
        if not isinstance(self.deinterlace, str):
            flag("deinterlace", self.deinterlace)
            object.__setattr__(self, "deinterlace", "frame" if self.deinterlace else False)
        else:
            object.__setattr__(
                self, "deinterlace", choice("deinterlace", self.deinterlace, DEINTERLACE)
            )
        object.__setattr__(self, "interlaced", choice("interlaced", self.interlaced, INTERLACED))
        object.__setattr__(self, "ivtc", flag("ivtc", self.ivtc))
        if self.ivtc and self.deinterlace:
            raise InputError(
                "`ivtc` and `deinterlace` are two answers to interlaced pictures; give one",
                parameter="ivtc",
            )
        if self.interlaced == "ignore" and (self.ivtc or self.deinterlace):
            raise InputError(
                "got `interlaced`=ignore, which leaves nothing to `deinterlace` or `ivtc`",
                parameter="interlaced",
            )

    @property
    def is_part(self) -> bool:
        """Return whether it is a part: then numbers about the whole input do not hold."""
        return any(value is not None for value in (self.start, self.duration, self.frames))
