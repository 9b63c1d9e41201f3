"""Files that appear together: a hidden folder holds them until all of them are written."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO

from snellen import unfinished
from snellen.errors import InputError
from snellen.files import atomic, protection
from snellen.files.existing import exists
from snellen.files.numbering import numbered, there

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None

_LOCK, _NEW = ".lock", ".new"
"""Names of the file whose lock its owner holds, and of the same until it is locked."""
_FRESH = 10.0
"""Seconds after which a folder without a locked file is a leftover: it is locked at once."""


def check(target: Path, overwrite: bool) -> None:
    """Refuse (InputError) files that cannot be written, as `atomic.check_target` does of one."""
    atomic.check_target(target.parent / numbered(target.name, 1), None, overwrite)
    for old in there(target):
        if not overwrite:
            raise exists(old)
        reason = protection.refusal(old)
        if reason is not None:
            raise InputError(reason, advice="choose another output")


@contextmanager
def staged(target: Path, overwrite: bool) -> Iterator[Path]:
    """Yield a hidden folder; at the end its files get their names beside it.

    After an error it is removed, with all that is in it. What killed runs left is removed first.
    """
    _sweep(target)
    with (
        unfinished.folder(target.parent, _prefix(target)) as folder,
        (folder / (_NEW if fcntl else _LOCK)).open("wb") as lock,
    ):
        _locked(lock)
        if fcntl is not None:
            (folder / _NEW).rename(folder / _LOCK)
        yield folder
        made = sorted(there(folder / target.name), key=lambda one: (len(one.name), one.name))
        atomic.adopt(made, target.parent, overwrite)


def _prefix(target: Path) -> str:
    return f".{target.name.replace('%', '')}.snellen-"


def _locked(lock: IO[bytes]) -> bool:
    """Lock a file as long as it is open; return whether nobody else had."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_left(folder: Path) -> bool:
    """Return whether nobody holds a folder's lock any more."""
    lock = folder / _LOCK
    if folder.is_symlink() or not folder.is_dir():
        return False
    if not lock.is_file():
        stale = time.time() - folder.stat().st_mtime > _FRESH
        return stale and {one.name for one in folder.iterdir()} <= {_NEW}
    if fcntl is None:
        try:
            lock.unlink()  # which Windows refuses while somebody has it open
        except OSError:
            return False
        return True
    with lock.open("rb") as file:
        return _locked(file)


def _sweep(target: Path) -> None:
    """Remove the folders of killed runs: nobody holds their locks."""
    with suppress(OSError):
        for name in os.listdir(target.parent):  # noqa: PTH208  as it is, whatever its bytes
            folder = target.parent / name
            if name.startswith(_prefix(target)) and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)
                warn = protection.current().warn
                if warn is not None:
                    warn(str(target), f"removed {folder}, which a run that was killed had left")
