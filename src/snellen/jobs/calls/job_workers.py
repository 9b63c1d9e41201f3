"""Many files by several workers: each file is a ticket, as long as it is no long film."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.cpu import threads
from snellen.errors import DeviceError, InputError, SnellenError, unexpected
from snellen.files import atomic, protection
from snellen.files.remote import Remote
from snellen.jobs.calls.job_ticket import FileTicket, Finished, failed, first, shareable
from snellen.jobs.events import Events, Progress
from snellen.jobs.inputs import folders
from snellen.jobs.kinds.files import AnyJob, FilmJob, written_by
from snellen.jobs.sharing.executors import executor, planned
from snellen.video.messages import counted

if TYPE_CHECKING:
    from snellen.jobs.sharing.executors import Executor
    from snellen.jobs.sharing.tickets import Done


def devices_of(job: FilmJob, count: int) -> tuple[str, ...]:
    """Return the device of each worker of so many files; (): one process makes them in turn."""
    if count < 2:
        return ()
    try:
        found = planned(job)[:count]
    except DeviceError:  # which each job says
        return ()
    return found if len(found) > 1 else ()


def by_workers(
    jobs: Mapping[int, AnyJob],
    events: Events,
    done: Callable[[Finished], object] | None = None,
    begin: Callable[[int], object] | None = None,
) -> dict[int, Finished]:
    """Run those jobs that several workers can share, a file each; return what became of them.

    The others are left to this process: long films, whose segments all workers share, what uses
    standard streams, and all where there are no workers. Jobs are numbered by the order of the
    work, and what they read is protected. `done` is called with each that has ended, in their
    order, `begin` with the number of each before a worker gets it.

    Raises
    ------
    InputError, DeviceError
        The cluster cannot be used.
    """
    how = next((one for one in jobs.values() if isinstance(one, FilmJob)), None)
    if how is None or len(jobs) < 2:
        return {}
    if how.cluster is None and not devices_of(how, len(jobs)):
        return {}
    tickets = shareable(jobs)
    if len(tickets) < 2:
        return {}
    subject = _subject(tickets)
    devices, work = devices_of(how, len(tickets)), counted(len(tickets), "file")
    with (
        threads.limited(how.threads),
        executor(how, devices, subject, "file", work, events) as workers,
    ):
        return _Round(tickets, workers, subject, events, done, begin).run()


class _ExecutorError(Exception):
    """No worker is left, none can be started or the cluster is lost: `error` says why."""

    def __init__(self, error: SnellenError) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def _executing() -> Iterator[None]:
    """Tell an error of the executor from one of the caller's functions."""
    try:
        yield
    except Exception as error:  # a connection that is lost is Ray's
        raise _ExecutorError(unexpected(error)) from error


class _Round:
    """The tickets of one run, and what becomes of them."""

    def __init__(
        self,
        jobs: Mapping[int, FilmJob],
        executor: Executor,
        subject: str,
        events: Events,
        done: Callable[[Finished], object] | None,
        begin: Callable[[int], object] | None,
    ) -> None:
        self._jobs, self._executor, self._subject = jobs, executor, subject
        self._events, self._done, self._begin = events, done, begin
        self._found: dict[int, Finished | None] = {}
        self._order = deque(jobs)
        self._total, self._count, self._began = len(jobs), 0, time.monotonic()
        self._made: set[Path] = set()
        self._stack = ExitStack()

    def run(self) -> dict[int, Finished]:
        """Run all tickets; so many are under way as there are slots.

        Where no worker is left, the files that are not made have its error as theirs.
        """
        waiting, running = deque(self._jobs), 0
        with self._stack:  # folders that are empty at the end are removed
            try:
                while waiting or running:
                    while waiting and running < self._slots():
                        running += self._submitted(waiting.popleft())
                    if running:
                        with _executing():
                            done = self._executor.wait()
                        self._received(done)
                        running -= 1
            except _ExecutorError as lost:
                for number in [one for one in self._jobs if one not in self._found]:
                    self._fail(number, lost.error)
        return {number: one for number, one in self._found.items() if one is not None}

    def _slots(self) -> int:
        with _executing():
            return self._executor.slots

    def _fail(self, number: int, error: SnellenError) -> None:
        self._note(number, failed(self._jobs[number], error))

    def _submitted(self, number: int) -> bool:
        """Give a job to a worker; return whether its output may be written."""
        job = self._jobs[number]
        try:
            if self._begin is not None:
                self._begin(number)
            self._check(job)
        except Exception as error:
            self._fail(number, unexpected(error))
            return False
        is_far = job.cluster is not None
        ticket = FileTicket(number, job, is_shipped=is_far, together=threads.available())
        with _executing():
            self._executor.submit(ticket)
        return True

    def _check(self, job: FilmJob) -> None:
        """Refuse outputs that only this process knows to be others' inputs, and make folders."""
        for output in written_by(job):
            if isinstance(output, Remote):
                continue
            if output.parent not in self._made:
                self._stack.enter_context(folders.made([output]))
                self._made.add(output.parent)
            if job.cluster is not None:
                atomic.check_target(output, None, job.overwrite)
            elif (reason := protection.refusal(output)) is not None:
                raise InputError(reason, advice="choose another output")

    def _received(self, done: Done) -> None:
        """Take up what a worker has returned."""
        job = self._jobs[done.key]
        if done.is_deferred:
            self._total -= 1
            self._note(done.key, None)
            return
        one = Finished(job, done.result, done.error)
        if done.result is None:
            assert done.error is not None
            one = failed(job, done.error)
        elif done.outputs:
            try:
                _write(job, done.outputs)
            except SnellenError as error:
                one = failed(job, error)
        for output in written_by(job):
            if one.result is not None and (what := protection.identity(output)) is not None:
                protection.current().outputs[what] = str(output)
        self._note(done.key, one)

    def _note(self, number: int, one: Finished | None) -> None:
        """Note what became of a job, and report all up to the first that is under way."""
        self._found[number] = one
        if one is not None:
            self._count += 1
            rate = self._count / max(time.monotonic() - self._began, 1e-9)
            eta = max(0, self._total - self._count) / rate
            self._events.progress(
                Progress(self._subject, self._count, self._total, rate, eta, unit="file")
            )
        while self._order and self._order[0] in self._found:
            ended = self._found[place := self._order.popleft()]
            if ended is None:
                continue
            for frame in getattr(ended.result, "frames", ()):
                self._events.frame(str(first(self._jobs[place])), frame)
            if self._done is not None:
                self._done(ended)


def _write(job: FilmJob, outputs: tuple[bytes | None, ...]) -> None:
    """Write what a node has returned: all of it, or nothing; the result gets its name last.

    Raises
    ------
    InputError, OutputError
    """
    with ExitStack() as stack:
        for output, data in zip(written_by(job), outputs, strict=True):
            if data is not None:
                atomic.check_target(output, None, job.overwrite)
                file = stack.enter_context(atomic.writing(output, job.overwrite))
                file.write(data)
                file.flush()


def _subject(jobs: Mapping[int, FilmJob]) -> str:
    """Return what is said of all files: the folder that they are in."""
    try:
        return os.path.commonpath([first(job).parent for job in jobs.values()]) or "files"
    except ValueError:  # absolute and relative names
        return "files"
