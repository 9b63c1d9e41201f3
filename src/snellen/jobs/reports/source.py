"""The source of a job, as its result shows it: what both are compared by, pixel by pixel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.errors import InputError
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.enhance import Enhancement, add_steps
from snellen.jobs.kinds.enhance_line import Line
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.jobs.runs.upscale_video import models_of

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.media import MediaInfo
    from snellen.video.source.decode import Source


def moved(job: UpscaleJob | DeblurJob, parameter: str) -> Enhancement:
    """Return what of a job's enhancement moves pixels or frames before they are enlarged.

    `parameter` names what wants to compare the job's result with its source.

    Raises
    ------
    InputError
        Pixels or frames move after they are enlarged, or the result shows more or less.
    """
    if isinstance(job, DeblurJob):
        if job.region is not None and not job.paste_back:
            raise InputError(
                f"got `{parameter}` with `region`: the result must show the same as the source",
                parameter=parameter, advice="add `paste_back`=True",
            )  # fmt: skip
        return Enhancement()
    if job.fit in ("pad", "crop"):
        raise InputError(
            f"got `{parameter}` with `fit`={job.fit}: source and result are compared pixel by "
            "pixel, and their pictures end at other places",
            parameter=parameter, advice="leave one of them out",
        )  # fmt: skip
    options = job.enhancement
    if after := _moving(options.post_vf, "post_vf"):
        raise InputError(
            f"got `{parameter}` with {', '.join(after)} in `post_vf`: source and result are "
            "compared pixel by pixel, and such filters may move the result's",
            parameter=parameter, advice="put them into `vf`, or leave them out",
        )  # fmt: skip
    vf = options.vf if _moving(options.vf, "vf") else None
    return Enhancement(crop=options.crop, vf=vf)


@dataclass(frozen=True, slots=True)
class Shown:
    """Reads the source of a job so that its frames meet those of the result by number."""

    job: UpscaleJob | DeblurJob

    @property
    def how(self) -> tuple[str, ...]:
        """Options that say which part of the source is shown, and what is done to it before."""
        clip, before = self.job.video.clip, moved(self.job, "report")
        start = None if clip.start is None else f"{float(clip.start):g}"
        found = {
            "start": start, "deinterlace": clip.deinterlace or None, "ivtc": clip.ivtc or None,
            "crop": before.crop, "vf": before.vf,
        }  # fmt: skip
        return tuple(f"{name}={value}" for name, value in found.items() if value is not None)

    def opened(self) -> Source:
        """Open the source: the same part, deinterlaced as for the result, behind `moved`."""
        from snellen.video.source.decode import Source
        from snellen.video.source.thread import SteppedSource

        job = self.job
        assert isinstance(job.source, Path)
        clip, decoder, before = job.video.clip, job.video.decoder, moved(job, "report")
        if not isinstance(job, UpscaleJob) or not before:
            return Source(job.source, clip, decoder)
        area = models_of(job).area

        def make(info: MediaInfo) -> tuple[Step, MediaInfo]:
            from snellen.video.steps.chain import Chain

            line = Line(info, lambda text: None, area=area)
            add_steps(before, line)
            return Chain(*line.steps), line.info

        return SteppedSource(job.source, clip, decoder, make)


def _moving(chain: str | None, parameter: str) -> tuple[str, ...]:
    if chain is None:
        return ()
    from snellen.video.filtering.overlaps import moving
    from snellen.video.filtering.parse import parse

    return moving(parse(chain, parameter))
