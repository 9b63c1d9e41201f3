"""Time bases as fractions, and a clock whose times rise."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from av.packet import Packet

JUMP = Fraction(1)
"""A step of so many seconds backwards is a new start of the clock; a smaller one is disorder."""


def fraction(value: Any) -> Fraction | None:
    """Return a ratio of PyAV as a Fraction; None where it is unknown (None or 0 there).

    It is a fractions.Fraction up to PyAV 18, an av.AVRational from 19.
    """
    if value is None or not value.numerator or not value.denominator:
        return None
    return Fraction(value.numerator, value.denominator)


def stamp_of(packet: Packet[Any]) -> int | None:
    """Return when a packet is decoded, or if that is unknown when it is shown, in ticks."""
    return packet.dts if packet.dts is not None else packet.pts


class Clock:
    """Gives each frame or packet of a stream a time later than that of the one before.

    A tick has `time_base` seconds, and two frames are usually `step` ticks apart. So many times
    were `missing` and were computed, and so many did not rise and were `moved`; `first` is the
    first time that was returned.
    """

    def __init__(self, time_base: Fraction, step: Fraction) -> None:
        self.time_base = time_base
        self.step = step
        self.missing = 0
        self.moved = 0
        self.first: int | None = None
        self._last: int | None = None
        self._anchor, self._steps = 0, 0  # the next time is so many steps after this one
        self._offset = 0

    def __call__(self, ticks: int | None) -> int:
        """Return the time to use for a frame that states `ticks`; None: it states no time."""
        if ticks is None:
            self.missing += 1
            now = round(self._anchor + self._steps * self.step)
            self._steps += 1
            if self._last is not None:
                now = max(now, self._last + 1)
        else:
            now = self._risen(ticks + self._offset)
            self._anchor, self._steps = now, 1
        if self.first is None:
            self.first = now
        self._last = now
        return now

    def _risen(self, now: int) -> int:
        if self._last is None or now > self._last:
            return now
        self.moved += 1
        if (self._last - now) * self.time_base < JUMP:
            return self._last + 1
        restart = self._last + max(1, round(self.step))
        self._offset += restart - now
        return restart
