"""Time codes, HH:MM:SS:FF, after the first frames have been cut off."""

from __future__ import annotations

import re
from fractions import Fraction

_CODE = re.compile(r"(\d\d):(\d\d):(\d\d)([:;.])(\d\d)")
_SLACK = Fraction(1, 5)
"""Share of a frame by which rounded times (Matroska's 1 ms) may be off; times of a variable rate
are off by more."""


def advanced(code: str, cut: Fraction, rate: Fraction) -> str | None:
    """Return the time code `cut` seconds later, at `rate` frames a second; None: unknown."""
    found = _CODE.fullmatch(code.strip())
    frames, nominal = cut * rate, round(rate)
    # A rate that is neither whole nor 1000/1001 of it is an average.
    steady = abs(nominal - rate) <= Fraction(nominal, 1000)
    if found is None or nominal < 1 or not steady or abs(frames - round(frames)) > _SLACK:
        return None
    hours, minutes, seconds, number = (int(found[i]) for i in (1, 2, 3, 5))
    # Drop frame: of each minute but every tenth, the first 2 numbers (of 30) are left out.
    left_out = nominal // 15 if found[4] != ":" and nominal % 30 == 0 else 0
    past = hours * 60 + minutes
    total = (past * 60 + seconds) * nominal + number - left_out * (past - past // 10)
    ten = 600 * nominal - 9 * left_out
    total = (total + round(frames)) % (144 * ten)
    tens, rest = divmod(total, ten)
    total += left_out * (9 * tens + max(0, (rest - left_out) // (60 * nominal - left_out)))
    seconds, number = divmod(total, nominal)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}{found[4]}{number:02}"
