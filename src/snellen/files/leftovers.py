"""Hidden temporary files: made and locked by the run that writes them, removed by the next one.

The owner holds a lock (flock) on its file as long as it lives; the system releases the lock of a
process that was killed. So a file whose lock is free is a leftover. A file is left as it is, and
named, where locks prove nothing: the file system has none, or it may be shared by several machines
and the file is of another one, or of this machine before it was started again.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from snellen import unfinished
from snellen.files import protection

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows: a file that is open cannot be removed, which is as good as a lock
    fcntl = None

_NAME = re.compile(r"\..*\.snellen-([0-9a-f]{12})-([0-9a-f]{8})-[0-9a-f]{16}(?:\.[^.]*)?", re.S)
"""A temporary file's name tells its output, its machine, and a random number."""
_STEM = 16
"""Characters of the output's name that are kept, so that people recognise it."""
_SUFFIX = 16
"""Bytes of a suffix that is kept."""
_LOCAL = frozenset(
    {"bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs", "ntfs3",
     "overlay", "ramfs", "reiserfs", "tmpfs", "vfat", "xfs", "zfs"}
)  # fmt: skip
"""File systems of Linux that belong to one machine."""
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
TRIES = 100
FRESH, PATIENCE = 1.0, 0.05
"""Seconds in which what has no lock may be just made, and how long is waited then."""
_LISTED = 10
"""Names in one message."""


class Temporary:
    """A hidden file beside an output, whose links are all followed; locked as long as it is open.

    Its descriptor is −1 before `make`.
    """

    def __init__(self, target: Path) -> None:
        self.path, self._target = target, target
        self.descriptor, self._folder, self._process = -1, -1, os.getpid()

    def make(self, mode: int) -> None:
        """Make the file, empty; whatever interrupts this, `close` removes it.

        From the permissions `mode` the system takes the umask's away. OSError: the folder takes no
        file.
        """
        for _ in range(TRIES):
            self.path = self._target.parent / _new_name(self._target)
            unfinished.note(str(self.path), self._remove)
            try:
                self.descriptor = os.open(self.path, _FLAGS | os.O_CREAT | os.O_EXCL, mode)
            except FileExistsError:  # the same random number
                unfinished.forget(str(self.path))
                continue
            self._folder = _opened(self._target.parent)
            # Another run may have taken the file for a leftover before it was locked.
            if lock(self.descriptor) is not False and self.is_there():
                return
            self.close()
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    @property
    def is_ours(self) -> bool:
        """Return whether this process has made the file; a forked child must not touch it."""
        return os.getpid() == self._process

    def is_there(self) -> bool:
        """Return whether the path still leads to this file."""
        return is_same(self.descriptor, self.path)

    def rename(self, rename: Callable[[Path], object]) -> None:
        """Give the file its name, by a function of its path."""
        if os.name == "nt":  # which renames no open file
            self.release()
        rename(self.path)

    def close(self) -> None:
        """Remove the file, unless it has got its name; end its lock; any number of times.

        In a forked child the file stays: it is the parent's.
        """
        if os.name == "nt":  # which removes no open file
            self.release()
        unfinished.remove(str(self.path))
        self.release()

    def _remove(self) -> None:
        """Remove the file, if it is still there, also where its folder was moved to."""
        name, folder = (self.path, None) if self._folder < 0 else (self.path.name, self._folder)
        if self.descriptor >= 0:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if not os.path.samestat(os.fstat(self.descriptor), found):
                return  # another one has taken its place
        os.unlink(name, dir_fd=folder)

    def release(self) -> None:
        """Close the file, which ends its lock; any number of times."""
        descriptors = self.descriptor, self._folder
        self.descriptor = self._folder = -1
        for descriptor in descriptors:
            if descriptor >= 0:
                with suppress(OSError):
                    os.close(descriptor)


