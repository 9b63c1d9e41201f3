"""Lists of pairs of files: CSV with the reference, and what is scored, in each line."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path

from snellen.errors import InputError
from snellen.files import opening
from snellen.jobs.inputs.inputs import PIPE

HEAD = ("reference", "distorted")
LARGEST = 1 << 29
"""A list, and a table that is taken up, has at most so many bytes."""


class Pairs(list[tuple[Path, Path]]):
    """Pairs of files in their order: the reference, and what is scored.

    Attributes
    ----------
    columns : tuple of str
        Names of other columns of the list, which are carried to the table.
    carried : list of tuple of str
        Their values, for each pair.
    """

    def __init__(self, pairs: Iterable[tuple[Path, Path]] = (), columns: Iterable[str] = ()):
        super().__init__(pairs)
        self.columns = tuple(columns)
        self.carried: list[tuple[str, ...]] = []

    def carried_of(self, number: int) -> dict[str, str]:
        """Return the values of other columns of a pair, by their names."""
        return dict(zip(self.columns, self.carried[number], strict=True)) if self.columns else {}


def read_pairs(file: Path) -> Pairs:
    """Return the pairs in a list.

    A first line that has "reference" and "distorted" names the columns, which then come in any
    order, with others among them; without it there are these two. Empty lines are left out.
    Relative names are those from the folder of the list.

    Raises
    ------
    InputError
        The list cannot be read, or a line has not two names of files.
    """
    try:
        text = opening.contents(file, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no text in UTF-8", parameter="pairs") from error
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    head: tuple[str, ...] | None = None
    found = Pairs()
    try:
        for row in reader:
            if not any(row):
                continue
            if head is None:
                is_head = {*HEAD} <= {*map(_name, row)}
                head = _head(row, file) if is_head else HEAD
                found.columns = tuple(one for one in head if one not in HEAD)
                if is_head:
                    continue
            if len(row) != len(head) or "\0" in "".join(row):
                raise _wrong(file, reader.line_num, row, head)
            cells = dict(zip(head, row, strict=True))
            names = [_file(file.parent, cells[name]) for name in HEAD]
            if not all(cells[name] for name in HEAD) or PIPE in names:
                raise _wrong(file, reader.line_num, row, head)
            found.append((names[0], names[1]))
            found.carried.append(tuple(cells[name] for name in found.columns))
    except csv.Error as error:
        raise InputError(f"{file}: line {reader.line_num}: {error}", parameter="pairs") from error
    if not found:
        raise InputError(f"{file} has no pairs", parameter="pairs")
    return found


def _name(cell: str) -> str:
    """Return the name of a column: those of `HEAD` count in capitals, too."""
    name = cell.strip()
    return name.lower() if name.lower() in HEAD else name


def _head(row: list[str], file: Path) -> tuple[str, ...]:
    """Return the names of the columns, which the first line has (InputError: two are one)."""
    names = tuple(map(_name, row))
    for number, name in enumerate(names):
        if not name or name in names[:number]:
            what = f"two columns {name}" if name else f"no name of column {number + 1}"
            raise InputError(
                f"{file}: its first line has {what}; expected a name of its own for each column",
                parameter="pairs",
            )
    return names


def _wrong(file: Path, number: int, row: list[str], head: tuple[str, ...]) -> InputError:
    expected, advice = f"{len(head)} values, of the columns {','.join(head)}", None
    if head == HEAD:
        expected = "the names of two files, with a comma between"
        if len(row) > len(HEAD):
            advice = "more columns need a first line with their names: reference,distorted,…"
    elif len(row) == len(head):
        expected = "the names of two files in the columns reference and distorted"
    return InputError(
        f"{file}: line {number} is {','.join(row)!r:.80}; expected {expected}",
        parameter="pairs",
        advice=advice,
    )


def _file(folder: Path, name: str) -> Path:
    """Return the file that a list means; a name like an address stays one, which nothing opens."""
    file = folder / name
    return Path(name) if opening.is_address(Path(name)) and not os.path.lexists(file) else file
