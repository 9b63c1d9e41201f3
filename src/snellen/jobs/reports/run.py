"""Runs a comparison: scores every variant, gathers pictures, and writes the report."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.errors import InputError, plain
from snellen.files import atomic
from snellen.jobs.events import Collected, Progress
from snellen.jobs.kinds.compare import CompareJob, CompareResult
from snellen.jobs.kinds.score import FILM, FOLDER, IMAGE, ScoreJob, ScoreResult
from snellen.jobs.reports import facts as about
from snellen.jobs.reports import pictures as pictures_of
from snellen.jobs.reports.choice import Choice, choose
from snellen.jobs.reports.shelf import Shelf
from snellen.jobs.runs.score_kinds import RUNS, films
from snellen.jobs.steps.pairs import partners
from snellen.jobs.steps.score_table import ScoreRow
from snellen.mad import heatmap
from snellen.metrics.registry import MAD, of_column
from snellen.report.contents import STATISTICS, Contents, Facts, Metric, Moment, Scale
from snellen.report.fit import Fitted, fitted
from snellen.video import progress
from snellen.video.comparing.resize import METHOD
from snellen.video.source.decode import Source

if TYPE_CHECKING:
    from snellen.jobs.reports.source import Shown
    from snellen.jobs.steps.deblur_step import FrameFit

_SCALES = {"detection": "HI", "appearance": "LO"}
_SOURCE = (
    "{} is what the others were made of, and no original: the figures say how far each is from it, "
    "not how good it is."
)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a report about excerpts of films, one after another, in place of files."""

    labels: tuple[str, ...]
    """The name of the reference, then of each variant."""
    begin: Fraction
    """The time of the first frame in the film, in seconds: frames are called by their times."""
    facts: tuple[Facts, ...]
    """About each file."""


def score_and_report(
    job: CompareJob,
    events: Collected,
    wording: Wording | None = None,
    shown: Shown | None = None,
) -> CompareResult:
    """Score all variants, and write the report; the other parameters are those of `report`."""
    kind, began = job.check(), time.monotonic()
    run: Callable[[ScoreJob, Collected], ScoreResult]
    run = RUNS[kind]
    if kind == FILM and shown is not None:
        run = partial(films, opened=shown.opened)
    heard = _Heard(events, _called(job, wording), quiet=job.is_source)
    results = [run(one, Collected(heard)) for one in job.scoring()]
    return report(job, results, events, began, wording, shown)


class _Heard:
    """Events of scores, which call files as the report does."""

    # `quiet`: nothing is said of results that are larger than their source; the report says it.
    def __init__(self, events: Collected, called: Mapping[str, str], quiet: bool) -> None:
        self._events, self._called, self._quiet = events, called, quiet

    def progress(self, progress: Progress) -> None:
        """Pass it on."""
        self._events.progress(replace(progress, subject=worded(progress.subject, self._called)))

    def warning(self, subject: str, message: str) -> None:
        """Pass it on, unless nothing is to be said of it."""
        if not (self._quiet and message.endswith(METHOD)):
            self._events.warning(worded(subject, self._called), worded(message, self._called))

    def frame(self, subject: str, frame: FrameFit | ScoreRow) -> None:
        """Pass it on."""
        self._events.frame(worded(subject, self._called), frame)

    def notice(self, subject: str, message: str) -> None:
        """Pass it on."""
        self._events.notice(subject, message)


def _called(job: CompareJob, wording: Wording | None) -> dict[str, str]:
    """Return what files of a report are called, where that is not their names."""
    if wording is None:
        return {}
    return dict(zip(map(str, (job.reference, *job.variants)), wording.labels, strict=True))


def worded(text: str, called: Mapping[str, str]) -> str:
    """Return a text with files as they are called."""
    for file, name in called.items():
        text = text.replace(file, name)
    return text


def report(
    job: CompareJob,
    results: Sequence[ScoreResult],
    events: Collected,
    began: float,
    wording: Wording | None = None,
    shown: Shown | None = None,
) -> CompareResult:
    """Write the report about results that are there, one for each variant.

    `began` is the time of the monotonic clock when work began. `wording` is for excerpts; None:
    files are called by their names, frames by their numbers. `shown` says how a film that others
    were made of is compared with them; None: as it is.
    """
    kind = results[0].kind
    choice = choose([one.table for one in results], job.pictures)
    if not choice.rows:
        raise InputError("no frame was scored of all files; give `every`=1", parameter="every")
    with Shelf() as shelf:
        moments = [shelf.kept(one) for one in _moments(job, kind, results, choice, events, shown)]
        seconds = time.monotonic() - began
        contents = _contents(job, results, choice, seconds, wording, shown)
        if any(max(one.size) > pictures_of.LONGEST for one in moments):
            text = f"Pictures are shown with at most {pictures_of.LONGEST} pixels a side."
            contents = replace(contents, notes=(*contents.notes, text))
        found: Fitted = fitted(contents, moments, round(job.report_size * 1e6))
    with atomic.writing(job.target, job.overwrite) as file:
        file.write(found.html)
    return CompareResult(
        job.target, kind, tuple(results), found.setting.moments, found.setting.words(len(moments)),
        len(found.html), time.monotonic() - began, _notes(results),
        next((one.error for one in results if one.error is not None), None),
    )  # fmt: skip


