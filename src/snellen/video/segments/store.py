"""The folder of a film's segments: its manifest, its lock, and what is kept when a run ends."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.files.existing import BusyError
from snellen.video.messages import counted
from snellen.video.segments.folder import LOCK, MANIFEST, PACKETS, RECORD, check_ours, make, remove
from snellen.video.segments.manifest import (
    VERSION,
    Cuts,
    cuts_of,
    differences,
    other_format,
    plain,
    read_manifest,
    record_of,
    small_file,
)
from snellen.video.segments.packets import checksum, is_sound
from snellen.video.segments.values import NOTES, Record

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None


class Store:
    """The folder beside an output, locked as long as a run uses it.

    `plan` says how the film is cut, if that is decided; `records` are of segments that are
    finished, by number.

    Parameters
    ----------
    made_by : Mapping of str to Any
        What segments must have in common, as JSON has it: input, settings, versions.
    planned : bool
        Whether another run has written the plan, which stays there.
    shared : bool
        Whether other runs add segments meanwhile: each one's record is in a file of its own, since
        the manifest stays as it is.
    """

    def __init__(
        self,
        folder: Path,
        made_by: Mapping[str, Any],
        *,
        planned: bool = False,
        shared: bool = False,
    ) -> None:
        self.folder, self._made_by = folder, dict(made_by)
        self._planned, self._shared = planned, shared
        self.plan: Cuts | None = None
        self.records: dict[int, Record] = {}
        self._output: list[int] | None = None
        self._compared: dict[int, list[tuple[int, ...]]] = {}
        self._lock: IO[bytes] | None = None
        self._plan_id = ""

    def open(self) -> None:
        """Read the manifest, if there is one, and lock the folder.

        InputError: another run uses it, its segments are of other settings, another input or a
        manifest of another format, it has files that are none of ours, or others can write into it;
        or there is no plan, although another run has written it.
        """
        if not os.path.lexists(self.folder):
            self._check_planned()
            return
        check_ours(self.folder)
        self._hold()
        found = read_manifest(self.folder)
        if found is None:
            self._check_format()
            self._check_planned()
            return
        added = self._added(found)
        done = len({*found["segments"], *map(str, added)})
        differ = differences(found["made by"], self._made_by)
        if differ and not done and not self._planned:
            return  # nothing is lost by beginning anew
        if differ:
            self.close()
            raise self._differing(done, len(found["plan"]["cuts"]), differ)
        self.plan = cuts_of(found["plan"])
        self.records = {int(key): record_of(one) for key, one in found["segments"].items()} | added

    def _differing(self, done: int, cuts: int, differ: list[str]) -> InputError:
        """Return the error about a folder whose segments are of another job."""
        segments = f"{self.folder} has {done} of {counted(cuts, 'segment')}"
        if self._planned:
            more = ", and `discard_segments`=True" if done else ""
            return InputError(
                f"{segments}, but the job is no longer what was planned: {'; '.join(differ)}",
                parameter="plan",
                advice="put that back as it was, or plan anew: INPUT with `plan`, "
                f"`overwrite`=True{more}",
            )
        return InputError(
            f"{segments} that another job has made: {'; '.join(differ)}",
            parameter="discard_segments",
            advice="run that job again to go on with them, name another output, or remove them "
            "by `discard_segments`=True",
        )

    def begin(self, plan: Cuts) -> None:
        """Write the plan, before any work is done."""
        try:
            make(self.folder)
        except OSError as error:
            raise OutputError(f"{self.folder} cannot be made: {error.strerror}") from error
        if self._lock is None:
            self._hold()
        self.plan, self.records = plan, {}
        self._write()
        written = read_manifest(self.folder)
        assert written is not None
        self._plan_id = _id_of(written)

    def add(self, record: Record) -> None:
        """Note a segment that is finished, and on the disk.

        The record has a file of its own: a manifest of thousands of them would be written as often.
        It does not wait for the disk. A loss of power costs a record at most, which is then no JSON
        of this plan, and its segment is made again; what a record says is compared with the
        segment's bytes by `whole`.
        """
        self.records[record.number] = record
        file = self._record_file(record.number)
        content = {"snellen segment": VERSION, "plan": self._plan_id, "record": asdict(record)}
        with atomic.rewriting(file, synced=False) as opened:
            opened.write(json.dumps(plain(content), indent=1).encode())

    def joined(self, output: Path | None) -> None:
        """Note the complete output, which is about to get its name; None: segments are to stay."""
        self._output = None if output is None else _file_identity(output)
        self._write()

    def whole(self, numbers: Collection[int] | None = None) -> set[int]:
        """Return the numbers of finished segments whose files are as they were written.

        Others are forgotten. `numbers` are those whose files are read; None: all. Files that have
        been compared before are read again only if they have changed since.
        """
        for number, record in list(self.records.items()):
            if numbers is not None and number not in numbers:
                continue
            sums = {self.file(number): record.checksum}
            if record.notes:
                sums[self.notes(number)] = record.notes
            try:
                now = [_state(file) for file in sums]
                good = now == self._compared.get(number)
                good = good or (
                    all(checksum(file) == digest for file, digest in sums.items())
                    and is_sound(self.file(number), record.size, record.delay)
                )
            except OSError:
                good = False
            if good:
                self._compared[number] = now
            else:
                del self.records[number]
        return set(self.records)

    def file(self, number: int) -> Path:
        """Return where the packets of a segment are."""
        return self.folder / f"{number:04d}{PACKETS}"

    def notes(self, number: int) -> Path:
        """Return where a segment's notes are, if it has any."""
        return self.file(number).with_suffix(NOTES)

    def _record_file(self, number: int) -> Path:
        return self.folder / f"{number:04d}{RECORD}"

    def _check_planned(self) -> None:
        if self._planned:
            raise InputError(
                f"{self.folder}: there is no plan of segments", advice="write it anew by `plan`"
            )

    def _check_format(self) -> None:
        """Refuse (InputError) segments that a Snellen with another format of manifests has made."""
        format = other_format(self.folder)
        if format is not None and any(self.folder.glob(f"*{PACKETS}")):
            self.close()
            raise InputError(
                f"{self.folder} has segments whose manifest is of format {format}; expected "
                f"{VERSION}, that of this version of Snellen",
                parameter="discard_segments",
                advice="go on by the version that made them, name another output, or remove them "
                "by `discard_segments`=True",
            )

    def _added(self, found: dict[str, Any]) -> dict[int, Record]:
        """Return the records in files of their own, which runs have added to a manifest's plan."""
        self._plan_id = _id_of(found)
        records = {}
        for cut in found["plan"]["cuts"]:
            file = self._record_file(cut["number"])
            with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                added = json.loads(small_file(file))
                record = record_of(added["record"])
                if (added["plan"], record.number) == (self._plan_id, cut["number"]):
                    records[record.number] = record
        return records

    def close(self) -> None:
        """Release the folder; without a finished segment it is removed."""
        if self._lock is not None and self.plan is not None and not self.records:
            self.remove()
        self.leave()

    def leave(self) -> None:
        """Release the folder, and leave it as it is."""
        if self._lock is not None:
            self._lock.close()
        self._lock = None

    def remove(self) -> None:
        """Remove the folder with all that is ours in it."""
        remove(self.folder)
        self.plan = None

    def _hold(self) -> None:
        self._lock = (self.folder / LOCK).open("ab")
        if fcntl is None:
            return
        try:
            how = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
            fcntl.flock(self._lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            self._lock = None
            raise BusyError(
                f"another run is at work in {self.folder}",
                parameter="target",
                advice="wait for it, or name another output",
            ) from None
        except OSError:
            return  # the file system has no locks

    def _write(self) -> None:
        assert self.plan is not None
        records = {str(number): asdict(one) for number, one in sorted(self.records.items())}
        content = {
            "snellen segments": VERSION, "made by": self._made_by, "output": self._output,
            "plan": asdict(self.plan), "segments": records,
        }  # fmt: skip
        with atomic.rewriting(self.folder / MANIFEST) as file:
            file.write(json.dumps(plain(content)).encode())


def was_joined(folder: Path) -> bool:
    """Return whether the segments in a folder were joined; then the output may have its name."""
    found = read_manifest(folder)
    return found is not None and found.get("output") is not None


def _id_of(found: dict[str, Any]) -> str:
    """Return what tells the plan of a manifest from another one."""
    content = json.dumps([found["made by"], found["plan"]], sort_keys=True)
    return sha256(content.encode()).hexdigest()


def is_store(folder: Path) -> bool:
    """Return whether a folder is one of segments, which a run uses or has used."""
    return (folder / LOCK).is_file()


def discard(folder: Path) -> bool:
    """Remove a folder of segments that no run uses; return whether there was one.

    InputError: another run is at work in it, or it is none of ours.
    """
    if not is_store(folder):
        return False
    check_ours(folder)
    store = Store(folder, {})
    store._hold()
    try:
        store.remove()
    finally:
        store.close()
    return True


def tidy(folder: Path, output: Path) -> None:
    """Remove what nobody needs: segments of a complete output, or a plan without any that is done.

    A run was killed before it did that.
    """
    found = read_manifest(folder)
    with suppress(OSError, InputError):
        if found is None:
            done = os.listdir(folder) == [LOCK]  # noqa: PTH208
        else:
            begun = found["segments"] or any(folder.glob(f"[0-9]*{RECORD}"))
            done = not begun or found.get("output") == _file_identity(output)
        if done:
            discard(folder)


def _state(file: Path) -> tuple[int, ...]:
    """Return what changes when a file does."""
    found = file.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _file_identity(file: Path) -> list[int]:
    found = file.stat()
    return [found.st_dev, found.st_ino, found.st_size]
