"""Atomic writing: an output file gets its name only when it is complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.errors import InputError, OutputError

_NOT_REPLACEABLE = "{} is not a file that can be replaced"


def check_target(target: Path, source: Path | None, overwrite: bool) -> None:
    """Refuse an output file that cannot or must not be written, before any work is done.

    Parameters
    ----------
    target : Path
        The output file.
    source : Path or None
        The input file, which must not be overwritten. None: the input is no file.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        The folder of `target` does not exist; `target` is a folder, the input itself (also by a
        link), a pipe or a device; it exists and `overwrite` is False; or the system denies access
        to it.
    """
    try:
        _check_target(target, source, overwrite)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}") from error


def _check_target(target: Path, source: Path | None, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise InputError(
            f"{target}: the folder {target.parent} does not exist", advice="make it first"
        )
    if target.is_dir():
        raise InputError(f"{target} is a folder", advice="name a file in it")
    if target.exists():
        if source is not None and source.exists() and target.samefile(source):
            raise InputError(f"{target} is the input itself", advice="choose another output")
        if not _is_replaceable(target):
            raise InputError(_NOT_REPLACEABLE.format(target), advice="name another")
        if not overwrite:
            raise InputError(
                f"{target} exists",
                parameter="overwrite",
                advice="choose another name or give `overwrite`",
            )


def check_folder(folder: Path) -> None:
    """Refuse a folder in which no file can be made: make one, and remove it.

    Raises
    ------
    InputError
        The folder does not exist, is read-only or full.
    """
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder} takes no file: {error.strerror or error}") from error


def _is_replaceable(target: Path) -> bool:
    """Return whether a rename may replace `target`: it would destroy a pipe or a device."""
    return target.is_file() or not target.exists()


@contextmanager
def replacing(target: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a hidden temporary file in the target's folder; rename it to `target` at the end.

    After an error, or if `target` has come to exist in the meantime without `overwrite`, the
    temporary file is removed and `target` stays as it was. A symbolic link is followed: the file
    that it names is replaced, and the new file gets the old one's permissions.

    Parameters
    ----------
    target : Path
        The output file.
    overwrite : bool
        Whether an existing file may be replaced.

    Yields
    ------
    Path
        The temporary file: empty, with the suffix of `target`.

    Raises
    ------
    OutputError
        The file cannot be written into the folder, `target` is not a file that can be replaced, or
        it has come to exist in the meantime.
    """
    with _os_errors_as_output_errors(target):
        target = target.resolve()
        if not _is_replaceable(target):
            raise OutputError(_NOT_REPLACEABLE.format(target), advice="name another")
        # A file name has at most 255 bytes. The target's stem may use them all, so it is shortened.
        handle, name = tempfile.mkstemp(target.suffix, f".{target.stem[:32]}-", target.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with _os_errors_as_output_errors(target):
            temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
            _rename(temporary, target, overwrite)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _rename(temporary: Path, target: Path, overwrite: bool) -> None:
    """Give the file its name; without `overwrite` only if the name is free, in one atomic step."""
    if overwrite:
        temporary.replace(target)
        return
    exists = OutputError(f"{target} has come to exist meanwhile", advice="it stays as it is")
    try:
        os.link(temporary, target)
        temporary.unlink()
    except FileExistsError:
        raise exists from None
    except OSError:  # The file system has no hard links.
        if target.exists():
            raise exists from None
        temporary.replace(target)


@contextmanager
def _os_errors_as_output_errors(target: Path) -> Iterator[None]:
    """Raise an OSError of the block as an OutputError about `target`."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{target} could not be written: {error.strerror or error}") from error


def _umask() -> int:
    """Return the umask of the process. mkstemp ignores it: its files are private to the owner."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
