"""Limits what FFmpeg allocates at once: a table in a file may claim any number of entries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from snellen import process
from snellen.video.libavutil import libavutil

_DEFAULT = (1 << 31) - 1
"""FFmpeg's own limit in bytes."""

_lock = process.lock()
_users = 0  # blocks of `largest` that are running


@contextmanager
def largest(size: int) -> Iterator[None]:
    """Let FFmpeg allocate at most `size` bytes at once while the block runs.

    The limit is FFmpeg's global, so the first of several concurrent blocks sets it and the last one
    gives it its default again. Nothing happens where FFmpeg's library is not found.
    """
    global _users
    library = libavutil()
    if library is None:
        yield
        return
    with _lock:
        _users += 1
        library.av_max_alloc(size)
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                library.av_max_alloc(_DEFAULT)
