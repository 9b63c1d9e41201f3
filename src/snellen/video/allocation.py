"""Limits what FFmpeg allocates at once: a table in a file may claim any number of entries."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import av

_DEFAULT = (1 << 31) - 1
"""FFmpeg's own limit in bytes."""

_lock = threading.Lock()
_users = 0  # blocks of `largest` that are running


@contextmanager
def largest(size: int) -> Iterator[None]:
    """Let FFmpeg allocate at most `size` bytes at once while the block runs.

    The limit is FFmpeg's global, so the first of several concurrent blocks sets it and the last one
    gives it its default again. Nothing happens where FFmpeg's library is not found.
    """
    global _users
    library = _libavutil()
    if library is None:
        yield
        return
    with _lock:
        _users += 1
        library.av_max_alloc(ctypes.c_size_t(size))
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                library.av_max_alloc(ctypes.c_size_t(_DEFAULT))


@cache
def _libavutil() -> ctypes.CDLL | None:
    """Return the library inside PyAV's wheel, which is loaded already."""
    package = Path(av.__file__).parent
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        for file in folder.glob("*avutil*"):
            with suppress(OSError, AttributeError):
                library = ctypes.CDLL(str(file))
                library.av_max_alloc.restype = None
                return library
    return None
