"""FFmpeg's libavutil, for what PyAV does not offer."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path

import av


@cache
def libavutil() -> ctypes.CDLL | None:
    """Return the library inside PyAV's wheel, which is loaded already; None: it was not found."""
    package = Path(av.__file__).parent
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        for file in folder.glob("*avutil*"):
            with suppress(OSError, AttributeError):
                library = ctypes.CDLL(str(file))
                library.av_log_get_level.restype = ctypes.c_int
                library.av_log_set_callback.argtypes = [ctypes.c_void_p]
                library.av_log_set_callback.restype = None
                library.av_max_alloc.argtypes = [ctypes.c_size_t]
                library.av_max_alloc.restype = None
                return library
    return None
