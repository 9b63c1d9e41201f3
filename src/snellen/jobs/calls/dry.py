"""Does all of a job but the work, and says what it would do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.cpu import threads
from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.gpu import device as devices
from snellen.jobs.calls.execute import around
from snellen.jobs.calls.job_ticket import shareable
from snellen.jobs.calls.job_workers import devices_of
from snellen.jobs.events import Collected, Events, listening, notify
from snellen.jobs.fallback import chosen
from snellen.jobs.inputs.inputs import PIPE
from snellen.jobs.inputs.sequence import makes_film
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.upload import Staged
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.jobs.runs.stills import opened, pages_of
from snellen.jobs.runs.upscale_video import made, models_of, settled
from snellen.jobs.sharing.executors import planned, share
from snellen.jobs.sharing.segments import sharing
from snellen.schema import named
from snellen.upscaling.shipped import SCALES
from snellen.upscaling.target import geometry
from snellen.video.dry_run import FilmPlan

if TYPE_CHECKING:
    from snellen.jobs.kinds.choice import Models
    from snellen.jobs.kinds.files import FilmJob
    from snellen.jobs.runs.film import Making
    from snellen.video.steps.track import Track


@dataclass(frozen=True, slots=True, repr=False)
class DryRun(Brief):
    """A description of what a job would do."""

    source: Path | tuple[Path, ...]
    """The job's input."""
    target: Path
    """The file that it would write."""
    width: int
    height: int
    """Size of the result."""
    device: str
    """The device that would do the work: "cpu", or the GPU's own name."""
    model: str = ""
    """Name of the model of upscaling, or its file."""
    method: str = ""
    """The model's method: "aplus" or "cnn"."""
    source_kind: str | None = None
    """The kind of pictures that it is chosen for, and why; None: it is not chosen."""
    pages: int = 1
    """Pages of a TIFF file; sizes are those of the first page."""
    film: FilmPlan | None = None
    """The plan of a video: streams, chain, encoder, segments, estimate …; None: an image."""
    workers: tuple[str, ...] = ()
    """Device of each process that makes segments of a film; (): there is none but this one."""
    cores: int | None = None
    """Cores of the CPU, or of `threads`, for each of these; None: there are none."""
    cluster: str | None = None
    """Address of what makes the segments of a film, which is not asked; None: this machine does."""
    warnings: tuple[str, ...] = ()
    """All warnings of the run, those of losses too, without backticks."""
    free: int | None = None
    """Bytes that are free where the result comes; None: it is standard output."""

    @property
    def needed(self) -> int | None:
        """Bytes that the result needs, and its segments beside it; None: not known."""
        estimate = None if self.film is None else self.film.estimate
        if self.film is None or estimate is None or estimate.size is None:
            return None
        return estimate.size * (2 if self.film.segments.starts else 1)

    @property
    def seconds(self) -> float | None:
        """Seconds of a film's work by all workers, about; None: not known.

        They are as many times as fast as one, as long as there are cores for it: so many as one of
        them kept busy.
        """
        estimate = None if self.film is None else self.film.estimate
        if estimate is None or estimate.seconds is None:
            return None
        count = len(self.workers)
        room = count * (self.cores or 0) / max(estimate.cores, 0.01)
        return estimate.seconds / max(1.0, min(count, room))


@dataclass(frozen=True, slots=True)
class Together:
    """How workers would share files, each of which one of them makes."""

    files: int
    workers: tuple[str, ...]
    """Device of each; (): a cluster makes them."""
    cores: int
    """Cores of the CPU for each of these."""
    cluster: str | None
    """Its address; it is not asked."""
    seconds: float | None
    """Time for the films among these files, by all workers; None: not known, or there are none.
    Images are not timed beforehand."""


def together(jobs: Sequence[UpscaleJob | DeblurJob], found: Sequence[DryRun]) -> Together | None:
    """Return how the workers of several jobs would share their files; None: they would not.

    Parameters
    ----------
    jobs : sequence of jobs
        What `dry_run` was called for, without those that failed.
    found : sequence of DryRun
        What each would do.
    """
    tickets = shareable(dict(enumerate(jobs)))
    whole = [n for n in tickets if (film := found[n].film) is None or not film.segments.starts]
    if len(tickets) < 2 or not whole:
        return None
    job = tickets[whole[0]]
    if job.cluster is not None:
        return Together(len(whole), (), 0, job.cluster, None)
    workers = devices_of(job, len(tickets))
    if not workers:
        return None
    with threads.limited(job.threads):
        cores = share(workers)
    films = [film.estimate for n in whole if (film := found[n].film) is not None]
    seconds = [0.0 if one is None or one.seconds is None else one.seconds for one in films]
    most = max((one.cores for one in films if one is not None), default=0.0)
    at_once = max(1.0, min(len(workers), len(workers) * cores / max(most, 0.01)))
    known = bool(seconds) and all(seconds)
    time = max(sum(seconds) / at_once, *seconds) if known else None
    return Together(len(whole), workers, cores, None, time)


