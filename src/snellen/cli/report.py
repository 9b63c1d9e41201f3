"""What a command reports: text and a progress bar on a terminal, or one JSON object a line.

Progress goes to stderr, results to stdout; JSON to stdout too, unless the output itself is there.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from snellen.cli.options import option
from snellen.errors import SnellenError, worded

if TYPE_CHECKING:
    from snellen.jobs.events import Progress
    from snellen.jobs.profile import Profile

SECOND = 1.0  # between two JSON progress lines


class Report:
    """Progress, warnings and results of one command; a context manager, which ends the bar.

    It takes the events of jobs: see `snellen.jobs.events.Events`.

    Parameters
    ----------
    as_json : bool
        Whether everything is a line of JSON.
    output_is_stdout : bool
        Whether results of the command itself go to standard output: reports then go to stderr.
    """

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

    def progress(self, progress: Progress) -> None:
        """Report how far the work is."""
        p = progress
        if self.as_json:
            speed = "fps" if p.unit == "frame" else "rate"
            count = {p.unit: p.done, f"{p.unit}s": p.total, speed: p.rate, "eta": p.eta}
            stage = {"stage": p.stage} if p.stage else {}
            self._latest = {"input": p.subject, **stage, **count}
            if self._beat is None:
                self._stop.clear()
                self._beat = threading.Thread(target=self._write_each_second, daemon=True)
                self._beat.start()
        elif sys.stderr is not None and sys.stderr.isatty():
            title = f"{p.subject}: {p.stage}" if p.stage else p.subject
            self._draw(title, p.done, p.total, f"{p.rate:.2f} {p.unit}s/s")

    def frame(self, subject: str, frame: Any) -> None:
        """Report the result of a frame; with JSON only."""
        if self.as_json:
            self._line("frame", input=subject, **asdict(frame))

    def warning(self, subject: str, message: str) -> None:
        """Report what is lost or odd, but does not stop the work."""
        subject, message = worded(subject, option), worded(message, option)
        if self.as_json:
            self._line("warning", input=subject, message=message)
        else:
            self._print(f"warning: {subject}: {message}")

    def failure(self, subject: str, error: SnellenError) -> None:
        """Report that an input could not be done, or not all of it."""
        self._end()
        text = error.worded(option)
        if self.as_json:
            self._line("error", input=subject, message=text, exit_code=error.exit_code)
        else:
            self._print(f"error: {text}")

    def profile(self, subject: str, profile: Profile | None) -> None:
        """Report the time of each stage, on stderr; with JSON as an event."""
        if profile is None:
            return
        self._end()
        if self.as_json:
            stages = {
                one.stage: {"runs": len(one.ms), "total_ms": one.total, "median_ms": one.middle}
                for one in profile
            }
            self._line("profile", input=subject, stages=stages)
            return
        if not profile:
            self._print("no stage was timed")
            return
        lines = [f"{'stage':<24}{'runs':>8}{'total ms':>14}{'median ms':>14}"]
        lines += [
            f"{one.stage:<24}{len(one.ms):>8}{one.total:>14.2f}{one.middle:>14.3f}"
            for one in profile
        ]
        self._print("\n".join(lines))

    def result(self, text: str, **facts: Any) -> None:
        """Report what has been done: a sentence, or with JSON the facts."""
        self._end()
        if self.as_json:
            self._line("done", **facts)
        else:
            print(printable(text), file=self._stream, flush=True)

    def __enter__(self) -> Self:
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

    def _write_each_second(self) -> None:
        """Write the latest progress at once and each second, however long a frame takes."""
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
