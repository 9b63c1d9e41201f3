"""Atomic writing: an output file gets its name only when it is complete, and on the disk."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.errors import InputError, OutputError
from snellen.files import leftovers, protection, renaming
from snellen.files.existing import exists
from snellen.files.leftovers import Temporary
from snellen.files.protection import protected
from snellen.files.remote import check_local

__all__ = [
    "adopt",
    "check_folder",
    "check_target",
    "protected",
    "replacing",
    "rewriting",
    "sweep",
    "withdraw",
    "writing",
]

_NOT_REPLACEABLE = "{} is not a file that can be replaced"
_NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""Errors of file systems that cannot wait for the disk."""
_OWN = 0o600
"""Permissions that the owner needs to write the file by its name."""


def check_target(target: Path, source: protection.File | None, overwrite: bool) -> None:
    """Refuse an output file that cannot or must not be written, before any work is done.

    `source` is an input, which must not be overwritten; those of `protected` are known without it.
    Only with `overwrite` an existing file may be replaced.

    Raises
    ------
    InputError
        The folder of `target` does not exist; `target` is a folder, an input (by whatever name or
        link), another output of this run, where standard output goes, a pipe, a device or an
        address; it exists and `overwrite` is False; or the system denies access to it.
    OutputError
        The folder takes no file: it is read-only or full.
    """
    check_local(target)
    try:
        goal = _resolved(target)
        found = _status(goal)
        if not goal.parent.is_dir():
            folder = goal.parent if target.parent.is_dir() else target.parent
            raise InputError(
                f"{target}: the folder {folder} does not exist", advice="make it first"
            )
        if found is not None:
            with protected([] if source is None else [source]):
                _check_existing(target, goal, found, overwrite)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: no file can have such a name
        raise InputError(f"{target}: {_reason(error)}") from error
    with _os_errors_as_output_errors(target):
        _try(goal)


def _check_existing(target: Path, goal: Path, found: os.stat_result, overwrite: bool) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise InputError(f"{target} is a folder", advice="name a file in it")
    if (reason := protection.refusal(target)) is not None:
        raise InputError(reason, advice="choose another output")
    if not stat.S_ISREG(found.st_mode):
        raise InputError(_NOT_REPLACEABLE.format(target), advice="name another")
    if not overwrite:
        raise exists(target)


def check_folder(folder: Path) -> None:
    """Refuse (OutputError) a folder in which no file can be made: make one, and remove it.

    It does not exist, is read-only or full.
    """
    try:
        _try(folder / "file")
    except OSError as error:
        raise OutputError(f"{folder} takes no file: {_reason(error)}") from error


def _try(target: Path) -> None:
    """Make a file beside a target, and remove it."""
    with suppress(AttributeError, OSError):  # the system, or the file system, has no such files
        descriptor = os.open(target.parent, os.O_TMPFILE | os.O_RDWR, _OWN)
        try:
            os.write(descriptor, b"\0")
            return
        finally:
            os.close(descriptor)
    temporary = Temporary(target)
    try:
        temporary.make(_OWN)
        os.write(temporary.descriptor, b"\0")
    finally:
        temporary.close()


@contextmanager
def writing(target: Path, overwrite: bool, *, synced: bool = True) -> Iterator[io.BufferedRandom]:
    """Yield a binary file that becomes `target` when the block ends, as of `replacing`.

    Every OSError of the block is an OutputError, which names `target`.
    """
    with (
        _os_errors_as_output_errors(target),
        replacing(target, overwrite, synced=synced) as temporary,
        _File(io.FileIO(temporary, "r+")) as file,
    ):
        yield file


@contextmanager
def rewriting(
    target: Path, *, overwrite: bool = True, synced: bool = True
) -> Iterator[io.BufferedRandom]:
    """Yield a file as `writing` does; the same run may replace it again, as a checkpoint."""
    with writing(target, overwrite, synced=synced) as file:
        yield file
    outputs = protection.current().outputs
    for what in [one for one, name in outputs.items() if name == str(target)]:
        del outputs[what]


class _File(io.BufferedRandom):
    """A file that libraries write by its methods.

    Through a descriptor Pillow would lose what a single write of the system leaves over, where the
    disk is full.
    """

    def fileno(self) -> int:
        """Raise UnsupportedOperation."""
        raise io.UnsupportedOperation("fileno")


