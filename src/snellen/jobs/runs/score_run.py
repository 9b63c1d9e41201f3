"""One run of a scoring job: its step, rows and maps, and the scores of pictures and frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from snellen.errors import SnellenError
from snellen.frames.frame import Format
from snellen.jobs.events import Collected, Progress
from snellen.jobs.inputs.inputs import PIPE, standard_input
from snellen.jobs.kinds.score import FOLDER, ScoreJob, ScoreResult
from snellen.jobs.kinds.score_step import Method, ScoreStep
from snellen.jobs.runs.stills import damaged
from snellen.jobs.steps.pairs import pair
from snellen.jobs.steps.score_table import ScoreRow, ScoreTable, as_json
from snellen.mad import heatmap
from snellen.mad.result import Score
from snellen.mad.temporal import TemporalScore
from snellen.metrics import registry
from snellen.metrics.registry import MAD
from snellen.video import progress
from snellen.video.comparing.compare import Compared, Summary, compare
from snellen.video.comparing.pairing import Part
from snellen.video.source.decode import Source

Numbered = tuple[int, tuple[str, Path, Path]]
"""Number of a pair of image files, from 0; their name, the reference and what is scored."""


class ScoreRun:
    """One run: its step, rows and maps.

    Parameters
    ----------
    job : ScoreJob
        What to do.
    events : Collected
        Receives all events.

    Attributes
    ----------
    job, events
        As given.
    both : str
        What messages about both inputs name.
    worst : Worst
        The maps so far.
    rows : list of ScoreRow
        The scores so far.
    offset, aligned : int, bool or None
        As of ScoreResult.
    damage : dict
        Images that are damaged, and what is wrong with each.
    """

    def __init__(self, job: ScoreJob, events: Collected) -> None:
        self.job, self.events = job, events
        self.both = f"{job.reference} {job.distorted}"
        self.worst = heatmap.Worst(job.worst if job.maps else 0)
        self.rows: list[ScoreRow] = []
        self.offset = job.offset
        self.aligned: bool | None = None
        self.damage: dict[Path, tuple[str, ...]] = {}

    @cached_property
    def step(self) -> ScoreStep:
        """The step that scores here, made when it is first used: other processes may score instead.

        Raises
        ------
        InputError, DeviceError
            Settings that do not exist; a device that cannot be used.
        """
        job = self.job
        return ScoreStep(
            job.mad,
            job.metrics,
            job.device,
            self.worst,
            job.temporal,
            job.models,
            self.both,
            self.events,
        )

    def warn(self, name: str, text: str) -> None:
        """Report what is odd with an input, or with "" as its name, with both."""
        self.events.warning(name or self.both, text)

    def progress(self, p: progress.Progress) -> None:
        """Report how far the run is."""
        name = str(self.job.distorted)
        self.events.progress(Progress(name, p.frames, p.total, p.fps, p.eta))

    def stage(self, name: str, stage: str | None = None) -> Callable[[int, int], None]:
        """Return what reports how far a stage is that begins now, by what is done and in all."""
        began = time.monotonic()

        def report(done: int, total: int) -> None:
            rate = done / max(time.monotonic() - began, 1e-9)
            eta = (total - done) / rate
            self.events.progress(Progress(name, done, total, rate, eta, stage=stage))

        return report

    def add(self, found: Score, file: str, **facts: Any) -> None:
        """Add a score, and its maps if it has any; files of maps begin with `file`."""
        names, films = self.job.metrics, registry.of_films(self.job.metrics)
        own = [name for name in names if not registry.METRICS[name].films_only]
        row = ScoreRow({name: getattr(found, name) for name in registry.columns(own)}, **facts)
        if films:
            self.rows.append(row)  # `complete` reports it
        else:
            self.take(row)
        if found.detection is not None:
            self.worst.keep(
                file, found, as_json({"name": file, **row.facts()} if not facts else _of(row))
            )

    def complete(self, scores: Mapping[str, Sequence[float]]) -> None:
        """Add scores of metrics of films to all rows and to the index of maps, and report them."""
        rows, self.rows = self.rows, []
        order = registry.columns(self.job.metrics)
        for number, row in enumerate(rows):
            found = {**row.scores, **{name: every[number] for name, every in scores.items()}}
            scored = {name: found[name] for name in order}
            self.take(replace(row, scores=scored, models=self.step.films.models))
        of = {row.frame: row.facts() for row in self.rows}
        for facts in self.worst.facts:
            every = of[facts["frame"]]
            facts.update({name: every[name] for name in (*scores, *self.step.films.models)})

    def take(self, row: ScoreRow) -> None:
        """Add the scores of a picture."""
        self.rows.append(row)
        self.events.frame(str(self.job.distorted), row)

    def add_damage(self, found: Iterable[tuple[Path, tuple[str, ...]]]) -> None:
        """Note images that are damaged, and what is wrong with each."""
        self.damage.update(found)

    def finished(
        self,
        kind: str,
        seconds: float,
        method: Method,
        summary: Summary | None = None,
        temporal: TemporalScore | None = None,
        error: SnellenError | None = None,
    ) -> ScoreResult:
        """Write table and maps, and return the result.

        What the disk refuses costs neither the scores nor the other file: it is the result's error.
        """
        job, warnings = self.job, self.events.warnings
        error = error or damaged(self.damage.items(), "what could be decoded was scored")
        result = ScoreResult(
            job.reference, job.distorted, kind, ScoreTable(tuple(self.rows)), method,
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
                self.job.maps, self.worst, about(self.job, result), self.job.overwrite
            )  # fmt: skip


def score_pictures(run: ScoreRun, pairs: Iterable[Numbered], count: Callable[[], object]) -> Method:
    """Score pairs of image files; return what scored. `count` is called after each."""
    prepared = None
    with closing(run.step):
        for number, (name, one, other) in pairs:
            prepared = score_two(run, name, one, other, prepared, frame=number, name=name)
            count()
    return run.step.method


def score_frames(
    run: ScoreRun, opened: Callable[[], Source] | None = None, part: Part | None = None
) -> Summary:
    """Score the frames of two films, or a part of them, and return what was compared."""
    job = run.job

    def take(one: Compared[Score]) -> None:
        at = round(float(one.time), 6)
        run.add(one.result, f"frame{one.number:06}", frame=one.number, time=at)

    reference, distorted = (
        standard_input() if one == PIPE else one for one in (job.reference, job.distorted)
    )
    with closing(run.step.films) as films:
        summary = compare(
            reference, distorted, run.step, take, clip=job.clip, offset=run.offset,
            every=job.every, resized=job.resize, decoder=job.decoder, on_warning=run.warn,
            on_progress=run.progress, opened=opened, part=part,
        )  # fmt: skip
        if found := films.scores():
            run.complete(found)
    return summary


def score_two(
    run: ScoreRun,
    file: str,
    one: Path,
    other: Path,
    prepared: Format | None,
    **facts: Any,
) -> Format:
    """Score two images; return what the step is prepared for now."""
    job, colours = run.job, bool(run.step.colours)
    planes = pair(one, other, job.resize, job.data_range, run.warn, colours)
    run.add_damage(planes.damage)
    if prepared != planes.format:
        run.step.prepare(planes.format)
    run.add(run.step.run(planes.reference, planes.distorted, *planes.pictures), file, **facts)
    return planes.format


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
    found |= result.table.models
    if MAD not in job.metrics:
        return found | {"device": result.method.device}
    return found | asdict(result.method)


def _of(row: ScoreRow) -> dict[str, Any]:
    """Return what the index of maps says of one of several pictures."""
    facts = row.facts()
    if row.name is not None:  # of folders the number is left out
        facts.pop("frame")
    return facts
