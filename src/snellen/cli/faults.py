"""Faults that nobody expected: exceptions that are not ours, warnings of libraries; a line each."""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
import warnings
from typing import Any

from snellen.cli import interrupts, terminal
from snellen.errors import InternalError, SnellenError, shortened, unexpected


class _State:
    debug = False
    """True: a fault is printed with its traceback."""
    found = 0
    """Exit code of faults in threads; 0: there was none."""


def watch(arguments: list[str]) -> None:
    """Begin anew; a traceback is wanted if --debug or the environment's SNELLEN_DEBUG says so."""
    before = arguments[: arguments.index("--")] if "--" in arguments else arguments
    _State.debug = "--debug" in before or os.environ.get("SNELLEN_DEBUG", "") not in ("", "0")
    _State.found = 0


def hook() -> None:
    """Catch in this process what Python would print by itself: for a process of its own only."""
    threading.excepthook = _in_thread
    sys.unraisablehook = _dropped
    sys.excepthook = _printed
    warnings.showwarning = _warned
    logging.lastResort = _Lines(logging.WARNING)


def found() -> int:
    """Return the exit code of faults that ended no command, as in a thread; 0: there was none."""
    return _State.found


def report(error: Exception) -> int:
    """Print an error in one line; return the exit code."""
    ours = unexpected(error)
    from snellen.cli.options import option

    terminal.err(f"error: {ours.worded(option)}")
    trace(ours)
    return ours.exit_code


def trace(error: SnellenError) -> None:
    """Print the traceback behind an error of ours, with --debug."""
    if _State.debug:
        behind = error.__cause__ if isinstance(error, InternalError) else error
        lines = "".join(traceback.format_exception(behind or error)).splitlines()
        terminal.err(*(f"debug: {line}" for line in lines))


def _in_thread(arguments: Any) -> None:
    """Report what ended a thread."""
    error = arguments.exc_value
    if isinstance(error, Exception):
        _State.found = report(error)


def _printed(kind: Any, error: BaseException, trace: Any) -> None:
    """Take up an interrupt that a C library's callback would print with its traceback, and drop."""
    # `main` lets no exception out, so nothing else comes here than what such callbacks print before
    # they hand it to `_dropped`.
    if isinstance(error, KeyboardInterrupt):
        interrupts.again()


def _dropped(arguments: Any) -> None:
    """Take up an interrupt that Python would drop; report another exception as a warning."""
    error = arguments.exc_value
    if isinstance(error, KeyboardInterrupt):
        interrupts.again()
    elif isinstance(error, Exception) and not sys.is_finalizing():
        if isinstance(error, OSError | MemoryError) and not _State.debug:
            return  # a stream that was closed under its owner: nothing is lost
        ours = InternalError.of(error)
        from snellen.cli.options import option

        terminal.err(f"warning: {ours.worded(option)}")
        trace(ours)


def _warned(
    message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Print a library's warning in one line."""
    where = f" ({filename}:{lineno})" if _State.debug else ""
    terminal.err(f"warning: {category.__name__}: {shortened(message)}{where}")


class _Lines(logging.Handler):
    """Prints what a library logs and nobody takes."""

    def emit(self, record: logging.LogRecord) -> None:
        terminal.err(f"warning: {record.name}: {shortened(record.getMessage())}")
