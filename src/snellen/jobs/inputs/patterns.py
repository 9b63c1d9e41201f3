"""Patterns that a user typed: ``x*.png``, ``x?.png``, ``x[0-9].png``, ``x%d.png``, ``x%03d.png``.

Only these become patterns here, and only where no file has that very name. No name that is found in
a folder is one, and no library sees a pattern.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

from snellen.errors import InputError
from snellen.files.opening import is_address, missing
from snellen.files.remote import Remote

_NUMBER = re.compile(r"%(?:0([1-9]))?d")
_WILD = re.compile(r"[*?]|\[[^\]]+\]")
_DIGITS = re.compile(r"(\d+)")


def matching(path: Path) -> list[Path]:
    """Return the files and folders that a typed path means; itself if it is no pattern.

    InputError: a pattern that nothing matches, or an address that was not typed.
    """
    if str(path) == "-" or isinstance(path, Remote) or _is_there(path):
        return [path]
    if is_address(path):
        raise missing(path)
    if not any(map(_is_pattern, path.parts)):
        return [path]
    root = Path(path.anchor)
    parts = path.parts[1:] if path.anchor else path.parts
    found = sorted(_below(root, parts), key=natural)
    if not found:
        raise InputError(f"{path}: no file of this name, and none matches it as a pattern")
    return found


def the_only(path: Path, parameter: str) -> Path:
    """Return the one file or folder that a typed path means.

    InputError: as `matching`, or several match.
    """
    found = matching(path)
    if len(found) > 1:
        raise InputError(
            f"{path} matches {len(found)} files; expected one file", parameter=parameter
        )
    return found[0]


def _is_there(path: Path) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a null character
        return False


def _is_special(path: Path) -> bool:
    """Return whether this is a pipe or a device, which nobody means by a pattern."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # which is said when it is read
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _is_pattern(part: str) -> bool:
    return bool(_NUMBER.search(part) or _WILD.search(part))


def _below(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Yield what matches the parts of a pattern in a folder."""
    if not parts:
        if not _is_special(folder):
            yield folder
        return
    part, rest = parts[0], parts[1:]
    if not _is_pattern(part):
        if _is_there(folder / part):
            yield from _below(folder / part, rest)
        return
    matches = _expression(part).fullmatch
    hidden = part.startswith(".")
    try:
        found = list(folder.iterdir())
    except OSError:
        return
    for path in found:
        if matches(path.name) and (hidden or not path.name.startswith(".")):
            yield from _below(path, rest)


def _expression(part: str) -> re.Pattern[str]:
    """Return the regular expression of one part of a path."""
    # As printf, %d writes a number without leading zeros, and %03d at least three digits.
    texts = []
    end = 0
    for number in _NUMBER.finditer(part):
        texts.append(_wild(part[end : number.start()]))
        width = int(number[1] or 1)
        texts.append(f"(?:[0-9]{{{width}}}|[1-9][0-9]{{{width},}})")
        end = number.end()
    return re.compile("".join([*texts, _wild(part[end:])]))


def _wild(text: str) -> str:
    return translate(text)[:-2]  # without \Z


def natural(path: Path) -> tuple[tuple[tuple[int, int | str], ...], str]:
    """Return a key that sorts x2 before x10."""
    pieces = _DIGITS.split(str(path))
    return tuple(
        (1, int(piece)) if number % 2 else (0, piece) for number, piece in enumerate(pieces)
    ), str(path)
