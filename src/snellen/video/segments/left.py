"""Long films that a worker leaves to the process that started it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CUT, LONG = "cut", "long"
"""Which films are left: those that are cut into segments, or all long ones."""

_which: ContextVar[str | None] = ContextVar("snellen_left", default=None)


class LeftError(Exception):
    """A film is left; nothing was written."""


@contextmanager
def leaving(which: str) -> Iterator[None]:
    """Within the block, long films are not made: they raise LeftError before work starts.

    Parameters
    ----------
    which : str
        CUT or LONG.
    """
    token = _which.set(which)
    try:
        yield
    finally:
        _which.reset(token)


def check_left(is_cut: bool, is_long: bool) -> None:
    """Raise LeftError if a film is one of those that are left."""
    which = _which.get()
    if (is_cut and which is not None) or (is_long and which == LONG):
        raise LeftError
