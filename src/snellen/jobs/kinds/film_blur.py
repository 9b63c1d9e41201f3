"""`deblur` of an Enhancement: one blur for a whole film, given or estimated, and the step.

It is estimated where the film is sharpest: what is blurred by motion has more to undo than the film
as a whole, and what the sharpest frames share, all frames have. A film whose sharpest frames have
no blur, or of which they say different things, stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.files import atomic
from snellen.frames.step import Unchanged
from snellen.jobs.options import psf_files
from snellen.jobs.options.fields import Psf, Rows
from snellen.jobs.steps.deblur_step import UNSEEN, DeblurStep, FrameFits
from snellen.mia.image import deblur
from snellen.mia.psf import given
from snellen.mia.result import AUTO, IMPLAUSIBLE, RESTORED, Restored
from snellen.sources.kind import sharpness
from snellen.video.steps.region import RegionStep

if TYPE_CHECKING:
    from snellen.video.filtering.crop import Area

ITERATIONS, TV = 20, 0.001
"""Iterations of MIA for each frame, and its weight of total variation (lab/lut-grain-deblur.md)."""
SIDE = 15
"""Samples of the PSF that is looked for, each way."""
FRAMES, FEWEST = 3, 2
"""So many frames, the sharpest ones, are asked, and so many must agree; one of a single frame."""
PART = (720, 960)
"""Most rows and columns of a frame, in its middle, that are looked at."""
ALIKE = 0.7
"""Correlation from which on two PSFs agree."""
_DIGITS = 5
"""Decimals of a PSF that was found: those after them may depend on the machine."""

Float64 = npt.NDArray[np.float64]
Say = Callable[[str], None]


def blur_of(
    source: Path | None,
    maps: Sequence[str],
    crop: str | None,
    say: Say,
    *,
    out: Path | None = None,
    overwrite: bool = False,
) -> Rows | None:
    """Return the PSF of a film, as rows; None: there is none that could be undone.

    `source` is None if it is no file. `maps` says which of its streams are kept, as FFmpeg's -map;
    `crop` is the part of each picture that is worked on, as of `Enhancement`. `say` takes what was
    found; `out` is a file for the PSF, in which one of before is replaced where `overwrite` says
    so. InputError: the source is no video file, or `out` must not be written.
    """
    from snellen.video.filtering.crop import area
    from snellen.video.source.places import picture_area, sample

    if source is None or not source.is_file():
        raise InputError(
            "`deblur`=auto looks at frames all over the film beforehand; expected a video file",
            parameter="deblur",
            advice="give the PSF in a file: `deblur`=psf.npy",
        )
    if out is not None:
        atomic.check_target(out, source, overwrite=True)
    planes = sample(source, maps).planes
    part = None
    if crop is not None:
        part = picture_area(planes) if crop == AUTO else area(crop, "crop")
    psf = estimated([_middle(plane, part) for plane in planes], say)
    if out is not None and psf is not None:
        psf_files.check_same(out, np.array(psf), source, overwrite)
        psf_files.write(out, np.array(psf), overwrite)
    return psf


def estimated(planes: Sequence[npt.NDArray[np.uint8]], say: Say) -> Rows | None:
    """Return the rows of the PSF that the sharpest of some frames share; None: they share none.

    The planes, (H, W) uint8, are luma from all over the film. `say` takes what was found.
    """
    rates = [(sharpness([one]), at) for at, one in enumerate(planes)]
    rated = [(rate, at) for rate, at in rates if rate is not None]
    chosen = [at for _, at in sorted(rated, reverse=True)[:FRAMES]]
    psfs, reasons = [], []
    for at in chosen:
        restored: Restored[Any] = deblur(
            planes[at], psf_size=min(SIDE, *planes[at].shape), prior="auto", device="cpu",
            channel_axis=None, callback=UNSEEN,
        )  # fmt: skip
        reasons.append(str(restored.outcome))
        if restored.outcome == RESTORED:
            psfs.append(np.asarray(restored.psf, np.float64))
    psf = _shared(psfs, min(FEWEST, len(chosen)))
    if psf is None:
        say(_unchanged(len(chosen), reasons))
        return None
    say(
        f"deblur: {described(psf)} was found on the {len(chosen)} sharpest of "
        f"{len(planes)} frames, and is undone in all"
    )
    rows: Rows = tuple(tuple(float(x) for x in row) for row in psf)
    return rows


def step_of(psf: Psf, device: str) -> RegionStep:
    """Return the step that undoes a blur, of a file or as rows, in each frame.

    InputError: the file is no PSF, or holds several.
    """
    array = np.asarray(psf_files.resolved(psf))
    if array.ndim != 2:
        raise InputError(
            f"got PSFs of shape {array.shape}; expected one for the whole film, rows and columns",
            parameter="deblur",
        )
    return _FilmStep(given(array), device)


def described(psf: Float64) -> str:
    """Return a PSF in words: its size, and how wide it is across and down."""
    place = np.arange(len(psf)) - len(psf) // 2
    share = psf / psf.sum()
    across, down = (
        np.sqrt(max(0.0, (line * place**2).sum() - (line * place).sum() ** 2))
        for line in (share.sum(0), share.sum(1))
    )
    return f"a blur of {len(psf)}×{len(psf)} (σ {across:.1f} across, {down:.1f} down)"


class _FilmStep(RegionStep):
    """MIA with one PSF for all frames."""

    def __init__(self, psf: Float64, device: str) -> None:
        settings = {"psf": psf, "iterations": ITERATIONS, "tv": TV, "edges": "extend"}
        super().__init__(DeblurStep(settings, device, None, 1, False, _Unkept()))
        self.traits = replace(self.traits, label=f"deblur {len(psf)}×{len(psf)}")

    def alpha(self) -> Unchanged:
        """Return a step for the alpha channel of such frames, which is as it was made."""
        return Unchanged()


class _Unkept(FrameFits):
    """Takes fit and time of each frame, and forgets them: a film has many."""

    def __init__(self) -> None:
        super().__init__(lambda row: None, keep=False)

    def add(self, found: Restored[Any], ms: float) -> None:
        """Forget the next frame."""


def _middle(plane: npt.NDArray[np.uint8], crop: Area | None) -> npt.NDArray[np.uint8]:
    """Return the middle of a frame, or of the part that is worked on."""
    if crop is not None:
        plane = plane[crop.top :, crop.left :][: crop.height, : crop.width]
    parts = [
        slice(start := max(0, size - most) // 2, start + most)
        for size, most in zip(plane.shape, PART, strict=True)
    ]
    return np.ascontiguousarray(plane[parts[0], parts[1]])


def _shared(psfs: Sequence[Float64], fewest: int) -> Float64 | None:
    """Return the mean of PSFs that agree; None: fewer than so many do."""
    # It is the same seen from either side, so that no frame is moved.
    if len(psfs) < max(1, fewest):
        return None
    both = np.array([psf + psf[::-1, ::-1] for psf in psfs])
    flat = both.reshape(len(both), -1)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    agree = flat @ flat.T >= ALIKE
    alike = both[agree[agree.sum(axis=1).argmax()]]
    if len(alike) < fewest:
        return None
    mean = (alike / alike.sum(axis=(1, 2), keepdims=True)).mean(axis=0)
    rounded: Float64 = np.round(mean, _DIGITS)
    return rounded


def _unchanged(count: int, reasons: Sequence[str]) -> str:
    """Return why nothing is undone."""
    if not count:
        why = "its frames are flat"
    elif RESTORED in reasons:
        why = f"the {count} sharpest frames that were looked at share no blur"
    elif IMPLAUSIBLE in reasons:
        why = f"there is too much noise, or no blur that explains the {count} sharpest frames"
    else:
        why = f"the {count} sharpest frames that were looked at have no blur"
    return f"deblur: {why}, so nothing is undone"
