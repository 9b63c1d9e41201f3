"""FFmpeg's messages, asked for at single moments; else it is quiet."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import av.logging
from av.container import InputContainer


@contextmanager
def listening(level: int = av.logging.WARNING) -> Iterator[list[tuple[int, str, str]]]:
    """Collect (level, name, message) of what FFmpeg says meanwhile.

    Only for short calls while no other thread decodes or encodes: a codec's worker thread
    that has something to say would wait for the interpreter that waits for it.
    """
    before = av.logging.get_level()
    with av.logging.Capture(local=False) as messages:
        av.logging.set_level(level)
        try:
            yield messages
        finally:
            # A decoder's thread may be about to speak: PyAV would stumble over a level of None.
            av.logging.set_level(av.logging.PANIC)
            time.sleep(0.002)
            av.logging.set_level(before)


def description(container: InputContainer) -> str:
    """Return FFmpeg's description of the container, with all details."""
    before = libav_level()
    av.logging.set_libav_level(av.logging.VERBOSE)  # it says less at its default level
    try:
        # The outer one takes what a decoder's threads may say meanwhile.
        with listening(av.logging.INFO):
            text: str = container.dumps_format()  # type: ignore[attr-defined,unused-ignore]
            return text
    finally:
        av.logging.set_libav_level(before)


def libav_level() -> int:
    """Return FFmpeg's own level, which PyAV can set but not tell; its default if not found."""
    library = _libavutil()
    return int(library.av_log_get_level()) if library is not None else av.logging.INFO


@cache
def _libavutil() -> ctypes.CDLL | None:
    """Return the library inside PyAV's wheel, once more: it is loaded already."""
    package = Path(av.__file__).parent
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        for file in folder.glob("*avutil*"):
            with suppress(OSError, AttributeError):
                library = ctypes.CDLL(str(file))
                library.av_log_get_level.restype = ctypes.c_int
                return library
    return None
