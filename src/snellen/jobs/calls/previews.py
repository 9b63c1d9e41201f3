"""Previews: short excerpts of a film by several jobs, side by side in a report."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snellen.cpu import threads
from snellen.errors import InputError, quoted
from snellen.files import atomic, temporary
from snellen.frames import limits, values
from snellen.frames.brief import Brief
from snellen.jobs.calls.execute import run
from snellen.jobs.events import Collected, Events, Progress, listening
from snellen.jobs.inputs.inputs import PIPE, stream
from snellen.jobs.inputs.sequence import is_sequence_of, makes_film
from snellen.jobs.kinds.compare import MOST_PICTURES, MOST_VARIANTS, REPORT_SIZE, CompareJob
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.files import protected
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.jobs.options.options import Time, path
from snellen.jobs.reports.facts import of_film
from snellen.jobs.reports.source import moved
from snellen.jobs.runs.upscale_video import models_of, settled
from snellen.report.contents import Facts
from snellen.video.animations import UNREPEATED
from snellen.video.clip import Clip, seconds
from snellen.video.passthrough.tags import UNMOVED
from snellen.video.source.decode import Source

SECONDS = 2.0
"""Seconds of an excerpt."""
MOST = 32
"""Excerpts that are spread over a film, and as many that are named."""
_SCORED = 32
"""Frames that are scored, about."""


@dataclass(frozen=True, slots=True, repr=False)
class PreviewVariant(Brief):
    """One job's results of the excerpts."""

    label: str
    """Its name in the report."""
    frames: int
    """Frames of all excerpts."""
    seconds: float
    """Seconds of the work on them."""
    size: int
    """Bytes of their video."""
    mean: float
    """Mean of the first metric over the frames that were scored, against the source."""
    model: str = ""
    """The model of upscaling."""


@dataclass(frozen=True, slots=True, repr=False)
class PreviewResult(Brief):
    """The result of `preview`."""

    target: Path
    """The report."""
    starts: tuple[float, ...]
    """Where the excerpts begin, in seconds of the film."""
    seconds: tuple[float, ...]
    """How long each is."""
    variants: tuple[PreviewVariant, ...]
    pictures: int
    """Frames of which the report holds pictures."""
    size: int
    """Bytes of the report."""
    warnings: tuple[str, ...] = ()
    """Warnings of all jobs, without backticks."""


def preview(
    jobs: UpscaleJob | DeblurJob | Mapping[str, UpscaleJob | DeblurJob],
    target: str | Path,
    *,
    count: int = 5,
    at: Sequence[Time] = (),
    length: float = SECONDS,
    report_size: float = REPORT_SIZE,
    overwrite: bool = False,
    command: str | None = None,
    events: Events | None = None,
) -> PreviewResult:
    """Make short excerpts of a film by one or several jobs, and a report that shows them.

    The film itself is not made, nor anything else but the report: excerpts are in a temporary
    folder, which is removed.

    Parameters
    ----------
    jobs : job, or mapping of str to jobs
        UpscaleJobs or DeblurJobs of one video file, by what the report calls them: models, settings
        of the encoder and whatever differs between them. At most nine.
    target : str or Path
        The report, .html.
    count : int
        Excerpts that are spread over the film, where there is something to see; 0: none but `at`.
    at : sequence of times
        Where further excerpts begin.
    length : float
        Seconds of each.
    report_size : float
        Most million bytes of the report.
    overwrite : bool
        Whether an existing report is replaced.
    command : str, optional
        The command line that the report names.
    events : Events, optional
        Receives progress and warnings.

    Returns
    -------
    PreviewResult

    Raises
    ------
    InputError, ModelError, DeviceError, OutputError
        As of `run`; there is no report.
    """
    jobs = _named(jobs)
    listener = Collected(listening(events))
    compare = _checked(jobs, path(target, "target"), report_size, overwrite, command)
    count = values.whole("preview", count, 0, MOST)
    times = [seconds(one, "preview_at") for one in values.items("preview_at", at, MOST)]
    long = seconds(length, "preview_seconds")
    if long is None or long <= 0 or not (count or times) or len(times) > MOST:
        raise InputError(
            f"got {count} excerpts and {len(times)} times, of {quoted(length)} s; expected one or "
            f"more, up to {MOST}, of some seconds",
            parameter="preview",
        )
    first = next(iter(jobs.values()))
    with (
        protected(compare, listener), atomic.protected(stream(compare.reference)),
        limits.at_most(first.max_pixels, 4), threads.limited(first.threads),
    ):  # fmt: skip
        from snellen.jobs.kinds.excerpts import excerpts

        found = excerpts(first, count, [one for one in times if one is not None], long)
        with temporary.folder() as folder:
            return _made(jobs, compare, found, folder, listener)


