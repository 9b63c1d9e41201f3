"""Scores of many pairs of files: in order, as they come, by one worker or several."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from snellen.errors import InputError, SnellenError, quoted
from snellen.frames import values
from snellen.frames.brief import Brief
from snellen.jobs.calls.execute import run
from snellen.jobs.events import Collected, Events, Progress, Silent, listening, notify
from snellen.jobs.kinds.score import ScoreJob
from snellen.jobs.options.cluster_connection import check_cluster
from snellen.jobs.sharing.executors import executor, in_order, planned
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.jobs.steps.score_table import of_mean_error
from snellen.metrics.pooling import Pooled
from snellen.metrics.registry import METRICS
from snellen.video.messages import counted

AHEAD = 32
"""So many pairs of each worker may be finished before an earlier one is."""


@dataclass(frozen=True, slots=True, repr=False)
class PairScore(Brief):
    """The scores of one of many pairs."""

    reference: Path
    distorted: Path
    frames: int = 0
    """The number of frames that were scored; of images 1."""
    pooled: dict[str, Pooled] = field(default_factory=dict)
    """Statistics of each score, by its name: "mad", "hi", "lo", and other metrics."""
    stmad: float | None = None
    """ST-MAD, where it is asked for."""
    models: dict[str, str] = field(default_factory=dict)
    """The models of metrics that have several, by parameter, as `vmaf_model`."""
    warnings: tuple[str, ...] = ()
    """They say what differs between the files, or does not count."""
    error: SnellenError | None = None
    """The reason why there are no scores, or what was wrong all the same."""

    def facts(self, option: Callable[[str], str] = str) -> dict[str, Any]:
        """Return the files, the number of frames, the means of each score, and the error as text.

        `option` returns the reader's word for a parameter that the error names.
        """
        found: dict[str, Any] = {
            "reference": str(self.reference), "distorted": str(self.distorted),
            "frames": self.frames, **{name: one.mean for name, one in self.pooled.items()},
        }  # fmt: skip
        for name, column in of_mean_error(one for one in self.pooled if one in METRICS).items():
            found[column] = self.pooled[name].of_mean_mse
        if self.stmad is not None:
            found["stmad"] = self.stmad
        found |= self.models
        return found | {"error": "" if self.error is None else self.error.worded(option)}


@dataclass(frozen=True, slots=True)
class PairTicket(Ticket):
    """One pair to score."""

    device: str | None = None
    """The device in place of the job's; None: the worker's."""

    def run(self, worker: Worker) -> Done:
        """Score the pair. What is wrong with its files is part of the result."""
        for file in (self.job.reference, self.job.distorted):
            _check(file)
        job = replace(self.job, device=self.device or worker.device, workers=None, cluster=None)
        found = run(job, _Quiet(worker.events))
        error = None if found.error is None else _named(found.error, job)
        return Done(self.key, PairScore(
            job.reference, job.distorted, len(found.table.rows), found.table.pooled(),
            None if found.temporal is None else found.temporal.stmad, found.table.models,
            found.warnings, error,
        ))  # fmt: skip

    def failed(self, error: SnellenError) -> Done:
        """Return the result of a pair that cannot be scored."""
        job = self.job
        return Done(self.key, PairScore(job.reference, job.distorted, error=_named(error, job)))


def _check(file: Path) -> None:
    """Refuse (InputError) a pipe or a device: who made the list might have nobody write into it."""
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return  # which the run says
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(f"{file} is neither a file nor a folder", parameter="pairs")


def _named(error: SnellenError, job: ScoreJob) -> SnellenError:
    """Return an error that says which pair it is about, without the result that it may carry."""
    there = any(str(name) in error.text for name in (job.reference, job.distorted))
    if there:
        return type(error)(error.message, parameter=error.parameter, advice=error.advice)
    return error.about(job.distorted)


class _Quiet(Silent):
    """Events of a pair: its notices only, since the result has its warnings and scores."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def notice(self, subject: str, message: str) -> None:
        """Pass a notice on."""
        notify(self._events, subject, message)


def score_pairs(
    jobs: Iterable[ScoreJob],
    events: Events | None = None,
    workers: int | None = None,
    total: int | None = None,
    cluster: str | None = None,
) -> Iterator[PairScore]:
    """Score many pairs of files, and yield the results in the order of the jobs.

    Pairs are scored by several processes at once where `workers` or the first job's device say so.
    A pair whose files cannot be scored has an `error`, and the others go on. Memory does not grow
    with the number of pairs.

    Parameters
    ----------
    jobs : iterable of ScoreJob
        Of videos, images or folders; the devices of all are those of the first.
    events : Events, optional
        Receives progress in pairs, warnings and notices.
    workers : int, optional
        Processes; None: as the first job has it, else one, or one for each GPU.
    total : int, optional
        How many jobs there are, for progress.
    cluster : str, optional
        The cluster of Ray that scores them instead, as of `upscale_file`; None: as the first job
        has it, if there are no `workers`. All nodes see the files
        under the same names.

    Yields
    ------
    PairScore

    Raises
    ------
    InputError, DeviceError
        A number of workers or a device that does not exist.
    """
    workers, cluster = values.plain(workers), values.plain(cluster)
    values.checked(ScoreJob, "workers", workers)
    check_cluster(cluster, workers)
    if total is not None:
        total = values.whole("total", total, 0)
    listener = Collected(listening(events))
    left = _checked(jobs)
    first = next(left, None)
    if first is None:
        return
    if workers is None and cluster is None:
        workers, cluster = first.workers, first.cluster
    how = replace(first, workers=workers, cluster=cluster)
    devices = planned(how)
    several = len(devices) != 1
    tickets = (
        PairTicket(number, job, device=None if several else job.device)
        for number, job in enumerate(chain([first], left))
    )
    began = time.monotonic()

    def report(one: Done, done: int) -> None:
        rate = done / max(time.monotonic() - began, 1e-9)
        eta = None if total is None else (total - done) / rate
        listener.progress(Progress(str(one.result.distorted), done, total, rate, eta, unit="pair"))

    work = "the pairs" if total is None else counted(total, "pair")
    with executor(how, devices, "pairs", "pair", work, listener) as runs:
        for one in in_order(runs, tickets, AHEAD, report):
            yield one.result


def _checked(jobs: object) -> Iterator[ScoreJob]:
    """Yield the jobs (InputError: they are none)."""
    try:
        given = iter(jobs)  # type: ignore[call-overload]
    except Exception as error:
        raise InputError(f"got {quoted(jobs)}; expected ScoreJobs", parameter="jobs") from error
    for job in given:
        if not isinstance(job, ScoreJob):
            raise InputError(f"got {quoted(job)}; expected a ScoreJob", parameter="jobs")
        yield job
