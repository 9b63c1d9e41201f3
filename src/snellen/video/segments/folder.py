"""The folder of a film's segments: which files in it are ours, and that nobody else's are."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from snellen.caches import OTHERS
from snellen.errors import InputError
from snellen.video.segments.values import NOTES

MANIFEST, LOCK, PACKETS, RECORD = "manifest.json", ".lock", ".packets", ".record"
"""Names of files, and suffixes of those of a segment."""


def make(folder: Path) -> None:
    """Make the folder, unless it is there, as the user's alone, whatever the umask."""
    folder.mkdir(0o700, exist_ok=True)


def remove(folder: Path) -> None:
    """Remove all that is ours, the manifest and the lock last: `tidy` goes on by them."""
    with suppress(OSError):
        names = filter(_is_ours, os.listdir(folder))  # noqa: PTH208
        for name in sorted(names, key=lambda one: (one == LOCK, one == MANIFEST)):
            (folder / name).unlink(missing_ok=True)
        folder.rmdir()


def check_ours(folder: Path) -> None:
    """Refuse (InputError) what is no folder of this user's, or has files that are none of ours.

    Somebody else could exchange segments.
    """
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
        raise InputError(
            f"{folder} is where segments of the result are kept, but it is no folder of yours",
            parameter="target",
            advice="move it away, or name another output",
        )
    if os.name != "nt" and found.st_mode & OTHERS:
        raise InputError(
            f"{folder} is where segments of the result are kept, but can be written by other users",
            parameter="target",
            advice="make sure that they are yours and take that right away by chmod go-w, or name "
            "another output",
        )
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        with suppress(FileNotFoundError):  # another run has just renamed it
            if _is_ours(name) and is_regular(folder / name):
                continue
            raise InputError(
                f"{folder} is where segments of the result are kept, but holds {name}",
                parameter="target",
                advice="move that away, or name another output",
            )


def _is_ours(name: str) -> bool:
    hidden = name.startswith(".") and ".snellen-" in name  # one that was begun
    return name in (MANIFEST, LOCK) or hidden or name.endswith((PACKETS, RECORD, NOTES))


def is_regular(file: Path) -> bool:
    """Return whether this is a file, and no link, pipe or folder (OSError: nothing is there)."""
    return stat.S_ISREG(file.lstat().st_mode)