def _named(jobs: object) -> dict[str, Any]:
    """Return jobs by their names (InputError: neither a job, nor a mapping of texts)."""
    if isinstance(jobs, UpscaleJob | DeblurJob):
        return {"preview": jobs}
    try:
        pairs = list(jobs.items()) if isinstance(jobs, Mapping) else None
    except Exception:  # of any library
        pairs = None
    expected = "a job, or a mapping of names to jobs"
    if pairs is None:
        raise InputError(f"got {quoted(jobs)}; expected {expected}", parameter="jobs")
    return {values.text("jobs", name, expected): job for name, job in pairs}


def _checked(
    jobs: Mapping[str, UpscaleJob | DeblurJob],
    target: Path,
    report_size: float,
    overwrite: bool,
    command: str | None,
) -> CompareJob:
    """Return the job of the report, which names no variant yet but the source (InputError)."""
    if not 1 <= len(jobs) <= MOST_VARIANTS:
        raise InputError(
            f"got {len(jobs)} jobs for a preview; expected 1 to {MOST_VARIANTS}",
            parameter="preview_with",
        )
    sources, shown = set(), set()
    for job in jobs.values():
        if not isinstance(job, UpscaleJob | DeblurJob):
            raise InputError(f"got a {type(job).__name__}; expected an UpscaleJob or a DeblurJob")
        source = job.source
        if (
            not isinstance(source, Path) or source == PIPE
            or is_sequence_of(source, job.video.fps)
            or (source.exists() and not source.is_file())
            or not makes_film(source, job.target, None)
        ):  # fmt: skip
            raise InputError(
                "a preview is about one video file, which is read several times",
                parameter="preview",
                advice="name a video; of images the result itself is quickly made",
            )
        sources.add(source)
        shown.add((moved(job, "preview"), job.video.clip.deinterlace, job.video.clip.ivtc))
    if len(shown) > 1:
        raise InputError(
            "the variants of a preview must show the same; some differ in `crop`, `deinterlace`, "
            "`ivtc` or a filter of `vf` that moves pixels or frames",
            parameter="preview_with",
            advice="make a preview of each",
        )
    if len(sources) > 1:
        raise InputError("the jobs of a preview are of one source", parameter="preview_with")
    (source,) = sources
    some = next(iter(jobs.values()))
    found = CompareJob(
        reference=source, variants=(source,), target=target, report_size=report_size,
        is_source=True, command=command, overwrite=overwrite, max_pixels=some.max_pixels,
        threads=some.threads, device=some.device,
    )  # fmt: skip
    with atomic.protected([source]):
        if target.parent.is_dir():  # else it is made
            atomic.check_target(target, None, overwrite)
    return found


class _Watched:
    """Passes on the events of `total` excerpts of a source; their progress is one."""

    def __init__(self, events: Collected, subject: str, total: int) -> None:
        self._events, self._subject, self._total = events, subject, total
        self._done, self._began = 0, time.monotonic()
        self.frame, self.notice = lambda subject, row: None, events.notice

    def warning(self, subject: str, message: str) -> None:
        """Pass a warning on, unless it is of what an excerpt lacks and nobody sees."""
        if not message.endswith((UNMOVED, UNREPEATED)):
            self._events.warning(subject, message)

    def progress(self, progress: Progress) -> None:
        """Count the frames of an excerpt as a part of all."""
        share = progress.done / progress.total if progress.total else 0.0
        self._say(self._done + min(1.0, share))

    def next(self) -> None:
        """Count an excerpt that is made."""
        self._done += 1
        self._say(self._done)

    def _say(self, done: float) -> None:
        spent = time.monotonic() - self._began
        rate = done / spent if spent else 0.0
        eta = (self._total - done) / rate if rate else None
        self._events.progress(
            Progress(self._subject, int(done), self._total, rate, eta, "excerpt", "excerpts")
        )


