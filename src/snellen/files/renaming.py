"""Gives a complete file its permissions and its name, and waits for the folder's disk."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from snellen.files.existing import AppearedError

_RIGHTS = 0o777
"""Permissions that pass from a file to the one that replaces it."""


def set_rights(descriptor: int, path: Path, rights: int, old: os.stat_result | None) -> None:
    """Set the permissions; where an old file is replaced, its own, with its owner and group."""
    new = os.fstat(descriptor)
    if old is not None:
        rights = stat.S_IMODE(old.st_mode) & _RIGHTS
        if hasattr(os, "fchown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            for user in (old.st_uid, -1):
                with suppress(OSError):
                    os.fchown(descriptor, user, old.st_gid)
                    break
            if os.fstat(descriptor).st_gid != old.st_gid:
                # Another group: it may do what all others may.
                rights = rights & ~0o070 | (rights & 0o007) << 3
    if rights != stat.S_IMODE(new.st_mode):
        with suppress(OSError):  # where a file system has none; the file is more private then
            path.chmod(rights)


def rename(temporary: Path, target: Path, overwrite: bool) -> None:
    """Give the file its name; without `overwrite` only if the name is free, in one atomic step."""
    if overwrite:
        temporary.replace(target)
        return
    exists = AppearedError(f"{target} has come to exist meanwhile", advice="it stays as it is")
    try:
        os.link(temporary, target)
        temporary.unlink()
    except FileExistsError:
        raise exists from None
    except OSError:  # The file system has no hard links.
        if os.path.lexists(target):
            raise exists from None
        temporary.replace(target)


def sync_folder(folder: Path) -> None:
    """Wait until a rename is on the disk; the file is whole either way."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
