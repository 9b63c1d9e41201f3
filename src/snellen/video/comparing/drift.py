"""Finds where the times of two videos disagree, whose frames are paired by number."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from snellen.video.comparing.luma_reader import Luma, LumaReader
from snellen.video.media import MediaInfo
from snellen.video.messages import counted
from snellen.video.source.pace import UNTIMED, Y4M
from snellen.video.source.pictures import FORMAT

_TIMELESS = frozenset((FORMAT, Y4M, *UNTIMED, "mpegvideo", "m4v"))
"""Containers whose frames have no times of their own."""
_NEAR = Fraction(1, 2)
"""A share of a frame: times that differ by less belong to the same one."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Pairs whose times disagree."""

    number: int
    """Number of the reference's frame in the first of them."""
    time: Fraction
    """Its time, seconds from the reference's beginning."""
    pairs: int
    """How many there are."""
    most: Fraction
    """Seconds by which they disagree at most."""

    def __str__(self) -> str:
        return (
            f"from frame {self.number} on, at {float(self.time):.3f} s, the times of "
            f"{counted(self.pairs, 'pair')} disagree, by up to {float(self.most):.3f} s: frames "
            "are paired by number, and one video lacks frames of the other one, or has another rate"
        )


class DriftMeter:
    """Compares the times of pairs, counted from those of the first frames with a partner.

    Parameters
    ----------
    one, other : LumaReader
        Reference and distorted.

    Attributes
    ----------
    found : Drift or None
        What disagrees so far; None: nothing.
    """

    def __init__(self, one: LumaReader, other: LumaReader) -> None:
        self.found: Drift | None = None
        self._sides = one, other
        first, second = one.source.info, other.source.info
        self._near = max(_NEAR / first.rate, first.time_base + second.time_base)
        self._blind = _is_timeless(first) or _is_timeless(second)

    def see(self, one: Luma, other: Luma) -> None:
        """Take the times of a pair."""
        begins = [side.begin for side in self._sides]
        if self._blind or begins[0] is None or begins[1] is None:
            return
        apart = abs((other.time - begins[1]) - (one.time - begins[0]))
        if apart < self._near:
            return
        found = self.found or Drift(one.number, one.time, 0, Fraction(0))
        self.found = replace(found, pairs=found.pairs + 1, most=max(found.most, apart))


def together(one: Drift | None, other: Drift | None) -> Drift | None:
    """Return what disagrees in two parts of a comparison, of which `one` comes first."""
    if one is None or other is None:
        return one or other
    return replace(one, pairs=one.pairs + other.pairs, most=max(one.most, other.most))


def _is_timeless(info: MediaInfo) -> bool:
    return info.container in _TIMELESS
