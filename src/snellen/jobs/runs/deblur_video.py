"""Runs a deblurring job whose source is a video."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.frames.arrays import host
from snellen.jobs.events import Events
from snellen.jobs.kinds.deblur import DeblurJob, DeblurResult, method_settings
from snellen.jobs.options import psf_files
from snellen.jobs.runs.deblur_outcomes import report_outcomes
from snellen.jobs.runs.film import converted, damage, worked
from snellen.jobs.sharing.segments import segments_of
from snellen.jobs.steps.deblur_step import DeblurStep, FrameFits
from snellen.mia.l0 import judge
from snellen.mia.result import AUTO, SHARP
from snellen.video.segments.begin import Part, make_part
from snellen.video.steps.region import RegionStep
from snellen.video.steps.track import Track

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.media import MediaInfo

LOOKS, LOOK_EVERY, LOOK_SIDE = 4, 6, 512
"""So many frames are looked at, the first of so many, and so many samples each way in their middle:
0.1 s on a CPU."""
WORSE = (
    "no blur found in the first frames: plain MIA makes sharp frames worse; `prior` frames leaves "
    "them as they are"
)
"""Warning of a film for which nothing was chosen."""


def deblur_video(job: DeblurJob, events: Events, only_join: bool = False) -> DeblurResult:
    """Restore the luma of a video, or of its region; or only join its segments."""
    (source,) = job.sources
    name = str(source)
    if job.mia.data_range is not None:
        events.warning(name, "`data_range` is for float images: without effect on a video")
    track = None if job.region is None else job.region.track()
    look = _Look(name, events) if job.region is None and _is_default(job) else None
    fits = FrameFits(lambda row: events.frame(name, row), job.psf_out is not None)

    def before() -> None:  # who finds the film finds its PSFs, too
        if job.psf_out is not None:
            psf_files.write(job.psf_out, np.array(fits.psfs), job.overwrite)

    summary = converted(
        job, partial(restored, job, fits=fits, track=track, look=look), events,
        segments_of(job, None, events, made, notes=fits.unpack, only_join=only_join),
        fits.aside, before,
    )  # fmt: skip
    if track is not None and not job.video.clip.is_part:
        _warn_of_spare(track, summary.frames, name, events)
    statistics = fits.statistics()
    outcome, said = report_outcomes([row.outcome for row in fits.rows], "frames", name, events)
    if look is not None:
        look.warn()
        said = (*said, *look.said)
    return DeblurResult(
        source=source, target=job.target, width=summary.width, height=summary.height,
        device=summary.device, fit=statistics.fit, iterations=statistics.iterations,
        psf=fits.psfs[-1], psf_file=job.psf_out, outcome=outcome,
        warnings=(*summary.warnings, *said), summary=summary,
        statistics=statistics, frames=tuple(fits.rows),
        error=damage(source, job.target, summary),
    )  # fmt: skip


def part_of(job: DeblurJob, events: Events, numbers: range) -> Part:
    """Make segments of a video by their numbers; without any, write how it is cut."""
    cut = segments_of(job, None, events, made, numbers=numbers)
    return worked(make_part, job, partial(made, job), events, cut)


def made(job: DeblurJob, info: MediaInfo, device: str) -> tuple[Step, MediaInfo]:
    """Return the step of a job for a film, in a process of its own, and the film as it is."""
    fits = FrameFits(lambda row: None, job.psf_out is not None)
    track = None if job.region is None else job.region.track()
    return restored(job, info, device, fits=fits, track=track)


def restored(
    job: DeblurJob,
    info: MediaInfo,
    device: str,
    *,
    fits: FrameFits,
    track: Track | None,
    look: Callable[[Any], None] | None = None,
) -> tuple[Step, MediaInfo]:
    """Return the step of a job for a film and a device, and the film as it is.

    `fits` and `look` receive what was found of each frame, and its luma; `track` is the job's.
    """
    settings = method_settings(job)
    if job.mia.prior == AUTO:  # which is for stills
        settings["prior"] = None
    first = device.partition(",")[0]  # several share segments, each in a process of its own
    work = DeblurStep(settings, first, job.mia.tile, job.window, job.warm, fits, look)
    return RegionStep(work, track, job.paste_back), info


class _Look:
    """Looks at some of the first frames of a film, and warns if none of them has a blur."""

    def __init__(self, name: str, events: Events) -> None:
        self.said: tuple[str, ...] = ()
        self._name, self._events = name, events
        self._frames, self._outcomes = 0, list[str]()

    def __call__(self, plane: Any) -> None:
        """Look at the luma of the next frame, of NumPy or CuPy."""
        if self._frames % LOOK_EVERY == 0 and len(self._outcomes) < LOOKS:
            plane = host(plane)
            height, width = plane.shape
            top, left = max(0, height - LOOK_SIDE) // 2, max(0, width - LOOK_SIDE) // 2
            part = plane[top : top + LOOK_SIDE, left : left + LOOK_SIDE]
            self._outcomes.append(judge.before(part, None, 1))
            if len(self._outcomes) == LOOKS:
                self.warn()
        self._frames += 1

    def warn(self) -> None:
        """Warn, once, if all frames that were looked at are sharp."""
        if self._outcomes and not self.said and {*self._outcomes} == {SHARP}:
            self.said = (WORSE,)
            self._events.warning(self._name, WORSE)


def _is_default(job: DeblurJob) -> bool:
    """Return whether nothing is chosen that says that the film is blurred, and how."""
    mia = job.mia
    chosen = (mia.psf, mia.psf_start, mia.iterations, mia.tile)
    return mia.prior == AUTO and job.window == 1 and not job.warm and chosen.count(None) == 4


def _warn_of_spare(track: Track, frames: int, name: str, events: Events) -> None:
    """Warn where there are more positions than there were frames."""
    if track.file is not None and (spare := len(track.positions) - frames) > 0:
        events.warning(name, f"{track.file} has {spare} positions more than there are frames")
