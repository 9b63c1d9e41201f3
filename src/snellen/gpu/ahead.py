"""Compiling kernels side by side: in threads, from the moment at which a GPU's user makes them.

NVRTC works without Python's lock, and in several threads at once. A method makes all of its kernels
before it launches the first, which then waits for its own code only.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from snellen import process
from snellen.gpu import nvrtc
from snellen.gpu.nvrtc import PACKAGE, Binary

KEPT = 32  # compiled files in memory: those of one have up to half a megabyte

Key = tuple[Path, str, tuple[tuple[str, str], ...]]
"""A file, an architecture, and macros with their values."""

_lock = process.lock()
_files: OrderedDict[Key, Future[Binary]] = OrderedDict()
_waiting: OrderedDict[Key, Future[Binary]] = OrderedDict()  # those that no thread has begun
_threads = 0


def begin(file: Path, arch: str, constants: dict[str, str]) -> None:
    """Begin to compile a file of the package, unless that has been done; the call does not wait.

    Parameters are those of `nvrtc.compile`. An error is raised by `take`.
    """
    global _threads
    key = _key(file, arch, constants)
    if not file.is_relative_to(PACKAGE):
        return
    with _lock:
        if key in _files:
            return
        _waiting[key] = _add(key)
        if _threads >= _cores():
            return
        _threads += 1
    try:
        threading.Thread(target=_work, name="snellen-compile").start()
    except RuntimeError:  # there can be no more threads: whoever takes it compiles it
        with _lock:
            _threads -= 1


def take(file: Path, arch: str, constants: dict[str, str]) -> Binary:
    """Return compiled code; wait for whoever compiles it, or compile it now.

    Parameters are those of `nvrtc.compile`, and so are errors.
    """
    if not file.is_relative_to(PACKAGE):  # it may change, as those of tests do
        return nvrtc.compile(file, arch, constants)
    key = _key(file, arch, constants)
    with _lock:
        future = _files.get(key)
        mine = future is None or _waiting.pop(key, None) is not None
        if future is None:
            future = _add(key)
        _files.move_to_end(key)
    if mine:
        _compile(key, future)
    return future.result()


def _work() -> None:
    """Compile what waits, until nothing does, or until the process ends."""
    global _threads
    while True:
        with _lock:
            if not _waiting or not threading.main_thread().is_alive():
                _threads -= 1
                return
            key, future = _waiting.popitem(last=False)
        _compile(key, future)


def _compile(key: Key, future: Future[Binary]) -> None:
    file, arch, constants = key
    try:
        future.set_result(nvrtc.compile(file, arch, dict(constants)))
    except BaseException as error:
        with _lock, suppress(KeyError):
            del _files[key]  # the next one tries again
        future.set_exception(error)


def _add(key: Key) -> Future[Binary]:
    """Add a file, and forget the one that nobody has taken for longest."""
    _files[key] = future = Future[Binary]()
    for old in list(_files)[: max(0, len(_files) - KEPT)]:
        if _files[old].done():
            del _files[old]
    return future


def _key(file: Path, arch: str, constants: dict[str, str]) -> Key:
    return file, arch, tuple(sorted(constants.items()))


def _cores() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Linux has it only
        return os.cpu_count() or 1


def _forget() -> None:
    """Forget, in a forked child, what threads of the parent were compiling."""
    global _threads
    _threads = 0
    _waiting.clear()
    _files.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
