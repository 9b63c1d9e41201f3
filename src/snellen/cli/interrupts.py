"""Signals that end the command: each one does, wherever it arrives, and none is lost.

The first one raises KeyboardInterrupt, so that everything cleans up behind itself. Where Python
cannot raise it (in a finalizer, a callback of a C library) it prints and drops it: then a timer
raises it again, and `check` does so too. Others that arrive during the clean-up change nothing.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from time import monotonic

from snellen import unfinished

TYPE_CHECKING = False  # typing would take as long to import as all else
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

CODE = 130
"""Exit code of an interrupted command."""

_ENDING = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    if hasattr(signal, name)
]
"""Signals that end a command; no system has all of them."""
_PATIENCE = 10.0
"""Seconds of cleaning up, after which another signal ends the process at once."""
_AGAIN = 0.02
"""Seconds until an interrupt that was dropped is raised again."""


class _State:
    first: float | None = None
    """When the first signal arrived."""
    end: int | None = None
    """Exit code of a process whose work has ended."""


def install() -> dict[int, Any]:
    """Take over the signals that end a command; return the handlers of before.

    What is ignored stays so: nohup ignores SIGHUP, and a shell SIGINT of a background process.
    """
    _State.first = _State.end = None
    before: dict[int, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        return before
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, _handle)
    return before


def restore(before: dict[int, Any]) -> None:
    """Give the signals back, and forget what has arrived."""
    _State.first = None
    for number, handler in before.items():
        signal.signal(number, handler)


def arrived() -> bool:
    """Return whether a signal has arrived since `install`."""
    return _State.first is not None


def check() -> None:
    """Raise the interrupt of a signal that has arrived but was lost."""
    if _State.first is not None and not _is_cleaning():
        raise KeyboardInterrupt


def insist() -> None:
    """Raise the interrupt if a signal has arrived: what an interrupted call raised is no error."""
    if _State.first is not None:
        raise KeyboardInterrupt


def again() -> None:
    """Raise an interrupt soon that was dropped where it could not be raised."""
    if _State.end is None and hasattr(signal, "setitimer"):
        with suppress(ValueError, OSError):
            signal.signal(signal.SIGALRM, _handle)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def end(code: int) -> None:
    """Say that the work has ended: a signal now ends the process with this code."""
    _State.end = code
    # After an interrupt within a text that `exec` ran (dataclasses does, while they are imported)
    # `python -m` ends as if by SIGINT, although the interrupt was caught. The next text forgets it.
    exec("")
    atexit.register(_ignore)


def leave(code: int) -> None:
    """End the process at once if threads still run, in calls of libraries that do not return.

    Python would end these threads when they come back to it, which aborts the process where C++
    has called it.
    """
    if threading.active_count() > 1:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        leave_at_once(code)


def leave_at_once(code: int) -> None:
    """End the process without Python's own end; nothing unfinished stays behind."""
    unfinished.clear()
    os._exit(code)


def _ignore() -> None:
    """Ignore signals: Python is about to give up its handlers, and the work is done."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def _handle(number: int, frame: FrameType | None) -> None:
    if _State.end is not None:
        leave_at_once(_State.end)
    if number == signal.SIGINT and _is_importing(frame) and not _can_start_threads():
        raise MemoryError("no thread can be started")
    if _State.first is None:
        _State.first = monotonic()
    elif _is_cleaning():
        if monotonic() - _State.first > _PATIENCE:
            leave_at_once(CODE)
        return
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether a library is being loaded just now."""
    for _ in range(8):
        if frame is None:
            break
        if frame.f_code.co_name == "create_module" and "importlib" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _can_start_threads() -> bool:
    """Return whether a thread can be started."""
    # OpenBLAS raises SIGINT in its own process where it cannot start its threads while it is
    # loaded: for want of memory, or at the limit of processes. That is no interrupt by a user.
    try:
        thread = threading.Thread(target=bool)
        thread.start()
    except (RuntimeError, MemoryError):
        return False
    thread.join()
    return True


def _is_cleaning() -> bool:
    """Return whether an interrupt is being handled right now: a finally, an except, an exit."""
    error = sys.exc_info()[1]
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__context__
    return False
