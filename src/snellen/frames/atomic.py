"""Where a result goes: a file that appears only when it is whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen.errors import InputError, OutputError

_FIXED = "{} is not a file that can be replaced; name another"


def check(target: Path, source: Path | None, overwrite: bool) -> None:
    """Refuse a target that cannot or must not be written, before any work is done.

    Raises
    ------
    InputError
        Its folder does not exist, it is a folder, it is the source itself (also by a link), it is a
        pipe or a device, or it exists and `overwrite` is False; or the system does not even let us
        look.
    """
    try:
        _check(target, source, overwrite)
    except OSError as error:
        raise InputError(f"{target}: {error.strerror or error}") from error


def _check(target: Path, source: Path | None, overwrite: bool) -> None:
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist; make it first")
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file in it")
    if target.exists():
        if source is not None and source.exists() and target.samefile(source):
            raise InputError(f"{target} is the input itself; choose another output")
        if not _is_replaceable(target):
            raise InputError(_FIXED.format(target))
        if not overwrite:
            raise InputError(f"{target} exists; choose another name or give --overwrite")


def probe(folder: Path) -> None:
    """Refuse a folder that takes no file, by making one and removing it (InputError)."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{folder} takes no file: {error.strerror or error}") from error


def _is_replaceable(target: Path) -> bool:
    """Return whether a new file may take its place: a pipe or a device would be gone."""
    return target.is_file() or not target.exists()


@contextmanager
def whole(target: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a hidden temporary path in the target's folder; it becomes `target` at the end.

    On any error, or if the target has come to exist meanwhile without `overwrite`, the temporary
    file is removed and the target is left as it was. A link is followed: what it names is replaced,
    and keeps its permissions.

    Raises
    ------
    OutputError
        The folder does not take the file, the target is no file that can be replaced, or it has
        come to exist meanwhile.
    """
    with _told(target):
        target = target.resolve()
        if not _is_replaceable(target):
            raise OutputError(_FIXED.format(target))
        # Names end at 255 bytes: the stem may fill them, but not the temporary's.
        handle, name = tempfile.mkstemp(target.suffix, f".{target.stem[:32]}-", target.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with _told(target):
            temporary.chmod(target.stat().st_mode if target.exists() else 0o666 & ~_umask())
            _appear(temporary, target, overwrite)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _appear(temporary: Path, target: Path, overwrite: bool) -> None:
    """Give the file its name; without `overwrite` only where there is none, in one step."""
    if overwrite:
        temporary.replace(target)
        return
    taken = OutputError(f"{target} has come to exist meanwhile; it is left as it is")
    try:
        os.link(temporary, target)
        temporary.unlink()
    except FileExistsError:
        raise taken from None
    except OSError:  # a file system without hard links
        if target.exists():
            raise taken from None
        temporary.replace(target)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Turn what the disk refuses into our own error."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{target} could not be written: {error.strerror or error}") from error


def _umask() -> int:
    """Return the process's umask: mkstemp makes files that only the owner may read."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
