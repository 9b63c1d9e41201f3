"""snellen.toml: where it is, and what it holds.

It is read from the user's configuration folder or by --config, never from the current folder or an
input's: whoever sends a film could send a filter chain with it, and a filter chain can open files.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from snellen.errors import InputError, SnellenError

VARIABLE = "SNELLEN_CONFIG"
"""Environment variable that names the folder of the file."""
NAME = "snellen.toml"
LARGEST = 1 << 20  # bytes of the file
Table = Mapping[str, Any]


class Config(NamedTuple):
    """A file of defaults and recipes."""

    path: Path
    table: Table


def place() -> Path | None:
    """Return where the user's file is, whether it is there or not; None: the user has no folder.

    InputError: the environment variable names no absolute path; the current folder is never read.
    """
    if chosen := os.environ.get(VARIABLE):
        if not os.path.isabs(chosen):  # noqa: PTH117
            raise InputError(f"{VARIABLE}={chosen}: expected the absolute path of a folder")
        return Path(chosen) / NAME
    if sys.platform == "win32":
        folder = os.environ.get("APPDATA", "")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")  # noqa: PTH111  never raises
    else:
        folder = os.environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(folder):  # noqa: PTH117  as the XDG specification wants
            folder = os.path.expanduser("~/.config")  # noqa: PTH111  never raises
    path = Path(folder)
    return path / "snellen" / NAME if path.is_absolute() else None


def config_of(file: str | None) -> Config | None:
    """Return the file that --config names, or else the user's; None: that is not there."""
    if file is None:
        path = place()
        if path is None or not os.path.lexists(path):
            return None
        _trusted(path)
    else:
        from snellen.files.remote import check_local, typed

        check_local(path := typed(file))
    import tomllib

    from snellen.files import opening

    try:
        return Config(path, tomllib.loads(opening.contents(path, LARGEST).decode()))
    except SnellenError as error:
        raise InputError(f"{path}: {error}" if str(path) not in str(error) else error) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8; {error.reason} at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no TOML: {error}") from error


def _trusted(path: Path) -> None:
    """Check that no other user can have written the user's file."""
    if sys.platform == "win32":  # the folders of users are private there
        return
    for one in (path, path.parent):
        try:
            found = one.stat()
        except OSError as error:
            raise InputError(f"{one}: {error.strerror}") from error
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
            raise InputError(
                f"{one} belongs to another user, or can be written by all",
                advice=f"--config {path} reads it all the same; --no-config leaves it out",
            )
