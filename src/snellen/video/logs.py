"""Captures FFmpeg's log messages during single calls; otherwise they are off."""

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
    """Collect FFmpeg's messages as (level, name, text).

    Only for short calls while no other thread decodes or encodes: a codec's worker thread that
    logs waits for the interpreter's lock, whose holder may be waiting for that thread.
    """
    before = av.logging.get_level()
    with av.logging.Capture(local=False) as messages:
        av.logging.set_level(level)
        try:
            yield messages
        finally:
            # A decoder's thread may be about to log: PyAV fails on a level of None.
            av.logging.set_level(av.logging.PANIC)
            time.sleep(0.002)
            av.logging.set_level(before)


def description(container: InputContainer) -> str:
    """Return FFmpeg's description of the container with all details."""
    before = libav_level()
    av.logging.set_libav_level(av.logging.VERBOSE)  # fewer details at its default level
    try:
        # The outer capture takes what a decoder's threads may log meanwhile.
        with listening(av.logging.INFO):
            text: str = container.dumps_format()  # type: ignore[attr-defined,unused-ignore]
            return text
    finally:
        av.logging.set_libav_level(before)


def libav_level() -> int:
    """Return FFmpeg's own level, which PyAV can set but not get; its default if not found."""
    library = _libavutil()
    return int(library.av_log_get_level()) if library is not None else av.logging.INFO


@cache
def _libavutil() -> ctypes.CDLL | None:
    """Return the library inside PyAV's wheel, which is loaded already."""
    package = Path(av.__file__).parent
    for folder in (package.parent / "av.libs", package / ".dylibs"):
        for file in folder.glob("*avutil*"):
            with suppress(OSError, AttributeError):
                library = ctypes.CDLL(str(file))
                library.av_log_get_level.restype = ctypes.c_int
                return library
    return None
