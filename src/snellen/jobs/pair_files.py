"""Lists of pairs of files, and the table of their scores, which is taken up after a kill."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from snellen.errors import InputError, OutputError
from snellen.frames import atomic, opening
from snellen.jobs.inputs import PIPE
from snellen.jobs.score import ScoreJob
from snellen.jobs.score_table import csv_line
from snellen.metrics.names import MAD

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEAD = ("reference", "distorted")
VERSION = 2
"""Of the file in which a table grows."""
LARGEST = 1 << 29
"""Bytes of a list, and of a table that is taken up."""
_LARGEST_LINE = 1 << 20
"""Bytes of the first line of the file in which a table grows."""
_FREE = ("reference", "distorted", "device", "threads", "overwrite", "max_pixels", "profile",
         "decoder", "workers", "cluster")  # fmt: skip
"""Fields of a job that do not change a score."""


def read_pairs(file: Path) -> list[tuple[Path, Path]]:
    """Return the pairs in a list: CSV with the reference, and what is scored, in each line.

    A first line "reference,distorted" is left out, and so are empty ones. Relative names are those
    from the folder of the list.

    Raises
    ------
    InputError
        The list cannot be read, or a line has not two names.
    """
    try:
        text = opening.contents(file, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is no text in UTF-8", parameter="pairs") from error
    found: list[tuple[Path, Path]] = []
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    try:
        for row in reader:
            if not any(row) or (tuple(map(str.lower, row)) == HEAD and not found):
                continue
            names = [_file(file.parent, name) for name in row]
            if len(row) != 2 or not all(row) or "\0" in "".join(row) or PIPE in names:
                raise InputError(
                    f"{file}: line {reader.line_num} is {','.join(row)!r:.80}; expected the names "
                    "of two files, with a comma between",
                    parameter="pairs",
                )
            found.append((names[0], names[1]))
    except csv.Error as error:
        raise InputError(f"{file}: line {reader.line_num}: {error}", parameter="pairs") from error
    if not found:
        raise InputError(f"{file} has no pairs", parameter="pairs")
    return found


def _file(folder: Path, name: str) -> Path:
    """Return the file that a list means; a name like an address stays one, which nothing opens."""
    file = folder / name
    return Path(name) if opening.is_address(Path(name)) and not os.path.lexists(file) else file


class PairTable:
    """A CSV file with a row for each pair; a context manager.

    It grows in a file beside it, `….unfinished`, whose first line says of which pairs and settings
    it is: so a run that was ended is taken up. The table gets its name when it is complete.

    Parameters
    ----------
    file : Path
    job : ScoreJob
        Settings of all pairs.
    pairs : sequence of (Path, Path)
    overwrite : bool
        Whether another table is replaced.

    Attributes
    ----------
    done : int
        Pairs of an earlier run.
    failed : int
        How many of them have no score, or were damaged.
    """

    def __init__(
        self, file: Path, job: ScoreJob, pairs: Sequence[tuple[Path, Path]], overwrite: bool
    ) -> None:
        self._file, self._growing = file, file.with_name(f"{file.name}.unfinished")
        self._columns = columns(job)
        self._pairs, self._overwrite = pairs, overwrite
        self._made_by = {"snellen pairs": VERSION, "list": _digest(pairs), "job": _settings(job)}
        self._stream: IO[str] | None = None
        self.done = self.failed = 0
        there = file.exists() or self._growing.exists()
        with atomic.protected(one for pair in pairs for one in pair if there):
            atomic.check_target(file, None, overwrite)
            atomic.check_target(self._growing, None, overwrite=True)
        if os.path.lexists(self._growing) and not self._is_mine():
            if "snellen pairs" not in self._found():
                raise InputError(
                    f"{self._growing} exists, but is no table of pairs",
                    parameter="table",
                    advice="move it away, or name another table",
                )
            if not overwrite:
                raise InputError(
                    f"{self._growing} exists, of other pairs or settings",
                    parameter="overwrite",
                    advice="take those to go on, name another table, or give `overwrite`=True",
                )

    def __enter__(self) -> PairTable:
        try:
            if "snellen pairs" in self._found():
                with self._growing.open("rb") as found:
                    self._hold(found)
            rows = self._rows()
            self.done = len(rows)
            self.failed = sum(bool(row[-1]) for row in rows)
            lines = (self._columns, *rows)
            with atomic.rewriting(self._growing) as whole:
                whole.write(json.dumps(self._made_by).encode() + b"\n")
                whole.writelines(csv_line(row).encode() for row in lines)
            self._stream = self._growing.open("a", encoding="utf-8", newline="")
            self._hold(self._stream)
        except OSError as error:
            raise OutputError(f"{self._growing} could not be written: {error.strerror}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._stream is not None
        with self._stream:  # locked until the table has its name
            if error is None:
                with (
                    self._growing.open("rb") as growing,
                    atomic.writing(self._file, self._overwrite) as table,
                ):
                    growing.readline()
                    shutil.copyfileobj(growing, table)
                self._growing.unlink(missing_ok=True)

    def add(self, facts: Mapping[str, Any]) -> None:
        """Write the row of the next pair, which `PairScore.facts` has returned."""
        assert self._stream is not None
        try:
            self._stream.write(csv_line(facts.get(name, "") for name in self._columns))
            self._stream.flush()
        except OSError as error:
            raise OutputError(f"{self._growing} could not be written: {error.strerror}") from error

    def _hold(self, stream: IO[Any]) -> None:
        """Lock the table until the stream is closed (InputError: another run has it)."""
        if fcntl is None:
            return
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another run is writing {self._file}",
                parameter="table",
                advice="wait for it, or name another file",
            ) from None
        except OSError:
            return  # the file system has no locks

    def _is_mine(self) -> bool:
        """Return whether a run with the same pairs and settings has begun the table."""
        return self._found() == self._made_by

    def _found(self) -> dict[str, Any]:
        """Return the first line of the file in which the table grows; nothing: it is none."""
        try:
            if stat.S_ISREG(self._growing.lstat().st_mode):
                with self._growing.open("rb") as growing:
                    found = json.loads(growing.readline(_LARGEST_LINE))
                return dict(found) if isinstance(found, dict) else {}
        except (OSError, ValueError, RecursionError):
            pass
        return {}

    def _rows(self) -> list[list[str]]:
        """Return the rows of an earlier run, up to the last that is complete and as expected."""
        if not self._is_mine():
            return []
        with self._growing.open("rb") as growing:
            growing.readline(_LARGEST_LINE)
            data = growing.read(LARGEST)
        rows: list[list[str]] = []
        whole = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace")
        found = csv.reader(io.StringIO(whole, newline=""))
        with suppress(csv.Error):  # damaged: the rows before it count
            if next(found, None) != list(self._columns):
                return []
            for row, pair in zip(found, self._pairs, strict=False):
                names = [next(csv.reader([csv_line([one])]))[0] for one in map(str, pair)]
                if len(row) != len(self._columns) or row[:2] != names:
                    break
                rows.append(row)
        return rows


def columns(job: ScoreJob) -> tuple[str, ...]:
    """Return the columns of a table of pairs."""
    others = [one for one in job.metrics if one != MAD]
    mad = ("mad", "hi", "lo") if MAD in job.metrics else ()
    moving = ("stmad",) if job.temporal else ()
    return (*HEAD, "frames", *mad, *others, *moving, "error")


def _digest(pairs: Sequence[tuple[Path, Path]]) -> str:
    names = [[str(name.absolute()) for name in pair] for pair in pairs]
    return sha256(json.dumps(names).encode(errors="replace")).hexdigest()


def _settings(job: ScoreJob) -> dict[str, Any]:
    found = json.loads(job.to_json())
    return {name: value for name, value in found.items() if name not in _FREE}
