"""Reports of a command: text and a progress bar on a terminal, or one JSON object a line.

Progress goes to stderr, results to stdout; JSON to stdout too, unless the output itself is there.
"""

from __future__ import annotations

import json
import shlex
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import click

from snellen.addresses import without_secrets
from snellen.cli import faults, interrupts, recipes, terminal
from snellen.cli.options import option
from snellen.errors import unexpected, worded

if TYPE_CHECKING:
    from snellen.cli.log import Log
    from snellen.jobs.events import Progress
    from snellen.jobs.options.profile import Profile
    from snellen.jobs.options.serial import Job

QUIET, NORMAL, VERBOSE = range(3)
"""Levels of what is reported."""
SECOND = 1.0  # between two JSON progress lines
PATIENCE = 2.0  # seconds for the last of these lines


class Report:
    """Progress, warnings and results of one command; a context manager, which ends the bar.

    It takes the events of jobs: see `snellen.jobs.events.Events`. `as_json`: everything is a line
    of JSON. `output_is_stdout`: results of the command itself go to standard output, and reports to
    stderr. `level`: QUIET, warnings and errors only; NORMAL; VERBOSE, also what each job is. `log`
    is a file that all lines of text are appended to, whatever the level.
    """

    results_are_asked_for = False
    """True: results are written with -q, too: they are what the command is for."""

    def __init__(
        self,
        as_json: bool,
        output_is_stdout: bool = False,
        level: int = NORMAL,
        log: Path | None = None,
    ) -> None:
        self.as_json, self.level = as_json, level
        self._log_file = log
        self.log: Log | None = None
        self._write = terminal.err if output_is_stdout else terminal.out
        self._latest: dict[str, Any] = {}
        self._beat: threading.Thread | None = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        self._title = ""
        self._lost: terminal.Lost | None = None

    def progress(self, progress: Progress) -> None:
        """Report how far the work is."""
        interrupts.check()
        self._check()
        if self.level == QUIET:
            return
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
        elif terminal.interactive():
            title = f"{p.subject}: {p.stage}" if p.stage else p.subject
            self._draw(title, p.done, p.total, f"{p.rate:.2f} {p.unit}s/s")

    def frame(self, subject: str, frame: Any) -> None:
        """Report the result of a frame; with JSON only."""
        interrupts.check()
        if self.as_json:
            from snellen.jobs.steps.score_table import as_json

            facts = frame.facts() if hasattr(frame, "facts") else asdict(frame)
            self._line("frame", input=subject, **as_json(facts))

    def warning(self, subject: str, message: str) -> None:
        """Report what is lost or odd, but does not stop the work."""
        interrupts.check()
        subject, message = worded(subject, option), worded(message, option)
        self.logged(f"warning: {subject}: {message}")
        if self.as_json:
            self._line("warning", input=subject, message=message)
        else:
            self._print(f"warning: {subject}: {message}")

    def notice(self, subject: str, message: str) -> None:
        """Report what is good to know; any thread may call this."""
        subject, message = worded(subject, option), worded(message, option)
        self.logged(f"{subject}: {message}")
        if self.level == QUIET:
            return
        if not self.as_json:
            self._print(f"{subject}: {message}")
            return
        try:
            self._line("notice", input=subject, message=message)
        except terminal.Lost as lost:  # raised in the thread of the command, soon
            self._lost = lost

    def begun(self, subject: str, target: str, job: Job) -> None:
        """Report, if more than usual is wanted, what is about to be done."""
        interrupts.check()
        from snellen.jobs.options.serial import chosen

        named = {"source", "target", "reference", "distorted"}
        settings = {name: text for name, text in chosen(job).items() if name not in named}
        words = [f"{name.rpartition('.')[2]}={text}" for name, text in settings.items()]
        how = ", ".join(words) or "as by default"
        text = f"{subject} → {target}: {how}"
        self.logged(text)
        if self.level != VERBOSE:
            return
        if self.as_json:
            self._line("begin", input=subject, output=target, job=json.loads(job.to_json()))
        else:
            self._print(text)

    def skipped(self, subject: str, target: str, why: str) -> None:
        """Report that an input is left out, as its output is there, or it is itself one."""
        text = f"{subject}: skipped, {why}"
        self._write_one("skipped", text, {"input": subject, "output": target, "message": why})

    def summary(self, done: int, damaged: int, failed: int, skipped: int) -> None:
        """Report what has become of several inputs; those that are damaged are among the done."""
        self._end()
        counts = {"done": done, "damaged": damaged, "failed": failed, "skipped": skipped}
        part = f" ({damaged} damaged)" if damaged else ""
        text = f"{done} done{part}, {failed} failed, {skipped} skipped"
        self._write_one("summary", text, counts)

    def logged(self, *lines: str) -> None:
        """Append lines to the log, if there is one."""
        if self.log is not None:
            self.log.write(*lines)

    def failure(self, subject: str, fault: Exception) -> int:
        """Report that an input could not be done, or not all of it; return the exit code."""
        interrupts.insist()
        self._end()
        error = unexpected(fault)
        text = error.worded(option)
        if error.parameter and (where := recipes.origin(error.parameter)):
            text += f"; {option(error.parameter)} is of the {where}"
        self.logged(f"error: {text}")
        if self.as_json:
            self._line("error", input=subject, message=text, exit_code=error.exit_code)
        else:
            self._print(f"error: {text}")
        faults.trace(error)
        return error.exit_code

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
        self._print(*lines)

    def result(self, *lines: str, event: str = "done", **facts: Any) -> None:
        """Report what has been done: lines of text, or with JSON the facts."""
        self._end()
        self._check()
        self.logged(*lines)
        if self.as_json:
            self._line(event, **facts)
        elif self.level != QUIET or self.results_are_asked_for:
            self._write(*lines)

    def __enter__(self) -> Self:
        context = click.get_current_context(silent=True)
        if context is not None:  # otherwise this is a test
            self._begin(context)
        from snellen.files.waiting import heard

        self._heard = heard(self.notice)
        self._heard.__enter__()
        return self

    def _begin(self, context: click.Context) -> None:
        """Open the log, and report the defaults and recipes of the command."""
        if self._log_file is not None:
            from snellen.cli.log import Log, check_names

            check_names(self._log_file, context.params)
            words = context.find_root().obj
            shown = (without_secrets(word) for word in ("snellen", *words))
            self.log = Log(self._log_file, shlex.join(shown))
        for where, settings in recipes.chosen(context).items():
            if self.level == VERBOSE:
                self.notice(where, shlex.join(settings))
            else:
                self.logged(f"{where}: {shlex.join(settings)}")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._end()
        self._heard.__exit__(None, None, None)
        if self.log is not None:
            stopped = isinstance(error, KeyboardInterrupt)
            code = error.code if isinstance(error, SystemExit) else interrupts.CODE * stopped
            ended = error is None or stopped or isinstance(error, SystemExit)
            if stopped:
                self.log.write("interrupted")
            self.log.write(f"exit code {code}" if ended else f"ended by {type(error).__name__}")
            self.log.close()

    def _write_one(self, event: str, text: str, facts: dict[str, Any]) -> None:
        self.logged(text)
        if self.as_json:
            self._line(event, **facts)
        elif self.level != QUIET:
            self._write(text)

    def _line(self, event: str, **facts: Any) -> None:
        with self._lock:
            self._write(json.dumps({"event": event, **facts}))

    def _write_each_second(self) -> None:
        """Write the latest progress at once and each second, however long a frame takes."""
        try:
            while True:
                self._line("progress", **self._latest)
                if self._stop.wait(SECOND):
                    return
        except terminal.Lost as lost:
            self._lost = lost

    def _check(self) -> None:
        """Raise (Lost) that the thread could not write."""
        if self._lost is not None:
            raise self._lost

    def _print(self, *lines: str) -> None:
        if not self._bar:
            terminal.err(*lines)
            return
        with suppress(OSError, ValueError):
            for line in lines:
                self._bar.console.print(
                    terminal.shown(line), markup=False, highlight=False, emoji=False, soft_wrap=True
                )

    def _draw(self, name: str, done: int, total: int | None, rate: str) -> None:
        with suppress(OSError, ValueError):  # the terminal has gone: the work goes on
            if self._bar is None:
                self._bar = bars()
                self._bar.start()
                self._task = self._bar.add_task(terminal.shown(name), total=total, rate="")
            elif name != self._title:
                self._bar.reset(self._task, description=terminal.shown(name))
            self._title = name
            self._bar.update(self._task, completed=done, total=total, rate=rate)

    def _end(self) -> None:
        if self._beat:
            self._stop.set()
            self._beat.join(PATIENCE)
            if self._beat.is_alive():  # nobody reads the pipe that it writes to
                terminal.blocked()
            self._beat = None
        bar, self._bar = self._bar, None
        if bar:
            with suppress(OSError, ValueError):
                bar.stop()


def bars() -> Any:
    """Return bars on standard error, not yet started; names go to them by `terminal.shown`.

    Standard output is left alone: what is written there meanwhile is a result.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        Left(),
        console=Console(stderr=True, emoji=False),
        redirect_stdout=False,
        redirect_stderr=False,
    )