def _opened(folder: Path) -> int:
    """Return a descriptor of a folder; -1 where the system gives none."""
    if os.unlink not in os.supports_dir_fd or not hasattr(os, "O_DIRECTORY"):
        return -1
    try:  # O_PATH of Linux needs no right to read
        return os.open(folder, os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY))
    except OSError:
        return -1


def is_same(descriptor: int, path: Path) -> bool:
    """Return whether a path still leads to what is open."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def is_hidden(name: str) -> bool:
    """Return whether a file's name is that of a temporary file."""
    return _NAME.fullmatch(name) is not None


def remove(folder: Path, output: str | None = None) -> str | None:
    """Remove what killed runs left of outputs; return a sentence about it, if there is any.

    All links of the folder are followed; without `output`, a name, it is all that the folder holds.
    """
    run = protection.current()
    if folder not in run.listings:
        run.listings[folder] = _listing(folder)
    which = None if output is None else _which(output)
    removed: list[str] = []
    kept: list[str] = []
    for name in run.listings[folder]:
        found = _NAME.fullmatch(name)
        if found is None or which not in (None, found[1]):
            continue
        outcome = _remove(folder / name, found[2] == machine())
        if outcome is not None:
            (removed if outcome else kept).append(name)
    return notice(removed, kept)


def notice(removed: list[str], kept: list[str]) -> str | None:
    """Return a sentence about leftovers that were removed, and others that were not."""
    texts = []
    if removed:
        texts.append(f"removed what a killed run had left: {_names(removed)}")
    if kept:
        texts.append(
            f"a killed run, or one on another machine that still writes, has left {_names(kept)}: "
            "locks prove nothing here, so it stays"
        )
    return "; ".join(texts) or None


def _listing(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if is_hidden(entry.name))
    except OSError:  # a folder that may be written to, but not read
        return []


def _remove(path: Path, of_this_machine: bool) -> bool | None:
    """Remove a leftover; return whether that was done, or None where it is none."""
    if unfinished.is_noted(str(path)):
        return None
    try:
        found = path.lstat()
        owner = os.geteuid() if hasattr(os, "geteuid") else found.st_uid
        if not stat.S_ISREG(found.st_mode) or found.st_uid != owner or protection.is_input(path):
            return None
        if found.st_size == 0 and abs(time.time() - found.st_mtime) < FRESH:
            time.sleep(PATIENCE)  # it may have been made just now, and be locked in a moment
        if fcntl is None:
            path.unlink()
            return True
        descriptor = os.open(path, _FLAGS | os.O_NONBLOCK)
    except OSError:  # gone, or not ours
        return None
    try:
        locked = lock(descriptor)
        if locked is False:
            return None  # its owner lives
        if locked is None or not (of_this_machine or is_local(path.parent)):
            return False
        if not is_same(descriptor, path):
            return None
        path.unlink()
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Lock a file; False: another process has done so; None: the file system has no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _new_name(target: Path) -> str:
    suffix = target.suffix if len(os.fsencode(target.suffix)) <= _SUFFIX else ""
    number = secrets.token_hex(8)
    return f".{target.stem[:_STEM]}.snellen-{_which(target.name)}-{machine()}-{number}{suffix}"


def _which(name: str) -> str:
    return sha256(os.fsencode(name)).hexdigest()[:12]


@cache
def machine() -> str:
    """Return a number of this machine since its start; containers on one kernel share it."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        import platform

        name = platform.node().encode(errors="replace")
    return sha256(name).hexdigest()[:8]


def is_local(folder: Path) -> bool:
    """Return whether no other machine can write to a folder; False where that is unknown."""
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return False
    here, best, kind = os.fsencode(os.path.realpath(folder)) + b"/", -1, ""
    for line in lines:
        before, _, after = line.partition(b" - ")
        point = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8) & 0xFF]), before.split()[4])
        inside = here.startswith(point.rstrip(b"/") + b"/")
        if inside and len(point) >= best:  # of two at one place the later one is on top
            best, kind = len(point), after.split()[0].decode(errors="replace")
    return kind in _LOCAL


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
