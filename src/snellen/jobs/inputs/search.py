"""Searches for the inputs of a run: what names, patterns and folders mean."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from snellen.errors import InputError
from snellen.files.kinds import is_known
from snellen.files.protection import place
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.patterns import matching


@dataclass(frozen=True, slots=True)
class Found:
    """An input."""

    path: Path
    folder: Path | None = None
    """The folder that was named and that it is in; None: it was named itself."""
    target: Path = PIPE
    """Its output."""


def expanded(inputs: Sequence[Path]) -> list[Path]:
    """Return the inputs, folders replaced by the videos and images in them, sorted by name.

    A typed pattern is replaced by what matches it.

    Raises
    ------
    InputError
        A folder that cannot be read, or is without video and image; a pattern that nothing matches,
        an address, or no input at all.
    """
    found, failed = search(inputs, False, None)
    for _, error in failed:
        raise error
    return [one.path for one in found]


def search(
    inputs: Sequence[Path], recursive: bool, output: Path | None
) -> tuple[list[Found], list[tuple[Path, InputError]]]:
    """Return the inputs, folders and typed patterns expanded; and what cannot be read."""
    apart = None if output is None else place(output)
    found: list[Found] = []
    failed: list[tuple[Path, InputError]] = []
    for typed in inputs:
        for path in matching(typed):
            if not os.path.isdir(path):  # noqa: PTH112  never raises
                found.append(Found(path))
                continue
            errors: list[tuple[Path, InputError]] = []
            inside = [Found(one, path) for one in _walked(path, recursive, apart, errors)]
            if not inside and not errors:
                more = "" if recursive else "; `recursive` searches the folders in it, too"
                raise InputError(f"{path} holds no video and no image{more}", parameter="source")
            found += inside
            failed += errors
    if not found and not failed:
        raise InputError("got no `source`; expected a file or a folder", parameter="source")
    return found, failed


def _walked(
    folder: Path, recursive: bool, apart: str | None, failed: list[tuple[Path, InputError]]
) -> Iterator[Path]:
    """Yield videos and images of a folder by name, then those of the folders in it, by name."""
    # What begins with a dot, links to folders and the output's folder are left out.
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            names = sorted(entry.name for entry in os.scandir(here))
        except OSError as error:
            reason = error.strerror or error
            failed.append((here, InputError(f"{here} cannot be read: {reason}")))
            continue
        paths = [here / name for name in names if not name.startswith(".")]
        for path in filter(is_known, paths):
            if os.path.isfile(path):  # noqa: PTH113
                yield path
            elif path.is_symlink() and not os.path.exists(path):  # noqa: PTH110  never raises
                failed.append((path, InputError(f"{path} is a link to a file that is not there")))
        if recursive:
            inner = [path for path in paths if os.path.isdir(path) and not path.is_symlink()]  # noqa: PTH112
            waiting += [path for path in reversed(inner) if place(path) != apart]
