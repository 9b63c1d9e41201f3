"""The memory into which FFmpeg's messages are written, and the callback that writes them."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import av
import av.logging
import numpy as np
import numpy.typing as npt

from snellen.cpu import machine
from snellen.video.logs.layout import RECORDS as RECORDS
from snellen.video.logs.layout import SLOT
from snellen.video.logs.layout import SLOTS as SLOTS


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


memory: npt.NDArray[Any] = np.zeros(SLOTS, SLOT)
"""All slots; never released, since a thread of FFmpeg may log at any time."""


@cache
def callback() -> int | None:
    """Return the address of the compiled callback; None: PyAV's libavutil was not found."""
    library = libavutil()
    if library is None:
        return None
    machine.define("snellen_av_log_format_line", _address(library.av_log_format_line2))
    machine.define("snellen_thread_ident", _address(ctypes.pythonapi.PyThread_get_thread_ident))
    machine.define("snellen_log_memory", memory.ctypes.data)
    texts = [Path(__file__).with_name(f"{name}.py").read_bytes() for name in _SOURCES]
    return machine.address("log", (texts, av.logging.ERROR, av.logging.VERBOSE), _compiled)


_SOURCES = ("callback", "layout")


def _compiled(name: str) -> machine.Code:
    from snellen.video.logs import callback as source

    return source.code(name)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
