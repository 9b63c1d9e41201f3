"""What a command says while it works: a bar on a terminal, or one JSON object a line.

Progress goes to stderr, results to stdout; JSON to stdout too, unless the output itself is there.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

SECOND = 1.0  # between two JSON progress lines


class Report:
    """Progress, warnings and results of one command. A context manager: it ends the bar."""

    def __init__(self, as_json: bool, output_is_stdout: bool = False) -> None:
        self.as_json = as_json
        self._stream: IO[str] = sys.stderr if output_is_stdout else sys.stdout
        self._latest: dict[str, Any] = {}
        self._beat: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._title = ""

    def progress(
        self,
        name: str,
        done: int,
        total: int | None,
        rate: float,
        eta: float | None,
        unit: str = "frame",
        stage: str | None = None,
    ) -> None:
        """Tell how far `name` is: frames done of total, frames a second, seconds left.

        Of work in stages each counts by itself.
        """
        if self.as_json:
            speed = "fps" if unit == "frame" else "rate"
            count = {unit: done, f"{unit}s": total, speed: rate, "eta": eta}
            self._latest = {"input": name, **({"stage": stage} if stage else {}), **count}
            if self._beat is None:
                self._stop.clear()
                self._beat = threading.Thread(target=self._tell_each_second, daemon=True)
                self._beat.start()
        elif sys.stderr is not None and sys.stderr.isatty():
            title = f"{name}: {stage}" if stage else name
            self._draw(title, done, total, f"{rate:.2f} {unit}s/s")

    def frame(self, name: str, **facts: Any) -> None:
        """Tell what was found of a frame; with JSON only."""
        if self.as_json:
            self._line("frame", input=name, **facts)

    def warning(self, name: str, text: str) -> None:
        """Tell what is lost or odd, but does not stop the work."""
        if self.as_json:
            self._line("warning", input=name, message=text)
        else:
            self._print(f"warning: {name}: {text}")

    def failure(self, name: str, text: str, code: int) -> None:
        """Tell that an input could not be done."""
        self._end()
        if self.as_json:
            self._line("error", input=name, message=text, exit_code=code)
        else:
            self._print(f"error: {text}")

    def result(self, text: str, **facts: Any) -> None:
        """Tell what has been done: a sentence, or with JSON the facts."""
        self._end()
        if self.as_json:
            self._line("done", **facts)
        else:
            print(printable(text), file=self._stream, flush=True)

    def __enter__(self) -> Report:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _line(self, event: str, **facts: Any) -> None:
        with self._lock:
            print(json.dumps({"event": event, **facts}), file=self._stream, flush=True)

    def _tell_each_second(self) -> None:
        """Tell the latest progress at once and each second, however long a frame takes."""
        with suppress(OSError):  # nobody reads any more: the result will say so
            while True:
                self._line("progress", **self._latest)
                if self._stop.wait(SECOND):
                    return

    def _print(self, text: str) -> None:
        if self._bar:
            self._bar.console.print(printable(text), markup=False, highlight=False)
        else:
            print(printable(text), file=sys.stderr, flush=True)

    def _draw(self, name: str, done: int, total: int | None, rate: str) -> None:
        if self._bar is None:
            self._bar, self._task = _bar(name, total)
        elif name != self._title:
            self._bar.reset(self._task, description=_markup(name))
        self._title = name
        self._bar.update(self._task, completed=done, total=total, rate=rate)

    def _end(self) -> None:
        if self._beat:
            self._stop.set()
            self._beat.join()
            self._beat = None
        if self._bar:
            self._bar.stop()
            self._bar = None


def printable(text: str) -> str:
    """Return the text with a question mark for each byte of a file name that is no UTF-8."""
    return text.encode(errors="replace").decode()


def _markup(name: str) -> str:
    from rich.markup import escape

    return escape(printable(name))


def _bar(name: str, total: int | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        Left(),
        console=Console(stderr=True),
    )
    bar.start()
    return bar, bar.add_task(_markup(name), total=total, rate="")
