"""VMAF of the frames of films that a report has scores of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format, Plane
from snellen.jobs.compare import CompareJob
from snellen.jobs.reports.pictures import Walk
from snellen.video import vmaf
from snellen.video.differences import sizes
from snellen.video.media import MediaInfo
from snellen.video.pairing import shapings
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
        format = Format(*sizes(one.info, other.info)[0], bits)
        shapes = shapings(one.info, other.info)
        walks = (Walk(one), Walk(other))

        def pairs() -> Iterator[tuple[Plane, Plane]]:
            with suppress(InputError):  # the last frame has none after it
                for n in needed:
                    frames = walks[0].to(n), walks[1].to(n + offset)
                    first, second = (
                        _deepened(shape(frame.planes[0]), source.info, bits)
                        for shape, frame, source in zip(shapes, frames, (one, other), strict=True)
                    )
                    yield first, second

        try:
            scores = vmaf.scores(pairs(), format)
        except InputError as error:
            raise error.about(f"{job.reference} {variant}") from None
        found = dict(zip(needed, scores, strict=False))
    return tuple(found.get(n) for n in numbers)


def _deepened(plane: Plane, info: MediaInfo, bits: int) -> Plane:
    """Return the luma of a frame in the depth of the comparison."""
    own = info.picture.format.bits
    return plane if own == bits else np.left_shift(plane.astype(np.uint16), bits - own)