def _moments(
    job: CompareJob,
    kind: str,
    results: Sequence[ScoreResult],
    choice: Choice,
    events: Collected,
    shown: Shown | None,
) -> Iterator[Moment]:
    opened = None if shown is None else shown.opened

    def show(p: progress.Progress) -> None:
        name = str(job.target)
        events.progress(Progress(name, p.frames, p.total, p.fps, p.eta, stage="pictures"))

    meter = progress.Meter(len(choice.shown), show)
    with closing(pictures_of.Errors(job, events)) as errors:
        if kind == FILM:
            offsets = [one.offset for one in results]
            found = pictures_of.films(job, offsets, choice, errors, meter.count, opened)
        else:
            found = pictures_of.images(job, choice, errors, meter.count)
        yield from found


def _contents(
    job: CompareJob,
    results: Sequence[ScoreResult],
    choice: Choice,
    seconds: float,
    wording: Wording | None,
    shown: Shown | None,
) -> Contents:
    labels = names((job.reference, *job.variants)) if wording is None else wording.labels
    metrics = results[0].table.scores
    notes = [worded(one, _called(job, wording)) for one in _notes(results)]
    if job.is_source:
        notes.insert(0, _SOURCE.format(labels[0]))
    if shown is not None and shown.how:
        notes.insert(1, f"{labels[0]} is shown with {', '.join(shown.how)}, as its result is.")
    facts, hdr = _facts(job, results, shown)
    if wording is not None:
        facts = wording.facts
    notes += [f"{labels[at]} is HDR: its pictures are shown without tone mapping" for at in hdr]
    return Contents(
        title=" · ".join(labels[1:]),
        labels=labels,
        names=tuple(_name(row[0], labels[0], wording) for row in choice.rows),
        is_film=results[0].kind == FILM,
        numbers=tuple(row[0].frame or 0 for row in choice.rows),
        metrics=tuple(map(_metric, metrics)),
        scores=tuple(
            {name: tuple(row[at].scores[name] for row in choice.rows) for name in metrics}
            for at in range(len(results))
        ),
        pooled=tuple(
            {
                name: {one: float(getattr(pooled, one)) for one in STATISTICS}
                for name, pooled in result.table.pooled().items()
            }
            for result in results
        ),
        worst=choice.worst,
        worst_by=choice.by,
        scales=tuple(
            Scale(kind, title, heatmap.BRIGHTEST[kind])
            for kind, title in _SCALES.items()
            if MAD in job.metrics
        ),
        palette=heatmap.palette(),
        facts=facts,
        made=about.of_run(job, results, seconds),
        notes=tuple(notes),
    )


def _metric(column: str) -> Metric:
    """Return what the report says of a score."""
    found = of_column(column)
    scale = found.parts.get(column, found.scale)
    return Metric(column, found.title_of(column), found.better, found.unit, scale)


def _facts(
    job: CompareJob, results: Sequence[ScoreResult], shown: Shown | None
) -> tuple[tuple[Facts, ...], list[int]]:
    """Return facts about each file, and the places of those that are HDR."""
    files = (job.reference, *job.variants)
    kind = results[0].kind
    if kind == IMAGE:
        return tuple(about.of_image(one) for one in files), []
    if kind == FOLDER:
        pairs = [partners(job.reference, one, lambda file, text: None) for one in job.variants]
        lists = [[one for _, one, _ in pairs[0]], *([o for *_, o in found] for found in pairs)]
        both = zip(files, lists, strict=True)
        return tuple(about.of_folder(one, found) for one, found in both), []
    summaries = [one.summary for one in results]
    assert all(summaries)
    counts: list[Any] = [getattr(summaries[0], "reference_frames", None)]
    counts += [getattr(one, "distorted_frames", None) for one in summaries]
    opens: list[Callable[[], Source]] = [partial(Source, one, job.clip) for one in files]
    if shown is not None:
        opens[0] = shown.opened
    infos = []
    for opened in opens:
        with closing(opened()) as source:
            infos.append(source.info)
    found = zip(infos, counts, strict=True)
    hdr = [at for at, info in enumerate(infos) if info.picture.color_trc in about.HDR]
    return tuple(about.of_film(info, count) for info, count in found), hdr


def _notes(results: Sequence[ScoreResult]) -> tuple[str, ...]:
    found = [plain(text) for one in results for text in one.warnings]
    found += [str(one.error) for one in results if one.error is not None]
    return tuple(dict.fromkeys(found))


def names(files: Sequence[Path]) -> tuple[str, ...]:
    """Return short names of files that differ: with the folder where others have the same name."""
    short = [one.name or str(one) for one in files]
    often = Counter(short)
    found = [str(one) if often[name] > 1 else name for one, name in zip(files, short, strict=True)]
    times: Counter[str] = Counter()
    for at, name in enumerate(found):
        times[name] += 1
        if times[name] > 1:
            found[at] = f"{name} ({times[name]})"
    return tuple(found)


def _name(row: ScoreRow, reference: str, wording: Wording | None) -> str:
    """Return what the report calls a frame, or an image."""
    if row.name is not None:
        return row.name
    if row.frame is None:
        return reference
    begin = 0.0 if wording is None else float(wording.begin)
    minutes, rest = divmod(begin + (row.time or 0), 60)
    clock = f"{int(minutes)}:{rest:06.3f}"
    return f"frame {row.frame} · {clock}" if wording is None else clock
