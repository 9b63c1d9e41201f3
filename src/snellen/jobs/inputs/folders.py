"""Folders of outputs: made where they are missing, and removed where they stay empty."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from snellen import unfinished
from snellen.errors import InputError, OutputError
from snellen.files import opening

_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO)


@contextmanager
def made(outputs: Iterable[Path]) -> Iterator[None]:
    """Make the folders that outputs are to come into, with those above them.

    At the end of the block those of them that are empty are removed: nothing is left of a run that
    wrote nothing. InputError: something that is no folder is in the way, a name that no folder can
    have, or an address. OutputError: the system does not let a folder be made.
    """
    new: list[Path] = []
    try:
        for folder in dict.fromkeys(output.parent for output in outputs):
            _make(folder, new)
        yield
    finally:
        for folder in reversed(new):  # rmdir removes no folder that something is in
            unfinished.remove(str(folder))


def _make(folder: Path, new: list[Path]) -> None:
    """Make a folder; add it and those that were made above it to a list."""
    if opening.is_address(folder):
        raise opening.missing(folder)
    missing = []
    for one in (folder, *folder.parents):
        if os.path.lexists(one):
            break
        missing.append(one)
    for one in reversed(missing):
        place = one.absolute()
        unfinished.note(str(place), place.rmdir)
        new.append(place)
        try:
            one.mkdir()
        except FileExistsError:  # another process was faster
            unfinished.forget(str(place))
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", None)
            kind = OutputError if number in _DENIED else InputError
            reason = getattr(error, "strerror", None) or error
            raise kind(f"the folder {one} cannot be made: {reason}") from error
