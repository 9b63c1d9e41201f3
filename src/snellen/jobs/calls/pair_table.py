"""The table of the scores of many pairs, which is taken up after a kill."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from snellen.errors import InputError, OutputError
from snellen.files import atomic, leftovers
from snellen.files.existing import AppearedError
from snellen.jobs.calls.pair_list import HEAD, LARGEST, Pairs
from snellen.jobs.inputs.inputs import contents
from snellen.jobs.inputs.naming import lengthened
from snellen.jobs.kinds import score_outputs
from snellen.jobs.kinds.score import ScoreJob
from snellen.jobs.steps.score_table import csv_line, of_mean_error
from snellen.metrics import registry
from snellen.schema import with_effect

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".unfinished"
VERSION = 4
"""The version of the file in which a table grows."""
_LARGEST_LINE = 1 << 20
"""The first line of the file in which a table grows has at most so many bytes."""
_KEPT = 40
"""Characters of a file's name in that of a folder of maps."""
_FREE = {"reference", "distorted", *with_effect(ScoreJob, "machine", "result")}
"""Fields of a job that do not change a score."""


class PairTable:
    """A CSV file with a row for each pair; a context manager.

    It grows in a file beside it, `….unfinished`, whose first line says of which pairs and settings
    it is: so a run that was ended is taken up. There each row begins with the number of its pair,
    and with the sizes and times that both files had when they were scored. Rows that have an error
    are made again, and those of files that have changed. The table gets its name when it is
    complete, with all rows in the order of the list.

    Parameters
    ----------
    file : Path
    job : ScoreJob
        Settings of all pairs.
    pairs : Pairs
    overwrite : bool
        Whether another table is replaced.

    Attributes
    ----------
    left : list of int
        Numbers of the pairs that are to be scored, in their order.
    changed, failed : int
        How many of these were scored before, and have other contents now or had an error.
    """

    def __init__(self, file: Path, job: ScoreJob, pairs: Pairs, overwrite: bool) -> None:
        self._file, self._growing = file, lengthened(file, SUFFIX)
        self._columns = columns(job, pairs)
        self._pairs, self._overwrite = pairs, overwrite
        self._made_by = {"snellen pairs": VERSION, "list": _digest(pairs), "job": _settings(job)}
        self._maps = job.maps
        self._stream: IO[bytes] | None = None
        self._rows: dict[int, tuple[int, int]] = {}
        self._states: dict[int, str] = {}
        self.left = list(range(len(pairs)))
        self.changed = self.failed = 0
        there = file.exists() or self._growing.exists()
        with atomic.protected(one for pair in pairs for one in pair if there):
            atomic.check_target(file, None, overwrite)
            atomic.check_target(self._growing, None, overwrite=True)
        if os.path.lexists(self._growing) and not self.is_begun:
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

    @property
    def is_begun(self) -> bool:
        """Return whether a run with the same pairs and settings has begun the table."""
        return self._found() == self._made_by

    def __enter__(self) -> PairTable:
        try:
            self._begin()
        except (AppearedError, FileNotFoundError):  # it was begun, or completed, in this moment
            raise self._busy() from None
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"{self._growing} could not be written: {error.strerror}") from error
        return self

    def _begin(self) -> None:
        """Write what is kept into a new file, and lock it; the old one stays locked until then."""
        # Of several runs that do so in the same moment one goes on.
        with ExitStack() as old, ExitStack() as new:
            there = os.path.lexists(self._growing)
            if there:
                self._hold(old.enter_context(self._growing.open("rb")))
            kept = dict(self._kept())
            self.left = [number for number in self.left if number not in kept]
            with atomic.rewriting(self._growing, overwrite=there) as whole:
                whole.write(json.dumps(self._made_by).encode() + b"\n")
                whole.write(csv_line(("number", "files", *self._columns)).encode())
                for number, line in kept.items():
                    self._rows[number] = whole.tell(), len(line)
                    whole.write(line)
                made = Path(whole.name).stat()
            stream = new.enter_context(self._growing.open("r+b"))  # which makes none
            stream.seek(0, os.SEEK_END)
            if not os.path.samestat(made, os.fstat(stream.fileno())):
                raise self._busy()
            self._hold(stream)
            new.pop_all()
        self._stream = stream

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        assert self._stream is not None
        with self._stream:  # locked until the table has its name
            if error is None:
                with (
                    self._growing.open("rb") as growing,
                    atomic.writing(self._file, self._overwrite) as table,
                ):
                    table.write(csv_line(self._columns).encode())
                    for _, (begin, size) in sorted(self._rows.items()):
                        growing.seek(begin)
                        table.write(growing.read(size).split(b",", 2)[2])
                self._growing.unlink(missing_ok=True)

    def begin(self, number: int) -> None:
        """Note what the files of a pair are before they are scored."""
        self._states[number] = _state(self._pairs[number])

    def add(self, number: int, facts: Mapping[str, Any]) -> None:
        """Write the row of a pair, which was begun: its score as of `PairScore.facts`."""
        assert self._stream is not None
        known = {**facts} | self._pairs.carried_of(number)
        row = (number, self._states.pop(number), *(known.get(name, "") for name in self._columns))
        line = csv_line(row).encode()
        try:
            self._rows[number] = self._stream.tell(), len(line)
            self._stream.write(line)
            self._stream.flush()
        except OSError as error:
            raise OutputError(f"{self._growing} could not be written: {error.strerror}") from error

    def _hold(self, stream: IO[Any]) -> None:
        """Lock the table until the stream is closed (InputError: another run has it)."""
        if fcntl is not None:
            with suppress(OSError):  # the file system has no locks
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise self._busy() from None
        if not leftovers.is_same(stream.fileno(), self._growing):
            raise self._busy()

    def _busy(self) -> InputError:
        return InputError(
            f"another run is writing {self._file}",
            parameter="table",
            advice="wait for it, or name another file",
        )

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

    def _kept(self) -> Iterator[tuple[int, bytes]]:
        """Yield the rows of an earlier run that still hold, as lines, by the numbers of pairs."""
        if not self.is_begun:
            return
        with self._growing.open("rb") as growing:
            growing.readline(_LARGEST_LINE)
            data = growing.read(LARGEST)
        whole = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace")
        found = csv.reader(io.StringIO(whole, newline=""))
        with suppress(csv.Error, ValueError, IndexError):  # damaged: the rows before it count
            if next(found, None) != ["number", "files", *self._columns]:
                return
            for row in found:
                number = int(row[0])
                pair = self._pairs[number]
                names = [next(csv.reader([csv_line([one])]))[0] for one in map(str, pair)]
                if number < 0 or len(row) != len(self._columns) + 2 or row[2:4] != names:
                    return
                there = self._maps is None or maps_of(self._maps, number, pair).is_dir()
                if row[-1]:
                    self.failed += 1
                elif row[1] != _state(pair) or not there:
                    self.changed += 1
                else:
                    yield number, csv_line(row).encode()


