"""Events that show themselves to whoever calls a function: a bar in a notebook or a terminal."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from html import escape
from typing import Any

from snellen.errors import plain
from snellen.jobs.events import Progress, Silent

OFTEN = 0.25
"""Seconds between two drawings, at least."""


class Bar(Silent):
    """Events that draw how far a run is; warnings and notices are lines on standard error.

    In a notebook (of IPython's kernel) the bar is one output of its cell, which is replaced: so a
    saved notebook has its last state only. On a terminal it is one line of standard error.
    Elsewhere there is no bar. One object serves any number of runs.

    Examples
    --------
    >>> import snellen.jobs
    >>> snellen.upscale_file(  # doctest: +SKIP
    ...     "film.mkv", "large.mkv", events=snellen.jobs.Bar()
    ... )
    """

    def __init__(self) -> None:
        self._shell: Any = None
        self._cell: object = None
        self._output: Any = None
        self._last = 0.0
        self._shown: tuple[str, str | None] | None = None

    def progress(self, progress: Progress) -> None:
        """Draw it, unless that was just done; the end of a stage is always drawn."""
        now, shown = time.monotonic(), (progress.subject, progress.stage)
        ended = progress.done == progress.total
        if now - self._last < OFTEN and shown == self._shown and not ended:
            return
        self._last, self._shown = now, shown
        with suppress(Exception):  # of a notebook or a terminal that has gone: the work goes on
            self._draw(progress, ended)

    def warning(self, subject: str, message: str) -> None:
        """Print it."""
        self._say(f"warning: {plain(subject)}: {plain(message)}")

    def notice(self, subject: str, message: str) -> None:
        """Print it."""
        self._say(f"{plain(subject)}: {plain(message)}")

    def _draw(self, progress: Progress, ended: bool) -> None:
        text = line(progress)
        shell = _kernel()
        if shell is not None:
            self._display(shell, {"text/plain": text, "text/html": html(progress, text)})
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r{_printable(text)}\x1b[K" + ("\n" if ended else ""))
            sys.stderr.flush()

    def _display(self, shell: Any, data: dict[str, str]) -> None:
        """Show data in the cell that runs, in place of what this showed there."""
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        cell = getattr(shell, "execution_count", None)
        if self._output is None or cell != self._cell:
            self._cell = cell
            self._output = display(data, raw=True, display_id=True)
        else:
            self._output.update(data, raw=True)

    def _say(self, text: str) -> None:
        with suppress(Exception):
            begun = "\r\x1b[K" if _kernel() is None and sys.stderr.isatty() else ""
            print(begun + _printable(text), file=sys.stderr, flush=True)


def line(progress: Progress) -> str:
    """Return progress in a line: "film.mkv: 40 of 120 frames, 8.0 frames/s, 10 s left"."""
    name = f"{progress.subject}: {progress.stage}" if progress.stage else progress.subject
    of = "" if progress.total is None else f" of {progress.total}"
    words = [f"{name}: {progress.done}{of} {progress.unit}s"]
    if progress.rate > 0:
        words.append(f"{progress.rate:.1f} {progress.unit}s/s")
    if progress.eta is not None and progress.done != progress.total:
        words.append(f"{progress.eta:.0f} s left")
    return ", ".join(words)


def html(progress: Progress, text: str) -> str:
    """Return a bar with its line; of an unknown total the bar only says that there is work."""
    share = "" if progress.total is None else f' value="{progress.done}" max="{progress.total}"'
    return f"<div><progress{share}></progress> {escape(text)}</div>"


def _kernel() -> Any:
    """Return the shell of the notebook that runs this; None: it is none."""
    ipython = sys.modules.get("IPython")  # in a notebook it is loaded
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def _printable(text: str) -> str:
    """Return a line without what would move the cursor: names of files may hold anything."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
