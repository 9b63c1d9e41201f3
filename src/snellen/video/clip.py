"""Which part of a video is worked on, its streams, and what becomes of interlaced pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

from snellen.errors import InputError, quoted
from snellen.frames.brief import Brief
from snellen.frames.values import choice, flag, items, number, plain, text, whole
from snellen.schema import option
from snellen.video.selection import check

LONGEST = 10**9
"""Greatest time in seconds: FFmpeg's are 64-bit ticks."""

MANY = 10**6
"""Maps at most."""
_TIME = re.compile(r"\d{1,9}(\.\d{1,9})?|(\d{1,3}:)?\d{1,3}:[0-5]\d(\.\d{1,9})?")

_RATIO = re.compile(r"(\d{1,9})/(\d{1,9})")
_NTSC = {"23.976": 24, "29.97": 30, "47.952": 48, "59.94": 60, "119.88": 120}
"""Rates that are these less a thousandth: 24000/1001 …"""
_FASTEST = 1000

INTERLACED = ("auto", "ignore", "top", "bottom")
DEINTERLACE = ("frame", "field")
DECODERS = ("auto", "cpu", "nvdec")


@dataclass(frozen=True, slots=True, repr=False)
class Clip(Brief):
    """Which part of the input to work on, and how interlaced pictures become progressive."""

    start: Fraction | None = option(
        None, accepts="Time | None", metavar="TIME",
        help="Begin here, in seconds or [HH:]MM:SS: the first frame at or after it becomes time 0.",
    )  # fmt: skip
    duration: Fraction | None = option(
        None, accepts="Time | None", metavar="TIME",
        help="Stop after so long, in seconds or [HH:]MM:SS from `start`.",
    )  # fmt: skip
    frames: int | None = option(None, "Stop after so many frames.", least=1)
    deinterlace: bool | str = option(
        False, more="True means frame.", choices=DEINTERLACE,
        help="Make interlaced video progressive (bwdif), which is refused otherwise: frame by "
        "frame; field: each field becomes a frame, at twice the rate.",
    )  # fmt: skip
    interlaced: str = option(
        "auto", choices=INTERLACED,
        help="Which frames are interlaced; auto: those marked, if the content of several places "
        "agrees, and with `deinterlace` by content alone; ignore: none; top, bottom: all, this "
        "field first.",
    )  # fmt: skip
    ivtc: bool = option(
        False, "Take film out of telecined video: 24 frames a second of 30 interlaced ones."
    )
    map: tuple[str, ...] = option(
        (), unset="all", accepts="str | Sequence[str] | None", metavar="0:a:1",
        help="Streams to keep, as for FFmpeg's -map: 0:a:1, 0:s?, 0:a:m:language:eng, -0:d; the "
        "first video among them is worked on, and where there is none, as without them.",
    )  # fmt: skip
    fps: Fraction | None = None
    """Frames a second of a film that states no rate, as y4m of F0:0 and SER. None: as it states,
    or 25."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "map", _maps(self.map))
        check(self.map)
        object.__setattr__(self, "fps", rate(self.fps))
        object.__setattr__(self, "frames", plain(self.frames))
        for name in ("start", "duration"):
            object.__setattr__(self, name, seconds(getattr(self, name), name))
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


def seconds(value: object, parameter: str) -> Fraction | None:
    """Return a time in seconds, exactly; InputError, about `parameter`: no such time.

    A float means the decimal number that Python prints for it: 0.1 is 1/10. A str is seconds or
    [HH:]MM:SS, with up to nine decimals.
    """
    if value is None:
        return None
    value = plain(value)
    if isinstance(value, str) and _TIME.fullmatch(value):
        total = Fraction(0)
        for part in value.split(":"):
            total = total * 60 + Fraction(part)
        return total
    found = number(value)
    if found is not None and abs(found) <= LONGEST:
        return Fraction(value) if isinstance(value, Rational) else Fraction(str(found))
    raise InputError(
        f"got `{parameter}`={quoted(value)}; expected seconds or [HH:]MM:SS, such as 90.5 or "
        "1:30.5",
        parameter=parameter,
    )


def rate(value: object) -> Fraction | None:
    """Return pictures a second, exactly (InputError: no such rate); None: None.

    23.976, 29.97 and their multiples mean NTSC's 24000/1001, 30000/1001 …
    """
    if value is None:
        return None
    value = plain(value)
    text = quoted(value, str)  # which never fails
    found: Fraction | None = None
    if isinstance(value, Fraction):
        found = value
    elif ratio := _RATIO.fullmatch(text):
        found = Fraction(int(ratio[1]), int(ratio[2])) if int(ratio[2]) else None
    elif text.rstrip("0") in _NTSC:
        found = Fraction(_NTSC[text.rstrip("0")] * 1000, 1001)
    elif re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) and (
        isinstance(value, str) or number(value) is not None
    ):
        found = Fraction(text)
    if found is None or not 0 < found <= _FASTEST:
        raise InputError(
            f"got `fps`={quoted(value)}; expected pictures a second, up to {_FASTEST}, such as 25, "
            "24000/1001 or 23.976",
            parameter="fps",
        )
    return found


def _maps(given: object) -> tuple[str, ...]:
    """Return the maps that a str is, or several in a sequence (InputError: they are none)."""
    if given is None or isinstance(given, str):
        return () if given is None else (plain(given),)
    found = items("map", given, MANY)
    return tuple(text("map", one, "a map such as 0:a:1, or several") for one in found)
