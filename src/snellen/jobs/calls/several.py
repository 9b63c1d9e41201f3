"""Runs several jobs, by one process or several; a job that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from snellen.errors import InputError, SnellenError, unexpected
from snellen.files import atomic
from snellen.frames.values import function, items
from snellen.jobs.calls.execute import check_job, raised, run
from snellen.jobs.calls.job_ticket import Finished, failed, named
from snellen.jobs.calls.job_workers import by_workers
from snellen.jobs.calls.planning import Plan, passed_over, without_existing
from snellen.jobs.events import Collected, Events, listening
from snellen.jobs.inputs.inputs import claim, stream
from snellen.jobs.kinds.compare import REPORT_SIZE
from snellen.jobs.kinds.files import AnyJob, FilmJob, read_by, written_by
from snellen.process import while_running
from snellen.video.clip import MANY


@while_running
def run_several(
    jobs: Iterable[AnyJob],
    events: Events | None = None,
    done: Callable[[Finished], object] | None = None,
    begin: Callable[[AnyJob], object] | None = None,
) -> list[Finished]:
    """Run jobs one after another, or several at once; one that fails does not stop the others.

    Where the first UpscaleJob or DeblurJob names several workers, GPUs or a cluster, these share
    the files of all such jobs with the same `device`, `workers`, `cluster` and `threads`, one at a
    time each. Long films follow, one after another, whose segments all workers share; and what uses
    standard streams, reads what an earlier job writes, or writes what that reads. Outputs are those
    of one process.

    No output replaces what any of the jobs reads, nor an output of a job before it. What is raised
    and is no SnellenError becomes one: an InternalError, whose cause it is, or that of exhausted
    memory, or of the system.

    Parameters
    ----------
    jobs : iterable of jobs
        What to do, in this order.
    events : Events, optional
        Receives what is reported of all jobs, equal warnings once.
    done : callable, optional
        Called with each `Finished` job, at once; of files that workers share, in the order of the
        jobs.
    begin : callable, optional
        Called with each job, before it is run.

    Returns
    -------
    list of Finished
        One for each job, in their order. Where no worker can be started any more, that is the error
        of all files that they have not made.

    Raises
    ------
    InputError, DeviceError
        The cluster cannot be used.
    """
    listener = Collected(listening(events))
    function("done", done)
    function("begin", begin)
    given = list(items("jobs", jobs, MANY))
    wrong = _refused(given)
    begun: set[int] = set()

    def begins(number: int) -> None:
        if begin is not None and number not in begun:
            begun.add(number)
            begin(given[number])

    read = (one for job in given if isinstance(job, AnyJob) for one in read_by(job))
    with atomic.protected(dict.fromkeys(read)):  # models are the same for many
        fine = {number: job for number, job in enumerate(given) if number not in wrong}
        found = by_workers(fine, listener, done, begins)
        for number, job in enumerate(given):
            if number in found:
                continue
            try:
                if number in wrong:
                    raise wrong[number]
                begins(number)
                result = run(job, listener)
                one = Finished(job, result, result.error)
            except Exception as error:
                failure = unexpected(error)
                is_named = len(given) > 1 and isinstance(job, FilmJob)
                one = failed(job, failure) if is_named else Finished(job, None, failure)
            found[number] = one
            if done is not None:
                done(one)
    return [found[number] for number in range(len(given))]


def _refused(jobs: list[Any]) -> dict[int, Exception]:
    """Return why some cannot be run: they are no jobs, or write what one before them writes."""
    wrong: dict[int, Exception] = {}
    outputs: dict[str, Path] = {}
    for number, job in enumerate(jobs):
        try:
            check_job(job)
            claim(set(written_by(job)), outputs, "target")
        except Exception as error:
            wrong[number] = error
    return wrong


def each_file(
    make: Callable[..., FilmJob], todo: Plan, events: Events | None, options: dict[str, Any]
) -> list[Any]:
    """Run the jobs of several files, each with a target of its own, and return their results.

    Several workers, GPUs or a cluster share the files, as of `run_several`. `make` returns the job
    of a source, its target and the options, which may also name a report about the only file.

    Raises
    ------
    SnellenError
        The first of all jobs, after all files; the others are its notes.
    """
    from snellen.jobs.calls.report_after import with_report

    report = options.get("report"), options.get("report_size", REPORT_SIZE)
    if report[0] is not None and len(todo.pairs) != 1:
        raise InputError(
            f"got `report` with {len(todo.pairs)} files", parameter="report",
            advice="a report is about one file and what is made of it",
        )  # fmt: skip
    listener = Collected(listening(events))
    results: list[Any] = []
    if not options.get("overwrite"):
        todo = without_existing(todo)
    failed: list[SnellenError] = [error for _, error in todo.failed]
    if (clash := todo.clash()) is not None:
        failed.append(clash)
    for one in todo.skipped:
        listener.notice(str(one.source), f"skipped, {one.why}")
    with atomic.protected(one for source, _ in todo.pairs for one in stream(source)):
        jobs: dict[int, FilmJob] = {}
        wrong: dict[int, SnellenError] = {}
        for number, pair in enumerate(todo.pairs):
            try:
                jobs[number] = make(*pair, **options)
            except SnellenError as error:
                wrong[number] = error
        found = by_workers(jobs, listener)
        for number, (source, goal) in enumerate(todo.pairs):
            try:
                if number in wrong:
                    raise wrong[number]
                result: Any
                if number not in found:
                    result = with_report(jobs[number], *report, listener)
                elif (result := found[number].result) is None:
                    raise found[number].error or InputError(f"{source} was not made")
                results.append(raised(result))
            except SnellenError as error:
                if (why := passed_over(todo, goal, error)) is not None:
                    listener.notice(str(source), f"skipped, {why}")
                    continue
                failed.append(named(error, source, goal) if todo.several else error)
    if failed:
        for other in failed[1:]:
            failed[0].add_note(str(other))
        raise failed[0]
    return results
