"""Folders where the system has its temporary files: locked by their owner, removed by the next run.

Their owner holds a lock on a folder as long as it lives, as of hidden temporary files (leftovers).
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from snellen import unfinished
from snellen.files import leftovers, protection

_NAME = re.compile(r"snellen-([0-9a-f]{8})-[0-9a-f]{16}")
_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)

_swept: set[str] = set()
"""Folders in which this process has removed what others had left."""


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a new folder for temporary files; it is removed with all that is in it.

    What killed runs have left beside it is removed first, once in each process, and reported to the
    current run.
    """
    sweep()
    process = os.getpid()
    for _ in range(leftovers.TRIES):
        with unfinished.folder(prefix=f"snellen-{leftovers.machine()}-") as path:
            descriptor = _open(path)
            try:
                # Another run may have taken the folder for a leftover before it was locked.
                if descriptor is not None and leftovers.lock(descriptor) is not False:
                    if leftovers.is_same(descriptor, path):
                        yield path
                        return
                elif descriptor is None and path.is_dir():  # Windows opens no folder
                    yield path
                    return
            finally:
                if descriptor is not None:
                    if os.getpid() == process:  # a forked child must not touch it
                        shutil.rmtree(path, ignore_errors=True)  # as long as it is locked
                    os.close(descriptor)
    raise OSError("no temporary folder could be made")


def sweep() -> None:
    """Remove the folders of killed runs, if this process has not done so yet."""
    where = _place()
    if where in _swept or leftovers.fcntl is None:
        return
    _swept.add(where)
    removed, kept = list[str](), list[str]()
    with suppress(OSError):
        for name in sorted(os.listdir(where)):  # noqa: PTH208  as it is, whatever its bytes
            found = _NAME.fullmatch(name)
            if found is not None:
                outcome = _remove(Path(where, name), found[1] == leftovers.machine())
                if outcome is not None:
                    (removed if outcome else kept).append(name)
    notice, warn = leftovers.notice(removed, kept), protection.current().warn
    if notice is not None and warn is not None:
        warn(where, notice)


def _place() -> str:
    """Return where temporary files are; the module `tempfile` would make one to find that out."""
    given = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    return tempfile.tempdir or next(filter(None, given), "/tmp")


def _remove(path: Path, of_this_machine: bool) -> bool | None:
    """Remove a folder that nobody uses; return whether that was done, or None where it is none."""
    if unfinished.is_noted(str(path.resolve())):
        return None
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        if abs(time.time() - found.st_mtime) < leftovers.FRESH and not os.listdir(path):  # noqa: PTH208
            time.sleep(leftovers.PATIENCE)
    except OSError:  # another run has removed it
        return None
    descriptor = _open(path)
    if descriptor is None:
        return None
    try:
        locked = leftovers.lock(descriptor)
        if locked is False or not leftovers.is_same(descriptor, path):
            return None  # its owner lives
        if locked is None or not (of_this_machine or leftovers.is_local(path.parent)):
            return False
        shutil.rmtree(path, ignore_errors=True)
        return not path.exists()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open(path: Path) -> int | None:
    try:
        return os.open(path, _FLAGS)
    except OSError:
        return None
