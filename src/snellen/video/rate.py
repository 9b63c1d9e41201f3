"""Frames a second that a caller states, exactly."""

from __future__ import annotations

import re
from fractions import Fraction

from snellen.errors import InputError, quoted
from snellen.frames import values

_RATIO = re.compile(r"(\d{1,9})/(\d{1,9})")
_NTSC = {"23.976": 24, "29.97": 30, "47.952": 48, "59.94": 60, "119.88": 120}
"""Rates that are these less a thousandth: 24000/1001 …"""
_FASTEST = 1000


def rate(value: object) -> Fraction | None:
    """Return pictures a second, exactly (InputError: no such rate); None: None.

    23.976, 29.97 and their multiples mean NTSC's 24000/1001, 30000/1001 …
    """
    if value is None:
        return None
    value = values.plain(value)
    text = quoted(value, str)  # which never fails
    found: Fraction | None = None
    if isinstance(value, Fraction):
        found = value
    elif ratio := _RATIO.fullmatch(text):
        found = Fraction(int(ratio[1]), int(ratio[2])) if int(ratio[2]) else None
    elif text.rstrip("0") in _NTSC:
        found = Fraction(_NTSC[text.rstrip("0")] * 1000, 1001)
    elif re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) and (
        isinstance(value, str) or values.number(value) is not None
    ):
        found = Fraction(text)
    if found is None or not 0 < found <= _FASTEST:
        raise InputError(
            f"got `fps`={quoted(value)}; expected pictures a second, up to {_FASTEST}, such as 25, "
            "24000/1001 or 23.976",
            parameter="fps",
        )
    return found
