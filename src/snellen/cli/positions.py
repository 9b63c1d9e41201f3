"""Where the region of `snellen deblur` lies: --roi, and the file of positions."""

from __future__ import annotations

import re
from pathlib import Path

from snellen.errors import InputError
from snellen.video.region import Track

_WHOLE = re.compile(r"-?\d{1,9}")
_SHOWN = 60
"""Characters of a wrong line that are shown."""


def track(roi: str | None, file: Path | None) -> Track | None:
    """Return where the region lies; None: whole frames.

    Parameters
    ----------
    roi : "X,Y,W,H"; with a file "W,H" will do, and X,Y do not count
    file : a position "X,Y" a line, one for each frame

    Raises
    ------
    InputError
        Not so many whole numbers, an empty region, a file that cannot be read or without a line.
    """
    if roi is None:
        if file is not None:
            raise InputError("--roi-file says where the region is, not how large: add --roi W,H")
        return None
    numbers = _numbers(roi)
    if len(numbers) not in ((4,) if file is None else (2, 4)):
        wanted = "X,Y,W,H, as 100,40,128,128" if file is None else "W,H, as 128,128"
        raise InputError(f"--roi {roi}: expected whole numbers {wanted}")
    width, height = numbers[-2:]
    if width < 1 or height < 1:
        raise InputError(f"--roi {roi}: the region is empty; W and H are 1 or more")
    if file is None:
        return Track(width, height, ((numbers[0], numbers[1]),))
    places, lines = _read(file)
    return Track(width, height, places, str(file), lines)


def _read(file: Path) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Return the positions of a file, and the number of the line of each."""
    places, lines = [], []
    rows = _text(file).rstrip().splitlines()
    for line, text in enumerate(rows, 1):
        if text.lstrip().startswith("#"):
            continue
        numbers = _numbers(text)
        if len(numbers) != 2:
            came = f"{text.strip()[:_SHOWN]!r}" if text.strip() else "an empty line"
            raise InputError(
                f"{file} line {line}: {came} came, expected X,Y in whole pixels, as 100,40"
            )
        places.append((numbers[0], numbers[1]))
        lines.append(line)
    if not places:
        raise InputError(f"{file} has no position; expected a line X,Y for each frame")
    return tuple(places), tuple(lines)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no text; expected a line X,Y for each frame") from error
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def _numbers(text: str) -> list[int]:
    """Return whole numbers between commas or spaces; nothing where one is none."""
    words = re.split(r"\s*,\s*|\s+", text.strip())
    return [int(word) for word in words] if all(map(_WHOLE.fullmatch, words)) else []