def columns(job: ScoreJob, pairs: Pairs) -> tuple[str, ...]:
    """Return the columns of a table of pairs.

    Raises
    ------
    InputError
        A column of the list has the name of a column of scores.
    """
    means = of_mean_error(job.metrics).values()
    moving = ("stmad",) if job.temporal else ()
    models = (one.setting for one in map(registry.METRICS.get, job.metrics) if one and one.setting)
    scores = ("frames", *registry.columns(job.metrics), *means, *moving, *models, "error")
    for name in pairs.columns:
        if name in scores:
            raise InputError(
                f"the list has a column {name}, which the table has of its own",
                parameter="pairs",
                advice="rename the column in the first line of the list",
            )
    return (*HEAD, *pairs.columns, *scores)


def check_maps(maps: Path, table: Path | None, overwrite: bool) -> None:
    """Refuse a folder for the maps of all pairs that cannot or must not be used; make it.

    Raises
    ------
    InputError, OutputError
        As `score_outputs.check` has it.
    """
    score_outputs.check((), table, maps, overwrite)
    try:
        maps.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{maps} could not be made: {error.strerror or error}") from error


def maps_of(maps: Path, number: int, pair: tuple[Path, Path]) -> Path:
    """Return the folder for the heat maps of a pair, in the folder of all."""
    return maps / f"{number + 1}-{pair[1].stem[:_KEPT]}"


def _state(pair: tuple[Path, Path]) -> str:
    """Return what changes with the contents of two files or folders: no text of a list's own."""
    return ";".join(map(_state_of, pair))


def _state_of(file: Path) -> str:
    try:
        found = file.stat()
        if not stat.S_ISDIR(found.st_mode):
            return f"{found.st_size}:{found.st_mtime_ns}"
        inside = sorted(
            (str(one), (about := one.stat()).st_size, about.st_mtime_ns)
            for one in contents(file)
            if isinstance(one, Path)
        )
    except (OSError, ValueError):
        return "-"
    return sha256(json.dumps(inside).encode(errors="replace")).hexdigest()


def _digest(pairs: Pairs) -> str:
    names = [[str(name.absolute()) for name in pair] for pair in pairs]
    carried = [pairs.columns, pairs.carried] if pairs.columns else []
    return sha256(json.dumps([names, carried]).encode(errors="replace")).hexdigest()


def _settings(job: ScoreJob) -> dict[str, Any]:
    found = json.loads(job.to_json())
    return {name: value for name, value in found.items() if name not in _FREE}
