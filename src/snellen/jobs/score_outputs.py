"""Refuses outputs of a scoring job that must not or cannot be written, before any work."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from snellen.errors import InputError
from snellen.frames import atomic
from snellen.jobs.inputs import PIPE, is_picture

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


def check(
    inputs: tuple[Path, Path], table: Path | None, maps: Path | None, overwrite: bool
) -> None:
    """Refuse outputs that cannot be written, or would replace an input.

    Parameters
    ----------
    inputs : files, folders of images, or - for standard input
    table, maps : file for CSV, and folder for maps; None: none
    overwrite : whether existing outputs are replaced

    Raises
    ------
    InputError
        An output is an input itself or an image of an input folder (by a link too), exists and
        `overwrite` is False, or its folder takes no file; the table lies in the folder of maps, or
        an input does.
    """
    used = _used(inputs)
    if table is not None:
        _check_table(table, used, overwrite)
    if maps is not None:
        _check_maps(maps, inputs, used, overwrite)
        if table is not None:
            _check_apart(table, maps)


def _used(inputs: tuple[Path, Path]) -> dict[Identity, Path]:
    """Return the files that are read, and those that are images or videos beside them."""
    found: dict[Identity, Path] = {}
    for given in inputs:
        for path in given.iterdir() if given.is_dir() else [given]:
            identity = _identity(path)
            if identity and (not given.is_dir() or is_picture(path)):
                found[identity] = path
    return found


def _identity(path: Path) -> Identity | None:
    """Return the identity of a file; None: the system does not say, or there is none."""
    with suppress(OSError, ValueError, AttributeError):  # standard input may be closed, or no file
        found = os.fstat(sys.stdin.fileno()) if path == PIPE else path.stat()
        return found.st_dev, found.st_ino
    return None


def _check_table(table: Path, used: dict[Identity, Path], overwrite: bool) -> None:
    identity = _identity(table)
    if identity in used:
        raise InputError(
            f"{table} is the input itself, {used[identity]}; choose another file for the table",
            parameter="table",
        )
    atomic.check_target(table, None, overwrite)
    atomic.check_folder(table.resolve().parent)


def _check_maps(
    maps: Path, inputs: tuple[Path, Path], used: dict[Identity, Path], overwrite: bool
) -> None:
    from snellen.mad import heatmap

    if maps == PIPE:
        raise InputError(
            "maps cannot go to standard output; name a folder as `maps`", parameter="maps"
        )
    heatmap.check(maps, overwrite)
    if not maps.is_dir():
        atomic.check_folder(maps.parent)
        return
    if _identity(maps) in [_identity(path) for path in inputs]:
        raise InputError(
            f"{maps} is an input itself; choose another folder for the maps", parameter="maps"
        )
    for path in maps.iterdir():
        if _identity(path) in used:
            raise InputError(
                f"{maps} holds an input, {path}; choose another folder for the maps",
                parameter="maps",
            )
    atomic.check_folder(maps)


def _check_apart(table: Path, maps: Path) -> None:
    folder, file = maps.resolve(), table.resolve()
    if folder in (file, file.parent, table.parent.resolve()):
        raise InputError(
            f"the table {table} would lie in the folder of maps, {maps}; choose another for one"
        )
