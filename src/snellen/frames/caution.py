"""Warnings of the functions for arrays: they point at the caller's line."""

from __future__ import annotations

import sys
import warnings

from snellen.errors import plain

_INSIDE = ("snellen", "contextlib", "numpy", "torch")  # decorated functions, calls of modules


def caution(text: str) -> None:
    """Warn (UserWarning) at the line outside this package that called it; see `errors.plain`."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(plain(text), UserWarning, stacklevel=level)
