"""Phrases that messages share."""

from __future__ import annotations

from fractions import Fraction


def counted(number: int, thing: str) -> str:
    """Return e.g. '1 packet' or '2 packets'."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def clock(seconds: Fraction) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(float(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:06.3f}".removesuffix(".000")
