"""Runs a deblurring job whose source is a video."""

from __future__ import annotations

import numpy as np

from snellen.jobs import psf_files
from snellen.jobs.deblur import DeblurJob, DeblurResult, method_settings
from snellen.jobs.deblur_outcomes import told
from snellen.jobs.deblur_step import DeblurStep, FrameFits
from snellen.jobs.events import Events
from snellen.jobs.film import converted, damage
from snellen.mia.result import AUTO
from snellen.video.region import RegionStep, Track


def deblur_video(job: DeblurJob, events: Events) -> DeblurResult:
    """Restore the luma of a video, or of its region."""
    (source,) = job.sources
    name = str(source)
    if job.mia.data_range is not None:
        events.warning(name, "`data_range` is for float images: without effect on a video")
    track = None if job.region is None else job.region.track()
    settings = {**method_settings(job), "prior": _chosen_prior(job)}
    _tell_of_plain_mia(job, name, events)
    fits = FrameFits(lambda row: events.frame(name, row), job.psf_out is not None)

    def step(device: str) -> RegionStep:
        work = DeblurStep(settings, device, job.mia.tile, job.window, job.warm, fits)
        return RegionStep(work, track, job.paste_back)

    summary = converted(
        source, job.target, step, device=job.device, video=job.video, quality=job.quality,
        strict=job.strict, overwrite=job.overwrite, events=events,
    )  # fmt: skip
    if job.psf_out is not None:
        psf_files.write(job.psf_out, np.array(fits.psfs), job.overwrite)
    if track is not None and not job.video.clip.is_part:
        _warn_of_spare(track, summary.frames, name, events)
    statistics = fits.statistics()
    outcome, said = told([row.outcome for row in fits.rows], "frames", name, events)
    return DeblurResult(
        source=source, target=job.target, width=summary.width, height=summary.height,
        device=summary.device, fit=statistics.fit, iterations=statistics.iterations,
        psf=fits.psfs[-1], psf_file=job.psf_out, outcome=outcome,
        warnings=(*summary.warnings, *said), summary=summary,
        statistics=statistics, frames=tuple(fits.rows),
        error=damage(source, job.target, summary),
    )  # fmt: skip


def _chosen_prior(job: DeblurJob) -> str | None:
    """Return the prior that finds the PSF of each frame, or None: plain MIA.

    "auto" is for whole frames, each by itself. Plain MIA takes what has more to go by than one
    frame, and regions, which a camera's stream needs soon.
    """
    mia = job.mia
    given = (mia.psf, mia.psf_start, job.region)
    is_plain = job.window > 1 or job.warm or any(one is not None for one in given)
    return None if mia.prior == AUTO and is_plain else mia.prior


def _tell_of_plain_mia(job: DeblurJob, name: str, events: Events) -> None:
    """Say what plain MIA does to a region for which nothing else was chosen."""
    mia, notice = job.mia, getattr(events, "notice", None)
    chosen = (mia.psf, mia.psf_start, mia.iterations)
    is_default = mia.prior == AUTO and job.window == 1 and not job.warm
    if job.region and is_default and all(one is None for one in chosen) and notice is not None:
        notice(
            name,
            "plain MIA finds the blur of a region along with it, and what is sharp becomes worse; "
            "`psf`, `window` and `prior` l0 have more to go by",
        )


def _warn_of_spare(track: Track, frames: int, name: str, events: Events) -> None:
    """Warn where there are more positions than there were frames."""
    if track.file is not None and (spare := len(track.positions) - frames) > 0:
        events.warning(name, f"{track.file} has {spare} positions more than there are frames")
