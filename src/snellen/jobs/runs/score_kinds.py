"""Runs a scoring job: two videos, two images or two folders of images."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from snellen.errors import IncompleteError, InputError
from snellen.jobs.events import Collected
from snellen.jobs.kinds.score import FILM, FOLDER, IMAGE, SHORTEST, ScoreJob, ScoreResult
from snellen.jobs.runs import score_parts
from snellen.jobs.runs.score_run import ScoreRun, score_frames, score_pictures, score_two
from snellen.jobs.steps.pairs import check, partners
from snellen.mad.temporal import TemporalScore
from snellen.video import progress
from snellen.video.comparing.align import LEAST, align
from snellen.video.comparing.compare import Summary
from snellen.video.source.decode import Source


def images(job: ScoreJob, events: Collected) -> ScoreResult:
    """Score one image against another."""
    run, began = ScoreRun(job, events), time.monotonic()
    with closing(run.step):
        score_two(run, job.reference.stem, job.reference, job.distorted, None)
    return run.finished(IMAGE, time.monotonic() - began, run.step.method)


def folders(job: ScoreJob, events: Collected) -> ScoreResult:
    """Score the images of one folder against those of another, by one process or several."""
    run = ScoreRun(job, events)
    pairs = list(enumerate(partners(job.reference, job.distorted, run.warn)))
    pairs = pairs[:: job.every][: job.clip.frames]
    for _, (_, one, other) in pairs:  # before any is scored
        check(one, other, job.resize, job.metrics)
    began = time.monotonic()
    method = score_parts.of_folders(run, pairs)
    if method is None:
        meter = progress.Meter(len(pairs), run.progress)
        method = score_pictures(run, pairs, meter.count)
    return run.finished(FOLDER, time.monotonic() - began, method)


def films(
    job: ScoreJob, events: Collected, opened: Callable[[], Source] | None = None
) -> ScoreResult:
    """Score one film against another, by one process or several.

    `opened` opens the reference in place of its file.
    """
    run = ScoreRun(job, events)
    shared = score_parts.are_shared(run)
    if not shared:
        run.step  # noqa: B018 (a device that cannot be used is known before the films are read)
    _align(run)
    found = score_parts.of_films(run) if shared else None
    summary, method = found or (score_frames(run, opened), run.step.method)
    temporal, too_short = _temporal(run, summary.frames) if job.temporal else (None, None)
    error = too_short or _damage(summary)
    return run.finished(FILM, summary.seconds, method, summary, temporal, error)


def _align(run: ScoreRun) -> None:
    """Find the offset of two films, where the job asks for it."""
    job = run.job
    if not job.align:
        return
    report = run.stage(str(job.distorted), "align")
    found = align(job.reference, job.distorted, job.clip, job.decoder, report)
    run.offset, run.aligned = found.offset or 0, found.offset is not None
    if not run.aligned:
        why = (
            f"no offset within {found.searched} frames is told by what the videos show: they "
            "hardly move there, or show different things"
            if found.searched
            else f"the videos are too short for `align`: it needs more than {LEAST} frames of each"
        )
        run.warn("", f"{why}; frames meet by number, unless `offset` says otherwise")


def _temporal(run: ScoreRun, frames: int) -> tuple[TemporalScore | None, InputError | None]:
    """Return ST-MAD, or why there is none."""
    if frames < SHORTEST:
        message = f"got {frames} frames; `temporal` needs {SHORTEST} or more"
        return None, InputError(message, parameter="temporal")
    try:
        return run.step.temporal(run.stage(f"ST-MAD {run.job.distorted}")), None
    except InputError as error:
        return None, error


def _damage(summary: Summary) -> IncompleteError | None:
    if not summary.lost:
        return None
    return IncompleteError(
        f"damaged: {'; '.join(summary.lost)}; what could be decoded was scored, and frames behind "
        "the damage may have met others than their own"
    )


RUNS = {FILM: films, FOLDER: folders, IMAGE: images}
"""The function that scores each kind of inputs."""
