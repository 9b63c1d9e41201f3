"""Files and folders that this process has begun: none stays behind, wherever the process ends.

A name is noted before the file is made, and forgotten when there is no file of this name any more.
So all that can be there is noted at each moment, also while the system makes a file and before its
caller has got hold of it. What an interrupted clean-up has missed is removed when Python ends; the
command line calls `clear` where it ends the process without that.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

TYPE_CHECKING = False  # typing and pathlib would take as long to import as all else
if TYPE_CHECKING:
    from pathlib import Path

_noted: dict[str, Callable[[], object]] = {}
"""Absolute paths, with a function that removes what is there."""


def note(path: str, remove: Callable[[], object]) -> None:
    """Note a file or folder, by its absolute path, that is about to be made.

    `remove` removes it, any number of times; its OSErrors are ignored. It is called in a signal's
    handler too, so it takes no lock.
    """
    _noted[path] = remove


def forget(path: str) -> None:
    """Forget a path: what was begun there is complete, or not there."""
    _noted.pop(path, None)


def is_noted(path: str) -> bool:
    """Return whether this process has begun something there."""
    return path in _noted


def remove(path: str) -> None:
    """Remove what was begun at a path, if it is noted."""
    found = _noted.get(path)
    if found is not None:
        with suppress(OSError):
            found()
        forget(path)


@contextmanager
def folder(parent: Path | None = None, prefix: str = "snellen-") -> Iterator[Path]:
    """Yield a new folder for temporary files; it is removed with all that is in it.

    By default it is made where the system has its temporary files.
    """
    import secrets
    import shutil
    import tempfile
    from pathlib import Path

    where = Path(tempfile.gettempdir()) if parent is None else parent
    path = where.resolve() / f"{prefix}{secrets.token_hex(8)}"
    note(str(path), partial(shutil.rmtree, path, ignore_errors=True))
    try:
        path.mkdir(0o700)
        yield path
    finally:
        remove(str(path))


@atexit.register
def clear() -> None:
    """Remove all that was begun: the process ends."""
    for path in reversed(list(_noted)):  # files before their folders
        remove(path)


if hasattr(os, "register_at_fork"):  # what the parent has begun is the parent's
    os.register_at_fork(after_in_child=_noted.clear)
