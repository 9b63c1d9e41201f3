"""Runs a scoring job: two videos, two images or two folders of images."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from snellen.errors import IncompleteError, InputError, SnellenError
from snellen.frames.frame import Format
from snellen.jobs.events import Collected, Progress
from snellen.jobs.inputs import PIPE, standard_input
from snellen.jobs.pairs import check, pair, partners
from snellen.jobs.score import FILM, FOLDER, IMAGE, SHORTEST, ScoreJob, ScoreResult
from snellen.jobs.score_step import ScoreStep
from snellen.jobs.score_table import SCORES, ScoreRow, ScoreTable, as_json
from snellen.jobs.stills import damaged
from snellen.mad import heatmap
from snellen.mad.definition import SMALLEST
from snellen.mad.result import Score
from snellen.mad.temporal import TemporalScore
from snellen.metrics.names import MAD
from snellen.metrics.ssim import WINDOW
from snellen.video import progress
from snellen.video.align import align
from snellen.video.compare import Compared, Summary, compare
from snellen.video.source.decode import Source


class ScoreRun:
    """One run: its step, rows and maps.

    Parameters
    ----------
    job : ScoreJob
        What to do.
    events : Collected
        Receives all events.

    Raises
    ------
    InputError, DeviceError
        Settings that do not exist; a device that cannot be used.
    """

    def __init__(self, job: ScoreJob, events: Collected) -> None:
        self.job, self.events = job, events
        self.both = f"{job.reference} {job.distorted}"
        self._worst = heatmap.Worst(job.worst if job.maps else 0)
        self.step = ScoreStep(
            job.mad, job.metrics, job.device, self._worst, job.temporal, self.both, events
        )
        self.rows: list[ScoreRow] = []
        self.offset = job.offset
        self.aligned: bool | None = None
        self._damaged: dict[Path, tuple[str, ...]] = {}

    def warn(self, name: str, text: str) -> None:
        """Report what is odd with an input, or with "" as its name, with both."""
        self.events.warning(name or self.both, text)

    def progress(self, p: progress.Progress) -> None:
        """Report how far the run is."""
        name = str(self.job.distorted)
        self.events.progress(Progress(name, p.frames, p.total, p.fps, p.eta))

    def add(self, found: Score, file: str, **facts: Any) -> None:
        """Add a score, and its maps if it has any; files of maps begin with `file`."""
        numbers = {name: getattr(found, name) for name in SCORES if hasattr(found, name)}
        if MAD not in self.job.metrics:
            numbers.update(mad=None, hi=None, lo=None)
        row = ScoreRow(**numbers, **facts)
        self.rows.append(row)
        self.events.frame(str(self.job.distorted), row)
        if found.detection is not None:
            self._worst.keep(
                file, found, as_json({"name": file, **row.facts()} if not facts else _of(row))
            )

    def add_damage(self, found: Iterable[tuple[Path, tuple[str, ...]]]) -> None:
        """Note images that are damaged, and what is wrong with each."""
        self._damaged.update(found)

    def finished(
        self,
        kind: str,
        seconds: float,
        summary: Summary | None = None,
        temporal: TemporalScore | None = None,
        error: SnellenError | None = None,
    ) -> ScoreResult:
        """Write table and maps, and return the result.

        What the disk refuses costs neither the scores nor the other file: it is the result's error.
        """
        job, warnings = self.job, self.events.warnings
        error = error or damaged(self._damaged.items(), "what could be decoded was scored")
        result = ScoreResult(
            job.reference, job.distorted, kind, ScoreTable(tuple(self.rows)), self.step.method,
            seconds, summary, temporal, job.maps, self.offset, self.aligned,
            tuple(text if name == self.both else f"{name}: {text}" for name, text in warnings),
            error,
        )  # fmt: skip
        failed = []
        for write in (self._write_table, self._write_maps):
            try:
                write(result)
            except SnellenError as refused:
                failed.append(refused)
        return replace(result, error=failed[0]) if failed else result

    def _write_table(self, result: ScoreResult) -> None:
        if self.job.table is not None:
            result.table.write(self.job.table, self.job.overwrite)

    def _write_maps(self, result: ScoreResult) -> None:
        if self.job.maps is not None:
            heatmap.write(
                self.job.maps, self._worst, about(self.job, result), self.job.overwrite
            )  # fmt: skip


def images(job: ScoreJob, events: Collected) -> ScoreResult:
    """Score one image against another."""
    run, began = ScoreRun(job, events), time.monotonic()
    with closing(run.step):
        _scored(run, job.reference.stem, job.reference, job.distorted, None)
    return run.finished(IMAGE, time.monotonic() - began)


def folders(job: ScoreJob, events: Collected) -> ScoreResult:
    """Score the images of one folder against those of another."""
    run = ScoreRun(job, events)
    pairs = list(enumerate(partners(job.reference, job.distorted, run.warn)))
    pairs = pairs[:: job.every][: job.clip.frames]
    for _, (_, one, other) in pairs:  # before any is scored
        check(one, other, job.resize, SMALLEST if MAD in job.metrics else WINDOW)
    meter, prepared = progress.Meter(len(pairs), run.progress), None
    began = time.monotonic()
    with closing(run.step):
        for number, (name, one, other) in pairs:
            prepared = _scored(run, name, one, other, prepared, frame=number, name=name)
            meter.count()
    seconds = time.monotonic() - began
    return run.finished(FOLDER, seconds)


def films(
    job: ScoreJob, events: Collected, opened: Callable[[], Source] | None = None
) -> ScoreResult:
    """Score one film against another; `opened` opens the reference in place of its file."""
    run = ScoreRun(job, events)

    def take(one: Compared[Score]) -> None:
        at = round(float(one.time), 6)
        run.add(one.result, f"frame{one.number:06}", frame=one.number, time=at)

    reference, distorted = (
        standard_input() if one == PIPE else one for one in (job.reference, job.distorted)
    )
    _align(run)
    summary = compare(
        reference, distorted, run.step, take, clip=job.clip, offset=run.offset, every=job.every,
        resized=job.resize, decoder=job.decoder, on_warning=run.warn, on_progress=run.progress,
        opened=opened,
    )  # fmt: skip
    temporal, too_short = _temporal(run, summary.frames) if job.temporal else (None, None)
    return run.finished(FILM, summary.seconds, summary, temporal, too_short or _damage(summary))


def _align(run: ScoreRun) -> None:
    """Find the offset of two films, where the job asks for it."""
    job, began = run.job, time.monotonic()
    if not job.align:
        return
    name = str(job.distorted)

    def report(done: int, total: int) -> None:
        rate = done / max(time.monotonic() - began, 1e-9)
        eta = (total - done) / rate
        run.events.progress(Progress(name, done, total, rate, eta, stage="align"))

    found = align(job.reference, job.distorted, job.clip, job.decoder, report)
    run.offset, run.aligned = found.offset or 0, found.offset is not None
    if not run.aligned:
        run.warn(
            "",
            f"no offset within {found.searched} frames is told by what the videos show: they "
            "hardly move there, or show different things; frames meet by number, unless `offset` "
            "says otherwise",
        )


def about(job: ScoreJob, result: ScoreResult) -> dict[str, Any]:
    """Return what was compared, and how, ready for JSON; the scores are not among it."""
    found: dict[str, Any] = {"reference": str(job.reference), "distorted": str(job.distorted)}
    if result.kind == FOLDER:
        count = len(result.table.rows)
        found |= {"frames": count, "every": job.every, "seconds": result.seconds}
    if (summary := result.summary) is not None:
        found |= {
            "frames": summary.frames, "reference_frames": summary.reference_frames,
            "distorted_frames": summary.distorted_frames, "offset": result.offset,
            "every": job.every, "width": summary.width, "height": summary.height,
            "reference_pictures": summary.reference_pictures,
            "distorted_pictures": summary.distorted_pictures, "resized": summary.resized,
            "seconds": summary.seconds, "lost": summary.lost,
        }  # fmt: skip
    if result.aligned is not None:
        found["aligned"] = result.aligned
    if job.temporal:
        found |= {name: getattr(result.temporal, name, None) for name in ("stmad", "smad", "tmad")}
    if MAD not in job.metrics:
        return found | {"device": result.method.device}
    return found | asdict(result.method)


def _of(row: ScoreRow) -> dict[str, Any]:
    """Return what the index of maps says of one of several pictures."""
    facts = row.facts()
    if row.name is not None:  # of folders the number is left out
        facts.pop("frame")
    return facts


def _scored(
    run: ScoreRun,
    file: str,
    one: Path,
    other: Path,
    prepared: Format | None,
    **facts: Any,
) -> Format:
    """Score two images; return what the step is prepared for now."""
    planes = pair(one, other, run.job.resize, run.job.data_range, run.warn)
    run.add_damage(planes.damage)
    if prepared != planes.format:
        run.step.prepare(planes.format)
    run.add(run.step.run(planes.reference, planes.distorted), file, **facts)
    return planes.format


def _temporal(run: ScoreRun, frames: int) -> tuple[TemporalScore | None, InputError | None]:
    """Return ST-MAD, or why there is none."""
    if frames < SHORTEST:
        message = f"got {frames} frames; `temporal` needs {SHORTEST} or more"
        return None, InputError(message, parameter="temporal")
    began = time.monotonic()
    name = f"ST-MAD {run.job.distorted}"

    def report(done: int, total: int) -> None:
        rate = done / max(time.monotonic() - began, 1e-9)
        run.events.progress(Progress(name, done, total, rate, (total - done) / rate))

    try:
        return run.step.temporal(report), None
    except InputError as error:
        return None, error


def _damage(summary: Summary) -> IncompleteError | None:
    if not summary.lost:
        return None
    return IncompleteError(
        f"damaged: {'; '.join(summary.lost)}; what could be decoded was scored, and frames behind "
        "the damage may have met others than their own"
    )