def dry_run(job: UpscaleJob | DeblurJob, events: Events | None = None) -> DryRun:
    """Do all of a job but the work, and return what it would do.

    Inputs are opened, the model and the encoder chosen, and what the output cannot hold is found.
    Of a film some frames of several places are made and encoded in memory, which takes some
    seconds. Nothing is written, no segments of an earlier run are removed, and folders that are
    missing are there only as long as this takes.

    Parameters
    ----------
    job : UpscaleJob or DeblurJob
        What to do.
    events : Events, optional
        Receives the warnings of the run.

    Returns
    -------
    DryRun

    Raises
    ------
    InputError, ModelError, DeviceError, OutputError
        As of `run`, as far as it can be known beforehand.
    """
    if not isinstance(job, UpscaleJob | DeblurJob):
        raise InputError(
            f"got a {type(job).__name__}; expected an UpscaleJob or a DeblurJob",
            parameter="jobs",
            advice="jobs of other kinds have no dry run",
        )
    listener = Collected(listening(events))
    staged = Staged(job, listener)
    found: DryRun = staged.result(_dry(staged.job, listener))
    return found


def _dry(job: FilmJob, events: Collected) -> DryRun:
    with around(job, events):
        if isinstance(job, UpscaleJob):
            is_film = makes_film(job.source, job.target, job.video.fps)
            return _enlarged_film(job, events) if is_film else _enlarged_image(job, events)
        job.check()
        track = None if job.region is None else job.region.track()
        if job.is_burst or not makes_film(job.sources[0], job.target, job.video.fps):
            return _restored_image(job, track, events)
        return _restored_film(job, track, events)


def _enlarged_film(job: UpscaleJob, events: Collected) -> DryRun:
    job = settled(job, events, dry=True)
    models = models_of(job)
    return _film(job, partial(made, job, models=models), events, models)


def _enlarged_image(job: UpscaleJob, events: Collected) -> DryRun:
    from snellen.jobs.kinds.choice import Models

    models = Models(job.model, job.method, job.source_kind)
    pages = pages_of(job.source, job.target)
    still, _ = opened(
        job.source, job, events, unused=named(job, "video"), page=pages[0] if pages else None
    )
    models.doubt(still.pixels, events, str(job.source))
    height, width = still.pixels.shape[:2]
    scales = SCALES if job.magnification else models.scales
    found = geometry(job.goal, width, height, scales=scales)
    for scale in found.scales:
        models(scale)
    return _image(job, found.width, found.height, events, pages=len(pages) or 1, **models.said())


def _restored_film(job: DeblurJob, track: Track | None, events: Collected) -> DryRun:
    from snellen.jobs.runs.deblur_video import restored
    from snellen.jobs.steps.deblur_step import FrameFits

    make = partial(restored, job, fits=FrameFits(lambda row: None, False), track=track)
    return _film(job, make, events, tries=track is None or track.file is None)


def _restored_image(job: DeblurJob, track: Track | None, events: Collected) -> DryRun:
    still, _ = opened(job.sources[0], job, events)
    height, width = still.pixels.shape[:2]
    if track is not None:
        track.check(width, height)
        if not job.paste_back:
            width, height = track.width, track.height
    return _image(job, width, height, events)


def _film(
    job: FilmJob, make: Making, events: Collected, models: Models | None = None, tries: bool = True
) -> DryRun:
    from snellen.jobs.runs.film import through
    from snellen.jobs.sharing.segments import segments_of
    from snellen.video.dry_run import dry_run as film

    how = segments_of(job, models, events, tidied=False)
    found = through(
        lambda ready: film(ready, segments=how and how(), tries=tries), job, make, events
    )
    said = {} if models is None else models.said()
    return DryRun(
        job.source, job.target, found.width, found.height, found.device, **said, film=found,
        **_workers(job, found, events), warnings=_texts(events), free=_free(job.target),
    )  # fmt: skip


def _image(job: FilmJob, width: int, height: int, events: Collected, **said: Any) -> DryRun:
    device = chosen(job.device, events).partition(",")[0]
    return DryRun(
        job.source, job.target, width, height, devices.name(device), **said,
        warnings=_texts(events), free=_free(job.target),
    )  # fmt: skip


def _workers(job: FilmJob, film: FilmPlan, events: Events) -> dict[str, Any]:
    """Return what is to be said of what makes segments, if it is not this process."""
    if not film.segments.starts:
        if len(planned(job)) != 1:
            from snellen.jobs.sharing.segments import UNWANTED
            from snellen.video.segments.cuts import ALONE, too_short

            why = (film.segments.why or too_short()) if job.segments else UNWANTED
            notify(events, str(job.source), f"{ALONE}: {why}")
        return {}
    if job.cluster is not None:
        return {"cluster": job.cluster}
    found = sharing(job, film.device)
    return {"workers": found, "cores": share(found)} if len(found) > 1 else {}


def _texts(events: Collected) -> tuple[str, ...]:
    return tuple(text for _, text in events.warnings)


def _free(target: Path) -> int | None:
    """Return the bytes that are free where an output comes."""
    if target == PIPE:
        return None
    try:
        return shutil.disk_usage(Path(os.path.realpath(target)).parent).free
    except OSError:
        return None
