"""ST-MAD: how much a clip differs from its reference, in its frames and in slices through time.

Vu, Vu and Chandler, "A spatiotemporal most-apparent-distortion model for video quality assessment",
ICIP 2011, as the authors' code computes it. HI and LO of each frame → SMAD; LO of slices (height ×
time and time × width), weighted by how the reference moves there → TMAD; both → STMAD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import log10
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.brief import Brief
from snellen.frames.frame import Format
from snellen.frames.placement import choose_together
from snellen.mad.combine import B1, B2
from snellen.mad.definition import SMALLEST
from snellen.mad.motion import SIDE, Motion, motion
from snellen.mad.pictures import check, plain
from snellen.mad.scorer import Scorer

HI_SCALE = 10.0  # of the detection map's root mean square; MAD of 2011 has 200
ALPHA = 3 / 7  # of the authors' code: in the logarithm of the strengths, and their exponent
FIRST = 4  # index of the first slice; the next one lies SIDE on
GROUP = 8  # column slices cut at once, every SIDE-th of 64 bytes, which a CPU reads together

Array = Any
"""An array of NumPy or CuPy."""

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class TemporalScore(Brief):
    """How much a clip differs from its reference; higher is worse."""

    stmad: float
    """Score of both parts, on a logarithmic scale that begins below 0: of identical clips it is
    between about −3 and −1, depending on the directions of their motion."""
    smad: float
    """Score of the frames: 1 for identical clips."""
    tmad: float
    """Score of the slices through time: 0 for identical clips."""


def st_mad(
    reference: Any,
    distorted: Any,
    *,
    data_range: float | None = None,
    device: str | Sequence[str] = "auto",
    dtype: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> TemporalScore:
    """Score a whole clip against its reference by ST-MAD.

    Parameters
    ----------
    reference, distorted : array
        (T, M, N) luma, at least 34 of each, of dtypes and libraries as for `snellen.score`. Slices
        run through all frames, so both clips are in memory; further buffers serve one frame, or one
        slice. Distances in time count in frames, whatever the frame rate.
    data_range : float, optional
        The sample value of white, as for `snellen.score`.
    device, dtype : str
        As for `snellen.score`.
    progress : callable, optional
        Called with (done, total) after each frame and each slice.

    Returns
    -------
    TemporalScore

    Raises
    ------
    InputError
        As of `snellen.score`; fewer than 34 frames, rows or columns; a reference in which nothing
        moves, as the weights are shares of its motion, and the authors' code divides 0 by 0.
    DeviceError
        The device cannot be used, or the GPU's memory does not suffice.
    """
    clips = reference, distorted
    home, chosen = choose_together(clips, device, "MAD")
    scorer = Scorer(hi_scale=HI_SCALE, device=chosen, dtype=dtype)
    with arrays.working(home, chosen[0]), scorer:
        one, other = (arrays.read(clip) for clip in clips)
        peak = _checked(one, other, data_range)
        moves = motion(plain(arrays.host(frame), peak, "cpu") for frame in one)
        if not moves.of_rows > 0:
            raise InputError(
                f"nothing moves in the {len(one)} frames of the reference; ST-MAD weighs by motion "
                "and is 0/0 there",
                advice="score the frames with snellen.score",
            )
        return _scored((one, other), peak, moves, scorer, progress)


def spatial(hi: float, lo: float) -> float:
    """Return SMAD of the means over all frames."""
    sig = 1 / (1 + B1 * hi**B2)
    return float(hi ** (sig / 4) + lo ** (1 - sig))


def temporal(columns: Float64, rows: Float64, moves: Motion) -> float:
    """Return TMAD of LO of each slice."""
    of_columns = _strength(moves.columns, columns)
    of_rows = _strength(moves.rows, rows)
    return float(of_rows**ALPHA + of_columns ** (1 - ALPHA))


def joined(smad: float, tmad: float, moves: Motion) -> float:
    """Return STMAD, in which SMAD counts by the share of the rows' motion."""
    share = moves.of_rows / (moves.of_rows + moves.of_columns)
    return 2.5 * log10(log10(1 + share) * smad) + tmad


def _strength(weights: Float64, lo: Float64) -> float:
    """Return the weighted mean of LO times the logarithm of the total motion."""
    total = weights.sum()
    return float(np.log10(1000 * ALPHA + total) * (weights @ lo) / total)


def _scored(
    clips: tuple[Array, Array], peak: float, moves: Motion, scorer: Scorer,
    progress: Callable[[int, int], object] | None,
) -> TemporalScore:  # fmt: skip
    """Return the score of two checked clips."""
    dtype, (t, m, n) = clips[0].dtype, clips[0].shape
    bits = 8 * int(dtype.itemsize) if dtype.kind == "u" else 0
    done, total = count(1), t + len(moves.columns) + len(moves.rows)

    def compare(height: int, width: int, cut: Callable[[Array], Iterator[Array]]) -> Float64:
        """Return HI and LO (pictures, 2) of all pictures that `cut` yields of the clips."""
        scorer.prepare(Format(width, height, bits, white=peak))
        found = []
        for pair in zip(*map(cut, clips), strict=True):
            score = scorer.run(*(plain(plane, peak, scorer.devices[0]) for plane in pair))
            found.append((score.hi, score.lo))
            if progress:
                progress(next(done), total)
        return np.array(found)

    smad = spatial(*compare(m, n, iter).mean(0).tolist())
    columns, rows = compare(m, t, _columns), compare(t, n, _rows)
    tmad = temporal(columns[:, 1], rows[:, 1], moves)
    return TemporalScore(joined(smad, tmad, moves), smad, tmad)


def _columns(clip: Array) -> Iterator[Array]:
    """Yield the slices (M, T) through columns 4, 12, 20 … of the whole blocks."""
    xp, end = arrays.library(clip), clip.shape[2] // SIDE * SIDE
    for first in range(FIRST, end, GROUP * SIDE):
        group = xp.ascontiguousarray(clip[:, :, first : min(first + GROUP * SIDE, end) : SIDE])
        yield from xp.ascontiguousarray(group.T)


def _rows(clip: Array) -> Iterator[Array]:
    """Yield the slices (T, N) through rows 4, 12, 20 … of the whole blocks."""
    for row in range(FIRST, clip.shape[1] // SIDE * SIDE, SIDE):
        yield clip[:, row]


def _checked(reference: Array, distorted: Array, data_range: float | None) -> float:
    """Return the sample value of white; refuse (InputError) clips that cannot be scored."""
    if reference.shape != distorted.shape:
        raise InputError(
            f"got a reference of {reference.shape} and a distorted clip of {distorted.shape}; "
            "expected equal shapes",
            advice="cut or resize one",
        )
    if reference.ndim != 3 or min(reference.shape) < SMALLEST:
        raise InputError(
            f"got clips of {reference.shape}; expected luma (frames, height, width) with at least "
            f"{SMALLEST} of each, as slices through time are scored like pictures"
        )
    peaks = [check(*pair, data_range) for pair in zip(reference, distorted, strict=True)]
    return peaks[0]
