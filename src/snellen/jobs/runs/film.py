"""Runs a video through a step into a video, for upscaling and deblurring."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from snellen.errors import IncompleteError
from snellen.frames.step import Step
from snellen.jobs.events import Events, Progress, notify
from snellen.jobs.fallback import on_device
from snellen.jobs.inputs import sequence
from snellen.jobs.inputs.inputs import PIPE, standard_input, standard_output
from snellen.jobs.inputs.sequence import is_sequence
from snellen.jobs.inputs.stills import warn_of_quality
from snellen.jobs.options.options import VideoOptions
from snellen.jobs.runs.target import aim_of
from snellen.video import progress
from snellen.video.convert import Segments, Summary, convert
from snellen.video.media import MediaInfo
from snellen.video.ready import Ready, inspected, readied

T = TypeVar("T")
Making = Callable[[MediaInfo, str], tuple[Step, MediaInfo]]


def converted(
    source: Path,
    target: Path,
    make: Making,
    *,
    device: str,
    video: VideoOptions,
    quality: int | None,
    strict: bool,
    overwrite: bool,
    events: Events,
    segments: Callable[[], Segments | None] | None = None,
    aside: Callable[[], AbstractContextManager[object]] = nullcontext,
    before: Callable[[], object] | None = None,
) -> Summary:
    """Send a video through a step and return what was done.

    Parameters are those of `through`, but three: `segments` returns how a long film is cut, and is
    called when the step is made. `aside` returns a context in which frames go through the step that
    do not belong to the film: those of probes for a target quality. `before` is called when the
    output is complete, before it gets its name.

    Raises
    ------
    InputError, DeviceError, OutputError
        As `snellen.video.convert.convert`.
    """
    name = str(source)

    def report(p: progress.Progress) -> None:
        events.progress(Progress(name, p.frames, p.total, p.fps, p.eta, stage=p.stage))

    def chain(names: tuple[str, ...]) -> None:
        notify(events, name, f"chain: {' → '.join(names)}")

    aim = aim_of(video.encoding, device, name, events, aside)
    return through(
        lambda ready: convert(
            ready, segments=segments and segments(), aim=aim, before=before, on_progress=report,
            on_chain=chain,
        ),
        source, target, make, device=device, video=video, quality=quality, strict=strict,
        overwrite=overwrite, events=events,
    )  # fmt: skip


def through(
    function: Callable[[Ready], T],
    source: Path,
    target: Path,
    make: Making,
    *,
    device: str,
    video: VideoOptions,
    quality: int | None,
    strict: bool,
    overwrite: bool,
    events: Events,
) -> T:
    """Inspect a video, make its step, check and prepare all, and return what a function does.

    Parameters
    ----------
    function : callable
        `snellen.video.convert.convert`, or another one that takes what is ready.
    source, target : Path
        Files; "-" means standard input or output, as y4m. With `video.fps` the source may be a
        pattern or a folder of pictures.
    make : callable
        Called with what is in the source, and a device ("cpu", "cuda:N"); returns the step, and the
        source as the output is to state it.
    device : str
        The job's. Where "auto" chose a GPU whose memory does not suffice, the CPU does the work,
        unless the source is standard input.
    video : VideoOptions
        Part of the video, decoder and encoder.
    quality : int or None
        Of pictures, where the target is a pattern of them.
    strict : bool
        Whether a loss is an error.
    overwrite : bool
        Whether a file called `target` is replaced.
    events : Events
        Receives progress and warnings.
    """
    name = str(source)
    if not is_sequence(target) and target.suffix.lower() != ".webp":
        warn_of_quality(name, quality, events)

    pictures = video.fps if sequence.is_sequence_of(source, video.fps) else None

    def given() -> Any:
        if pictures:
            return sequence.opened(source, pictures, events)
        return standard_input() if source == PIPE else source

    def work(device: str) -> T:
        with (
            inspected(
                given(), standard_output() if target == PIPE else target,
                clip=video.clip, decoder=video.decoder, overwrite=overwrite,
            ) as film,
            readied(
                film, *make(film.info, device), encoding=video.encoding, audio=video.audio,
                quality=quality, strict=strict,
                on_warning=lambda text: events.warning(name, text),
            ) as ready,
        ):  # fmt: skip
            return function(ready)

    repeatable = source != PIPE and (pictures is not None or source.is_file())
    return on_device(work, device, name, events, repeatable=repeatable)


def damage(source: Path, target: Path, summary: Summary) -> IncompleteError | None:
    """Return the error that says what a damaged input lacked; None: it was whole."""
    if not summary.lost:
        return None
    return IncompleteError(
        f"{source} is damaged: {'; '.join(summary.lost)}; what could be decoded is in {target}"
    )
