"""Compiled code on disk: the folders that it is kept in, and who may have written them.

Whoever can write a file of compiled code can run code as its reader. So files are read only where
nobody but the user and root can have written them: regular files of the user or of root, which
nobody else may write, in folders for which, up to the root of the file system, the same holds. Code
is looked for in all folders of `folders` in turn, and written to the first one that takes it:
a folder that was filled by an administrator may be read-only and serve many users.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from snellen import unfinished

LARGEST = 64 << 20  # bytes of a file; cubins have less than 2 MB, compiled loops less than 1 MB
OTHERS = stat.S_IWGRP | stat.S_IWOTH
SUFFIX = ".bin"
VARIABLE = "SNELLEN_CACHE"
ABANDONED = 3600  # seconds after which an unfinished file belongs to a process that was killed

_watchers: list[Callable[[str], object]] = []
_completing = 0
"""How many blocks of `completed` there are."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that compiled code may be kept in."""

    path: Path
    """Without symbolic links; it need not exist."""
    private: bool
    """It is made for the user alone; else others may read it."""
    temporary: bool = False
    """It is in the folder for temporary files."""


def folders() -> Iterator[Folder]:
    """Yield the folders in the order in which they are searched.

    The one that $SNELLEN_CACHE names; snellen in the user's cache folder ($XDG_CACHE_HOME or
    ~/.cache, on Windows %LOCALAPPDATA%); snellen-UID in the folder for temporary files.
    """
    if chosen := os.environ.get(VARIABLE):
        yield Folder(_real(chosen), private=False)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        yield Folder(_real(local) / "snellen", private=True)
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111  never raises
        if os.path.isabs(home):  # noqa: PTH117  "~" stays where the user has no home
            yield Folder(_real(home) / "snellen", private=True)
    with suppress(OSError):  # no folder for temporary files can be written
        name = "snellen" if sys.platform == "win32" else f"snellen-{os.geteuid()}"
        yield Folder(_real(tempfile.gettempdir()) / name, private=True, temporary=True)


def read(kind: str, key: str) -> bytes | None:
    """Return what was written of a kind ("kernels", "loops", a subfolder) under a key, or None.

    None: it is missing, damaged, or others can have written it.
    """
    for folder in folders():
        path = folder.path / kind
        if not distrust(path):
            with suppress(OSError):
                found = _content(path / (key + SUFFIX))
                if found is not None:
                    if _completing and _comes_later(folder):
                        write(kind, key, found)
                    return found
    return None


@contextmanager
def completed() -> Iterator[None]:
    """Within the block, code that is read is kept in the folder for new code, too, if not yet.

    What the user's own folder has would otherwise be missing where others read.
    """
    global _completing
    _completing += 1
    try:
        yield
    finally:
        _completing -= 1


def _comes_later(folder: Folder) -> bool:
    """Return whether a folder is searched after the one that new code is written to."""
    new, order = place(), list(folders())
    return new is not None and order.index(new) < order.index(folder)


def write(kind: str, key: str, content: bytes) -> None:
    """Keep content under a key, in the first folder that takes it; in none where none does.

    The file is complete or not there. A disk that is full is no error.
    """
    for folder in folders():
        path = folder.path / kind
        with suppress(OSError):
            _make(path, 0o700 if folder.private else 0o755)
            if not distrust(path):
                _sweep(path)
                _write(path, key, content)
                return


def distrust(path: Path) -> str:
    """Return why others than the user and root can have written what is in a folder; "": nobody.

    `path` is absolute, without symbolic links.
    """
    if sys.platform == "win32":  # the folders of users are private there
        return ""
    for folder in (path, *path.parents):
        try:
            found = folder.lstat()
        except OSError as error:
            return f"{folder}: {error.strerror}"
        if not stat.S_ISDIR(found.st_mode):
            return f"{folder} is no folder"
        if found.st_uid not in (0, os.geteuid()):
            return f"{folder} belongs to another user"
        # Of a folder with the sticky bit, as /tmp, others cannot rename what is not theirs; but
        # they could put files of their own into the innermost one.
        if found.st_mode & OTHERS and (folder == path or not found.st_mode & stat.S_ISVTX):
            return f"{folder} can be written by other users"
    return ""


@contextmanager
def watched(begins: Callable[[str], object]) -> Iterator[None]:
    """Within the block, call a function when code is about to be compiled, in any thread.

    It is called with the kind of code, "kernels" or "loops", in the thread that compiles it.
    """
    _watchers.append(begins)
    try:
        yield
    finally:
        _watchers.remove(begins)


def compiling(kind: str) -> None:
    """Tell those who watch that code of a kind is about to be compiled."""
    for begins in list(_watchers):
        begins(kind)


def place() -> Folder | None:
    """Return the folder that new code is written to; None: none takes it."""
    for folder in folders():
        with suppress(OSError):
            _make(folder.path, 0o700 if folder.private else 0o755)
            if not distrust(folder.path) and os.access(folder.path, os.W_OK | os.X_OK):
                return folder
    return None


def states() -> dict[str, str]:
    """Return each folder with what it serves for, for `snellen doctor`."""
    found, written = {}, False
    for folder in folders():
        with suppress(OSError):
            _make(folder.path, 0o700 if folder.private else 0o755)
        if not folder.path.is_dir():
            state = "not there, and it cannot be made"
        elif reason := distrust(folder.path):
            state = f"not used: {reason}"
        elif not os.access(folder.path, os.W_OK | os.X_OK):
            state = "read"
        else:
            state, written = "read" if written else "read and written", True
        found[str(folder.path)] = state
    return found


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _content(path: Path) -> bytes | None:
    """Return the content of a file of `_write`; None where it is damaged or not to be trusted."""
    flags = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
    handle = os.open(path, os.O_RDONLY | flags)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return None
        if sys.platform != "win32" and (
            found.st_uid not in (0, os.geteuid()) or found.st_mode & OTHERS
        ):
            return None
        whole = file.read(LARGEST)
    digest, content = whole[:32], whole[32:]
    return content if hashlib.sha256(content).digest() == digest else None


def _make(path: Path, mode: int) -> None:
    """Make a folder and those above it, which no other user may write, whatever the umask."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        with suppress(FileExistsError):
            folder.mkdir(mode)


def _sweep(path: Path) -> None:
    """Remove what killed processes left: a file takes milliseconds to write, not an hour."""
    for left in path.glob(".*.part"):
        with suppress(OSError):
            if left.lstat().st_mtime < time.time() - ABANDONED:
                left.unlink()


def _write(path: Path, key: str, content: bytes) -> None:
    temporary = path / f".{key[:16]}-{uuid4().hex}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    unfinished.note(str(temporary), temporary.unlink)
    try:
        handle = os.open(temporary, flags, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        temporary.replace(path / (key + SUFFIX))
    finally:
        unfinished.remove(str(temporary))
