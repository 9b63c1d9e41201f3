"""VMAF of the frames of films that a report has scores of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.jobs.compare import CompareJob
from snellen.jobs.reports.pictures import Walk
from snellen.video import vmaf
from snellen.video.differences import size
from snellen.video.media import MediaInfo
from snellen.video.resize import resize
from snellen.video.source.decode import Source


def curve(
    job: CompareJob, variant: Path, offset: int, numbers: Sequence[int]
) -> tuple[float | None, ...]:
    """Return VMAF of a variant's frames; None: there is no such frame any more.

    VMAF takes motion from the frames before and after each, so that these are decoded, too.

    Parameters
    ----------
    job : CompareJob
        About films.
    variant : Path
        One of them.
    offset : int
        Of its frames.
    numbers : sequence of int
        Of the reference's frames, rising.
    """
    clip = replace(job.clip, start=None, duration=None, frames=None)
    needed = sorted({n + more for n in numbers for more in (-1, 0, 1) if n + more >= 0})
    needed = [n for n in needed if n + offset >= 0]
    with closing(Source(job.reference, clip)) as one, closing(Source(variant, clip)) as other:
        bits = max(one.info.picture.format.bits, other.info.picture.format.bits)
        format = Format(*size(one.info), bits)
        walks = (Walk(one), Walk(other))

        def pairs() -> Iterator[tuple[Plane, Plane]]:
            with suppress(InputError):  # the last frame has none after it
                for n in needed:
                    frames = walks[0].to(n), walks[1].to(n + offset)
                    yield (
                        _plane(frames[0], one.info, format), _plane(frames[1], other.info, format)
                    )  # fmt: skip

        found = dict(zip(needed, vmaf.scores(pairs(), format), strict=False))
    return tuple(found.get(n) for n in numbers)


def _plane(frame: Frame, info: MediaInfo, format: Format) -> Plane:
    """Return the luma of a frame in the size and depth of the comparison."""
    plane, bits = frame.planes[0], info.picture.format.bits
    if size(info) != (format.width, format.height):
        plane = resize(plane, bits, format.width, format.height)
    if bits == format.bits:
        return plane
    return np.left_shift(plane.astype(np.uint16), format.bits - bits)
