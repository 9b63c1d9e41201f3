"""Refuses outputs of a scoring job that must not or cannot be written, before any work."""

from __future__ import annotations

from pathlib import Path

from snellen.errors import InputError
from snellen.files import atomic
from snellen.files.protection import is_input, place
from snellen.jobs.inputs.inputs import PIPE, contents


def check(inputs: tuple[Path, ...], table: Path | None, maps: Path | None, overwrite: bool) -> None:
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
        `overwrite` is False, or is refused by `atomic.check_target`; the table lies in the folder
        of maps, or an input does.
    """
    with atomic.protected(one for path in inputs for one in contents(path)):
        if table is not None:
            atomic.check_target(table, None, overwrite)
        if maps is not None:
            _check_maps(maps, inputs, overwrite)
            if table is not None:
                _check_apart(table, maps)


def _check_maps(maps: Path, inputs: tuple[Path, ...], overwrite: bool) -> None:
    from snellen.mad import heatmap

    if maps == PIPE:
        raise InputError(
            "maps cannot go to standard output; name a folder as `maps`", parameter="maps"
        )
    heatmap.check(maps, overwrite)
    if not maps.is_dir():
        atomic.check_folder(maps.absolute().parent)
        return
    if place(maps) in [place(path) for path in inputs]:
        raise InputError(
            f"{maps} is an input itself; choose another folder for the maps", parameter="maps"
        )
    for path in maps.iterdir():
        if is_input(path):
            raise InputError(
                f"{maps} holds an input, {path}; choose another folder for the maps",
                parameter="maps",
            )
    atomic.check_folder(maps)


def _check_apart(table: Path, maps: Path) -> None:
    if place(maps) in (place(table), str(Path(place(table)).parent), place(table.parent)):
        raise InputError(
            f"the table {table} would lie in the folder of maps, {maps}; choose another for one"
        )
