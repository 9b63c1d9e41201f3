"""Excerpts of films: where they are, the source as it is there, and several as one film."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames.step import Step, Unchanged
from snellen.jobs.kinds.deblur import DeblurJob
from snellen.jobs.kinds.enhance import Enhancement, enhanced
from snellen.jobs.kinds.upscale import UpscaleJob
from snellen.metrics.registry import MAD, check_size
from snellen.video.clip import Clip
from snellen.video.filtering.crop import Area
from snellen.video.media import Item, MediaInfo
from snellen.video.ready import inspected, readied
from snellen.video.sink.encode import silent
from snellen.video.sink.encoding import Encoding
from snellen.video.sink.sink import Sink
from snellen.video.source.decode import Source
from snellen.video.steps.chain import pushed

TRIED = 3
"""Places that are looked at for each excerpt."""

_NO_MORE = ("-0:a", "-0:s", "-0:d", "-0:t")
"""Streams that an excerpt leaves out, as maps: nobody hears or reads them."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a film."""

    start: Fraction
    """Seconds from the film's beginning."""
    seconds: Fraction


def excerpts(
    job: UpscaleJob | DeblurJob, count: int, at: Sequence[Fraction], seconds: Fraction
) -> tuple[Excerpt, ...]:
    """Return where the excerpts of a job's film, within its clip, are, in their order.

    So many (`count`) are spread over the film, where there is something to see; further ones begin
    `at` these times. Each is so long, or less where the film is too short. InputError: the film
    cannot be read, or is shorter than `at`.
    """
    path, clip = job.source, job.video.clip
    assert isinstance(path, Path)
    with closing(Source(path, clip, job.video.decoder)) as source:
        info = source.info
    seconds = max(seconds, 1 / info.rate)  # in which there is a frame
    for time in at:
        if _detail(path, info, time, seconds) < 0:
            raise InputError(
                f"{path} has no frame at or after {float(time):g} s", parameter="preview_at"
            )
    begin = clip.start or Fraction(0)
    length = seconds if info.frames is None else info.frames / info.rate
    found = [Excerpt(time, seconds) for time in at]
    if count:
        part = length / count
        short = min(seconds, part)
        for number in range(count):
            tries = [begin + part * number + (part - short) * Fraction(2 * one + 1, 2 * TRIED)
                     for one in range(TRIED)]  # fmt: skip
            seen = [_detail(path, info, time, short) for time in tries]
            if max(seen) >= 0 or not (number or at):
                found.append(Excerpt(tries[seen.index(max(seen))], short))
    found.sort(key=lambda one: one.start)
    kept: list[Excerpt] = []
    for one in found:
        if kept and one.start < kept[-1].start + kept[-1].seconds:
            if one.start == kept[-1].start:
                continue
            kept[-1] = replace(kept[-1], seconds=one.start - kept[-1].start)
        kept.append(one)
    return tuple(kept)


def _detail(path: Path, info: MediaInfo, time: Fraction, seconds: Fraction) -> float:
    """Return how much there is to see in a frame: 0 of a black one; −1: there is none."""
    clip = replace(info.clip, start=time or None, duration=seconds, frames=1)
    try:
        with closing(Source(path, clip, info.decoder, looked=True)) as source:
            frame = next(item.frame for item in source.items() if item.frame is not None)
    except InputError:  # damaged there, or the film is shorter than it states
        return -1.0
    return float(np.abs(np.diff(frame.planes[0].astype(np.float32), axis=1)).mean())


def of_job(job: UpscaleJob | DeblurJob, one: Excerpt, target: Path) -> UpscaleJob | DeblurJob:
    """Return a job that makes an excerpt of the film which a job makes."""
    clip = job.video.clip
    clip = replace(
        clip, start=one.start or None, duration=one.seconds, frames=None, map=(*clip.map, *_NO_MORE)
    )
    encoding = replace(job.video.encoding, options=silent(job.video.encoding.options))
    video = replace(job.video, clip=clip, audio="none", encoding=encoding)
    more: dict[str, Any] = {"target": target, "video": video, "overwrite": False, "strict": False}
    if isinstance(job, DeblurJob):
        return replace(job, **more, psf_out=None)
    more["enhancement"] = job.enhancement.silent()
    return replace(
        job, **more, segments=False, keep_segments=False, discard_segments=False, workers=None
    )


def check_scored(excerpts: Path, source: str) -> None:
    """Refuse (InputError) excerpts that the report of the preview cannot score."""
    with closing(Source(excerpts, Clip(interlaced="ignore"))) as opened:
        format = opened.info.picture.format
    try:
        check_size([MAD], format.width, format.height, source)
    except InputError as error:
        raise InputError(
            f"{error.message}: the report of a preview scores by it",
            parameter="preview",
            advice="make the film itself, or a part of it by `start` and `frames`",
        ) from None


Part = tuple[Path, Clip, Fraction]
"""A file, what of it, and where that begins, in seconds of the film."""


def source_parts(job: UpscaleJob | DeblurJob, found: Sequence[Excerpt]) -> list[Part]:
    """Return the excerpts of a job's source."""
    assert isinstance(job.source, Path)
    clip = replace(job.video.clip, frames=None)
    return [
        (job.source, replace(clip, start=one.start or None, duration=one.seconds), one.start)
        for one in found
    ]


def reel(
    parts: Sequence[Part],
    target: Path,
    before: Enhancement | None = None,
    area: Callable[[], Area | None] | None = None,
) -> int:
    """Write parts of files of one format, rising, into one film without loss; return its frames.

    Each is at its time. `before` is done to the frames; `area` returns the part inside black bars,
    for its `crop` "auto"; None: there are none.
    """
    path, clip, _ = parts[0]
    with ExitStack() as stack:
        film = stack.enter_context(inspected(path, target, clip=clip))
        step, info = _unchanged(film.info)
        if before:
            step, info = enhanced(film.info, before, _unchanged, lambda text: None, area=area)
        encoding = Encoding(codec="ffv1")
        ready = stack.enter_context(readied(film, step, info, encoding=encoding, audio="none"))
        sink = Sink(target, ready.output.muxer, ready.plan, ready.info, ready.copier)
        try:
            for path, clip, at in parts:
                shift = round(at / ready.plan.time_base)
                with closing(Source(path, clip)) as source:
                    ticks = source.info.time_base / ready.step.traits.ticks / ready.plan.time_base
                    frames = (item.frame for item in source.items() if item.frame is not None)
                    for made in pushed(ready.step, frames):
                        sink.write(Item(replace(made, pts=round(made.pts * ticks) + shift)))
            sink.finish()
        except BaseException:
            sink.abandon()
            raise
        return sink.written


def _unchanged(info: MediaInfo) -> tuple[Step, MediaInfo]:
    return Unchanged(), info