def _made(
    jobs: Mapping[str, UpscaleJob | DeblurJob],
    compare: CompareJob,
    found: Sequence[Any],
    folder: Path,
    events: Collected,
) -> PreviewResult:
    from snellen.jobs.kinds.excerpts import check_scored, of_job, reel, source_parts
    from snellen.jobs.reports.run import Wording, score_and_report

    watched = _Watched(events, str(compare.reference), len(found) * len(jobs))
    first = next(iter(jobs.values()))
    reference = folder / "source.mkv"
    parts = source_parts(first, found)
    area = models_of(first).area if isinstance(first, UpscaleJob) else None
    frames = reel(parts, reference, moved(first, "preview"), area)
    check_scored(reference, str(compare.reference))
    made: list[_Made] = []
    files = []
    for at, (label, given) in enumerate(jobs.items()):
        job = settled(given, events, dry=True) if isinstance(given, UpscaleJob) else given
        # The codec may go by the container.
        suffix = ".webm" if job.target.suffix.lower() == ".webm" else ".mkv"
        parts, results, began = [], list[Any](), time.monotonic()
        for number, one in enumerate(found):
            file = folder / f"{at}-{number}{suffix}"
            results.append(run(of_job(job, one, file), watched))
            parts.append((file, Clip(interlaced="ignore"), one.start))
            watched.next()
        made.append(_Made(label, results, time.monotonic() - began, [file for file, *_ in parts]))
        files.append(folder / f"{at}.mkv")
        if (got := reel(parts, files[-1])) != frames:
            raise InputError(
                f"got {got} frames of {frames}: those of source and result must meet by number",
                parameter="preview",
                advice="leave filters out that drop or add frames",
            )
    total = made[0].frames
    every = max(1, total // _SCORED)
    about = replace(
        compare, reference=reference, variants=tuple(files), every=every,
        pictures=min(MOST_PICTURES, max(8, len(found) + 3)),
    )  # fmt: skip
    with closing(
        Source(compare.reference, Clip(map=first.video.clip.map, fps=first.video.clip.fps))
    ) as source:
        facts = of_film(source.info, None)
    long = float(sum(one.seconds for one in found))
    wording = Wording(
        (compare.reference.name, *jobs), found[0].start, (facts, *(one.facts(long) for one in made))
    )
    result = score_and_report(about, events, wording)
    name = result.scores[0].table.scores[0]
    means = [float(score.table.pooled()[name].mean) for score in result.scores]
    return PreviewResult(
        compare.target, tuple(float(one.start) for one in found),
        tuple(float(one.seconds) for one in found),
        tuple(
            PreviewVariant(one.label, one.frames, one.seconds, one.size, mean, one.model)
            for one, mean in zip(made, means, strict=True)
        ),
        result.pictures, result.size, tuple(text for _, text in events.warnings),
    )  # fmt: skip


class _Made:
    """One job's results of the excerpts, whose files are there."""

    def __init__(
        self, label: str, results: Sequence[Any], seconds: float, files: Sequence[Path]
    ) -> None:
        self.label, self.seconds = label, seconds
        self.frames = sum(one.summary.frames for one in results)
        self.model = str(getattr(results[0], "model", ""))
        self.size = sum(one.stat().st_size for one in files)
        with closing(Source(files[0], Clip(interlaced="ignore"))) as source:
            self._info = source.info

    def facts(self, seconds: float) -> Facts:
        """Return facts about the film that these are excerpts of."""
        known = [one for one in of_film(self._info, None) if one[0] != "File"]
        each = self.seconds / max(1, self.frames)
        found = [
            *known,
            ("Excerpts", f"{self.frames} frames, {_bytes(self.size)}"),
            ("Bits", f"{self.size * 8 / max(seconds, 1e-9) / 1e3:,.0f} kbit/s"),
            ("Work", f"{each:.2g} s a frame"),
        ]
        return tuple([*found, ("Model", Path(self.model).name)] if self.model else found)


def _bytes(count: int) -> str:
    return f"{count / 1e6:.3g} MB"
