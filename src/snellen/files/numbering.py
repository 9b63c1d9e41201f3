"""Outputs with a number in their names: ``film-%05d.png``."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_NUMBER = re.compile(r"%(?:0([1-9]))?d")
_LONGEST = 19
"""Digits of a number that no run reaches."""


def numbered(pattern: str, number: int) -> str:
    """Return the name of a picture."""
    return _NUMBER.sub(lambda found: f"{number:0{found[1] or 1}d}", pattern)


def is_pattern(target: Path) -> bool:
    """Return whether a name stands for many files: one %d in it, and no file has that very name."""
    return len(_NUMBER.findall(target.name)) == 1 and not os.path.lexists(target)


def there(target: Path) -> list[Path]:
    """Return the files whose names a pattern makes, sorted."""
    before, _, after = _NUMBER.split(target.name)
    found = []
    with suppress(OSError):
        for name in os.listdir(target.parent):  # noqa: PTH208  as it is, whatever its bytes
            digits = name[len(before) : len(name) - len(after)]
            known = digits.isascii() and digits.isdigit() and len(digits) < _LONGEST
            if known and name == numbered(target.name, int(digits)):
                found.append(target.parent / name)
    return sorted(found)