@contextmanager
def replacing(target: Path, overwrite: bool, *, synced: bool = True) -> Iterator[Path]:
    """Yield a hidden temporary file in the target's folder; rename it to `target` at the end.

    It is empty, with the suffix of `target`. After an error, or if `target` has come to exist in
    the meantime without `overwrite`, the temporary file is removed and `target` stays as it was. A
    symbolic link is followed once, at the beginning: the file that it names is replaced. The new
    file gets the old one's permissions, and its owner and group as far as the system lets them be
    set; access control lists and extended attributes are those of any new file in the folder. With
    `synced` the file's contents are on the disk (fsync) before the rename, and the folder's after
    it; otherwise a loss of power may leave the file empty or damaged: whoever reads it must notice
    that.

    What killed runs left of this output is removed first, and reported to the current run.

    Raises
    ------
    OutputError
        The file cannot be written into the folder; `target` is an input, another output of this
        run, or not a file that can be replaced; or it has come to exist in the meantime.
    """
    with _os_errors_as_output_errors(target):
        goal = _resolved(target)
        there = _replaceable(target, goal) is not None
        _warn(target, leftovers.remove(goal.parent, goal.name))
    temporary = Temporary(goal)
    try:
        with _os_errors_as_output_errors(target):
            # Whoever may not read the old file must not read the new one while it is being written.
            temporary.make(_OWN if there else 0o666)
            rights = stat.S_IMODE(os.fstat(temporary.descriptor).st_mode)
            if rights & _OWN != _OWN:  # a umask that keeps the owner out
                temporary.path.chmod(rights | _OWN)
        yield temporary.path
        if not temporary.is_ours:
            raise OutputError(f"{target} is written by the process that began it")
        with _os_errors_as_output_errors(target):
            _finish(temporary, rights, target, goal, overwrite, synced)
    finally:
        temporary.close()


def adopt(files: Iterable[Path], folder: Path, overwrite: bool) -> None:
    """Move complete files, which nobody else writes, into a folder of the same file system.

    A file that is replaced passes on its permissions; errors, too, are those of `replacing`.
    """
    for file in files:
        target = folder / file.name
        with _os_errors_as_output_errors(target):
            goal = _resolved(target)
            old = _replaceable(target, goal)
            with file.open("rb") as opened:
                what = os.fstat(opened.fileno())
                renaming.set_rights(opened.fileno(), file, stat.S_IMODE(what.st_mode), old)
            _announce(goal, file.stat())
            renaming.rename(file, goal, overwrite)
            protection.current().outputs[what.st_dev, what.st_ino] = str(target)
    renaming.sync_folder(folder)


def sweep(folder: Path) -> None:
    """Remove what killed runs left of any output in a folder, and report it to the current run."""
    _warn(folder, leftovers.remove(Path(os.path.realpath(folder))))


def _warn(output: Path, notice: str | None) -> None:
    warn = protection.current().warn
    if notice is not None and warn is not None:
        warn(str(output), notice)


def _announce(goal: Path, what: os.stat_result) -> None:
    """Tell the current run, if it asked for that, that a complete file is about to get its name."""
    naming = protection.current().naming
    if naming is not None:
        naming(goal, protection.Mark.of(what))


def withdraw(goal: Path, mark: protection.Mark) -> None:
    """Remove a file that was about to get its name, if it has got it; another one stays."""
    with suppress(OSError):
        if protection.Mark.of(goal.lstat()) == mark:
            goal.unlink()


def _finish(
    temporary: Temporary, rights: int, target: Path, goal: Path, overwrite: bool, synced: bool
) -> None:
    """Give a complete file its permissions and its name; `synced`: both on the disk."""
    if not temporary.is_there():
        raise OutputError(f"{target} could not be written: {temporary.path} has been removed")
    old = _replaceable(target, goal)
    renaming.set_rights(temporary.descriptor, temporary.path, rights, old)
    try:
        if synced:
            os.fsync(temporary.descriptor)  # some file systems report a full disk only now
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    what = os.fstat(temporary.descriptor)
    if os.name == "nt":  # which renames no open file
        temporary.release()
    _announce(goal, what)
    renaming.rename(temporary.path, goal, overwrite)
    protection.current().outputs[what.st_dev, what.st_ino] = str(target)
    if synced:
        renaming.sync_folder(goal.parent)


def _resolved(target: Path) -> Path:
    """Return the absolute path behind all links (OSError: there is a loop, or none has a name)."""
    goal = Path(os.path.realpath(target))
    if goal.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if target.exists() and not os.path.lexists(goal):  # a link of /proc, as /dev/stdout
        raise OSError(errno.ENXIO, "not a file that can be replaced")
    return goal


def _status(goal: Path) -> os.stat_result | None:
    """Return what is at a path, links not followed; None: nothing."""
    try:
        return goal.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _replaceable(target: Path, goal: Path) -> os.stat_result | None:
    """Return what is at a path; None: nothing. OutputError: it must not be replaced."""
    found = _status(goal)
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise OutputError(_NOT_REPLACEABLE.format(target), advice="name another")
    if (reason := protection.refusal(goal)) is not None:
        raise OutputError(reason, advice="choose another output")
    return found


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


@contextmanager
def _os_errors_as_output_errors(target: Path) -> Iterator[None]:
    """Raise an OSError of the block as an OutputError about `target`."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{target} could not be written: {_reason(error)}") from error
