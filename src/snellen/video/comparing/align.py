"""Finds by how many frames a film lags behind another one, from what both show."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.video.clip import Clip
from snellen.video.comparing.turning import applies, oriented
from snellen.video.source.decode import Source

SEARCH = 300
"""Most frames by which a film is found to lag behind, or to be ahead."""
FRAMES = 2 * SEARCH
"""Most frames of each film that are read."""
LEAST = 8
"""Pairs of frames that an offset must have."""
SIDE = 16
"""Rows and columns of the small picture by which a frame is known."""
# An offset is told if its difference is well below that of any other one (else the film hardly
# moves) and far below the usual one (else the films show different things).
BEST, USUAL = 0.8, 0.5

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Alignment:
    """The result of an alignment."""

    offset: int | None
    """Frames by which the distorted film lags behind; negative: is ahead; None: it cannot be told.
    """
    searched: int
    """Offsets up to this many frames either way were tried."""


def align(
    reference: Path,
    distorted: Path,
    clip: Clip,
    decoder: str = "auto",
    report: Callable[[int, int], None] | None = None,
) -> Alignment:
    """Find the offset of two films, from their first frames, or those at the clip's start.

    Up to 600 frames of each are read. Frames are compared as pictures of 16 × 16 samples, in which
    neither noise nor a difference of size counts, without their mean brightness. The clip's `start`
    is that of the reference, `decoder` is as for `compare`, and `report` is called after each frame
    with the number of frames that were read, and the most that will be. InputError: inputs that
    cannot be used.
    """
    whole = replace(clip, start=None, duration=None, frames=None)
    read = 0

    def small(
        source: Source, turned: bool, first: int, start: Fraction, most: int
    ) -> tuple[int, list[Float32]]:
        nonlocal read
        found: list[Float32] = []
        picture, number = source.info.picture, 0
        white = (1 << picture.format.bits) - 1
        for item in source.items():
            if item.frame is None:
                continue
            read += 1
            if number >= first and item.frame.pts * source.info.time_base >= start:
                first = first if found else number
                plane = item.frame.planes[0]
                found.append(
                    shrunk(oriented(plane, picture.display_matrix) if turned else plane, white)
                )
            number += 1
            if report:
                report(read, read + most - len(found))
            if len(found) == most:
                break
        return first, found

    with (
        closing(Source(reference, whole, decoder)) as one,
        closing(Source(distorted, whole, decoder)) as other,
    ):
        turned = applies(one.info, other.info)
        base, ones = small(one, turned, 0, clip.start or Fraction(0), FRAMES)
        first, others = small(
            other, turned, max(0, base - SEARCH), Fraction(0), FRAMES + min(base, SEARCH)
        )
    return best(ones, others, first - base)


def shrunk(plane: npt.NDArray[Any], white: float) -> Float32:
    """Return a picture of 16 × 16 samples, or fewer of a small plane, whose mean is 0."""
    step = max(1, min(plane.shape) // SIDE**2)  # of large planes every so many samples suffice
    small = plane[step // 2 :: step, step // 2 :: step].astype(np.float32)
    for axis in (0, 1):
        length = small.shape[axis]
        edges = np.arange(min(SIDE, length) + 1) * length // min(SIDE, length)
        widths = np.diff(edges).astype(np.float32)
        sums = np.add.reduceat(small, edges[:-1], axis)
        small = sums / (widths[:, None] if axis == 0 else widths)
    small = small.ravel() / np.float32(white)
    small -= small.mean()
    return small


def best(ones: list[Float32], others: list[Float32], shift: int = 0) -> Alignment:
    """Return the offset at which small pictures of two films are most alike.

    Frame 0 of `others` has a number that is `shift` above that of frame 0 of `ones`.
    """
    least = max(LEAST, min(len(ones), len(others)) // 2)
    offsets = [
        offset
        for offset in range(-SEARCH, SEARCH + 1)
        if len(_pairs(len(ones), len(others), offset - shift)) >= least
    ]
    searched = max((abs(offset) for offset in offsets), default=0)
    if not offsets:
        return Alignment(None, 0)
    one, other = np.stack(ones), np.stack(others)
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
    distances = np.sqrt(np.maximum(squares, 0) / one.shape[1])
    costs = np.empty(len(offsets))
    for place, offset in enumerate(offsets):
        pairs = np.array(_pairs(len(ones), len(others), offset - shift))
        costs[place] = distances[pairs, pairs + offset - shift].mean()
    found = int(np.argmin(costs))
    rest = np.delete(costs, found)
    told = len(rest) and costs[found] < min(BEST * rest.min(), USUAL * np.median(rest))
    return Alignment(offsets[found] if told else None, searched)


def _pairs(ones: int, others: int, lag: int) -> range:
    """Return which of the first frames have a partner, `lag` frames further on."""
    return range(max(0, -lag), min(ones, others - lag))
