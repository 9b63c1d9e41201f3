"""Long films that a worker defers: the process that started it makes them after all other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

CUT, LONG = "cut", "long"
"""Films are deferred that are cut into segments, or all long ones."""

_which: ContextVar[str | None] = ContextVar("snellen_deferred", default=None)


class DeferredError(Exception):
    """A film is deferred; nothing was written."""


@contextmanager
def deferring(which: str) -> Iterator[None]:
    """Within the block, long films are not made: they raise DeferredError before work starts.

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


def check_deferred(is_cut: bool, is_long: bool) -> None:
    """Raise DeferredError if a film is one of those that are deferred."""
    which = _which.get()
    if (is_cut and which is not None) or (is_long and which == LONG):
        raise DeferredError
