"""Runs a video through a step into a video, for upscaling and deblurring."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from snellen.errors import IncompleteError
from snellen.frames.step import Step
from snellen.jobs.events import Events, Progress, notify
from snellen.jobs.fallback import on_device
from snellen.jobs.inputs.inputs import PIPE, standard_input, standard_output
from snellen.jobs.inputs.sequence import is_sequence, is_sequence_of, opened
from snellen.jobs.kinds.files import FilmJob
from snellen.jobs.runs.stills import warn_of_quality
from snellen.jobs.runs.target import aim_of
from snellen.video.convert import Segments, Summary, convert
from snellen.video.media import MediaInfo
from snellen.video.progress import Progress as Frames
from snellen.video.ready import Ready, inspected, readied

T = TypeVar("T")
Making = Callable[[MediaInfo, str], tuple[Step, MediaInfo]]
Cutting = Callable[[], Segments | None]


def converted(
    job: FilmJob,
    make: Making,
    events: Events,
    segments: Cutting | None = None,
    aside: Callable[[], AbstractContextManager[object]] = nullcontext,
    before: Callable[[], object] | None = None,
) -> Summary:
    """Make the film of a job, and return what was done.

    `before` is called when the output is complete, before it gets its name. The other parameters
    are those of `worked`, and errors those of `snellen.video.convert.convert`.
    """

    def chain(names: tuple[str, ...]) -> None:
        notify(events, str(job.source), f"chain: {' → '.join(names)}")

    how = partial(convert, before=before, on_chain=chain)
    return worked(how, job, make, events, segments, aside)


def worked(
    function: Callable[..., T],
    job: FilmJob,
    make: Making,
    events: Events,
    segments: Cutting | None,
    aside: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> T:
    """Call `convert` or `make_part` when all is ready, with segments and target of a job.

    `segments` returns how a long film is cut, as of `segments_of`, and is called when the step is
    made. `aside` returns a context in which frames go through the step that do not belong to the
    film: those of probes for a target quality. The other parameters are those of `through`.
    """
    name = str(job.source)

    def report(p: Frames) -> None:
        events.progress(Progress(name, p.frames, p.total, p.fps, p.eta, stage=p.stage))

    aim = aim_of(job.video.encoding, job.device, name, events, aside)
    return through(
        lambda ready: function(
            ready, segments=segments and segments(), aim=aim, on_progress=report
        ),
        job, make, events,
    )  # fmt: skip


def through(function: Callable[[Ready], T], job: FilmJob, make: Making, events: Events) -> T:
    """Inspect a video, make its step, check and prepare all, and return what a function does.

    `make` is called with what is in the source, and a device ("cpu", "cuda:N"); it returns the
    step, and the source as the output is to state it. Where "auto" chose a GPU whose memory does
    not suffice, the CPU does the work, unless the source is standard input.
    """
    source, target, video = job.source, job.target, job.video
    assert isinstance(source, Path)  # not the pictures of a burst
    name = str(source)
    if not is_sequence(target) and target.suffix.lower() != ".webp":
        warn_of_quality(name, job.quality, events)

    pictures = video.fps if is_sequence_of(source, video.fps) else None

    def given() -> Any:
        if pictures:
            return opened(source, pictures, events)
        return standard_input() if source == PIPE else source

    def work(device: str) -> T:
        with (
            inspected(
                given(), standard_output() if target == PIPE else target,
                clip=video.clip, decoder=video.decoder, overwrite=job.overwrite,
            ) as film,
            readied(
                film, *make(film.info, device), encoding=video.encoding, audio=video.audio,
                quality=job.quality, strict=job.strict,
                on_warning=lambda text: events.warning(name, text),
            ) as ready,
        ):  # fmt: skip
            return function(ready)

    repeatable = source != PIPE and (pictures is not None or source.is_file())
    return on_device(work, job.device, name, events, repeatable=repeatable)


def damage(source: Path, target: Path, summary: Summary) -> IncompleteError | None:
    """Return the error that says what a damaged input lacked; None: it was whole."""
    if not summary.lost:
        return None
    return IncompleteError(
        f"{source} is damaged: {'; '.join(summary.lost)}; what could be decoded is in {target}"
    )
