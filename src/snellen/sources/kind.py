"""Which kind of source a film is: clean, film or soft, by its codec, bits, sharpness and traces.

Sharpness is how much energy the finest band has beside the next one, where the next one is
strongest: there coding leaves most of it. Both bands are second differences along rows and columns,
the next one of every other sample of a smoothed picture. Samples at the borders of 8 × 8 blocks do
not count, so that blocking does not look sharp. An edge that was drawn there, as in test patterns,
would then be seen by the wider filter alone and look soft: squares of pixels with nothing else say
nothing. What the codec or the bits would make clean is not, if most of the pictures have traces of
an earlier coding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

import numpy as np
import numpy.typing as npt

from snellen.sources.traces import Bytes, looks_coded

Float32 = npt.NDArray[np.float32]

BLOCK = 8  # pixels: the grid of H.264's and H.265's transforms
TILE = 16  # pixels: energies are compared in squares of this side
STRONGEST = 0.1  # share of tiles that count
SOFT = -0.8  # log₂ of the energies' ratio, below which several scenes are soft: lab/sources.md
SOFT_SCENE = -1.7  # likewise of a single one, whose own content moves it by ±0.5 and more
ALIKE = 0.15  # standard deviation of frames' sharpness, up to which they are of one scene
CLEAN = 1.0  # bits a pixel from which coding leaves no visible traces: lab/sources.md
MARGIN = 3  # pixels of the edge, which the wider filter does not reach
LEAST = 1e-3  # energy of a tile that is not flat
INSIDE = 1 / 30
"""Share of a tile's coarse energy in the middle of blocks, below which the tile says nothing.

Half of 0.067, which a sharp step has one sample beside the border; at the border it has none."""
EXACT = frozenset((
    "ffv1", "rawvideo", "huffyuv", "ffvhuff", "utvideo", "v210", "v410", "png", "qtrle", "magicyuv",
    "prores", "dnxhd", "cfhd",
))  # fmt: skip
"""FFmpeg's names of codecs without loss, and of those that studios work with."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A decision, and what it is from."""

    name: str
    """"clean", "film" or "soft"."""
    reason: str
    """For the reader."""
    sharpness: float | None
    """log₂ of the ratio of energies; None: the pictures are flat."""


def decide(frames: Sequence[Bytes], codec: str, bits: float | None, noisy: bool = False) -> Kind:
    """Decide once for a film.

    Parameters
    ----------
    frames : sequence of (H, W) uint8
        Luma of a few frames from all over the film; the energies of all are taken together, so
        that the scenes with much detail decide.
    codec : str
        FFmpeg's name of the codec.
    bits : float, optional
        Of the video stream, a pixel of luma. None: not known.
    noisy : bool
        Whether the film is known to have noise, which takes bits: then neither these nor the codec
        make it clean, since the models for film leave noise as it is (lab/sources.md).
    """
    found = sharpness(frames)
    limit, of = (SOFT_SCENE, " of one scene") if _of_one_scene(frames) else (SOFT, "")
    if found is not None and found < limit:
        return Kind("soft", f"sharpness {found:.2f}{of} is under {limit:g}", found)
    said = "flat pictures" if found is None else f"sharpness {found:.2f}"
    if noisy:
        return Kind("film", f"noise is to be reduced; {said}", found)
    rate = "" if bits is None else f", {bits:.2f} bits a pixel"
    if codec not in EXACT and (bits is None or bits < CLEAN):
        return Kind("film", f"{codec}{rate}; {said}", found)
    traces = traces_in(frames)
    if traces is not None:
        return Kind("film", f"{codec}, but {traces}; {said}", found)
    reason = " leaves no traces" if codec in EXACT else rate
    return Kind("clean", f"{codec}{reason}; {said}", found)


def traces_in(frames: Sequence[Bytes]) -> str | None:
    """Return that most of some frames look coded, for the reader; None: they do not."""
    found = sum(map(looks_coded, frames))
    if 2 * found <= len(frames):
        return None
    return f"{found} of {len(frames)} pictures look coded"


def _of_one_scene(frames: Sequence[Bytes]) -> bool:
    """Return whether frames are so alike that they say no more than one of them."""
    each = [found for frame in frames if (found := sharpness([frame])) is not None]
    return len(each) < 2 or float(np.std(each)) <= ALIKE


def sharpness(frames: Sequence[Bytes]) -> float | None:
    """Return log₂ of the ratio of energies of the finest band and the next; None: flat."""
    tiles = [
        np.stack([_tiles(energy) for energy in bands(plane)])
        for frame in frames
        for plane in (frame.astype(np.float32), frame.T.astype(np.float32))
    ]
    found = np.concatenate(tiles, axis=1) if tiles else np.zeros((3, 0))
    fine, coarse, middle = found[:, found[1] > LEAST]
    says = middle >= INSIDE * coarse
    if not says.any():
        return None
    strong = says & (coarse >= np.quantile(coarse[says], 1 - STRONGEST))
    return log2(max(fine[strong].sum() / coarse[strong].sum(), LEAST))


def bands(plane: Float32) -> tuple[Float32, Float32, Float32]:
    """Return the energies of both bands along rows, 0 where samples do not count.

    The third are those of the coarse band where its filter stays within a block.
    """
    width = plane.shape[1]
    inside = slice(MARGIN, width - MARGIN)
    place = np.arange(width)[inside] % BLOCK
    counts = (place != 0) & (place != BLOCK - 1)
    fine, coarse = np.zeros_like(plane), np.zeros_like(plane)
    if width > 2 * MARGIN:
        fine[:, inside] = counts * _second(plane, 1)[:, MARGIN - 1 : 1 - MARGIN]
        smooth = (plane[:, :-2] + 2 * plane[:, 1:-1] + plane[:, 2:]) / np.float32(4)
        coarse[:, inside] = counts * _second(smooth, 2)
    middle = (place == BLOCK // 2 - 1) | (place == BLOCK // 2)
    inner = np.zeros_like(plane)
    inner[:, inside] = coarse[:, inside] * middle
    return fine**2, coarse**2, inner**2


def _second(plane: Float32, step: int) -> Float32:
    """Return second differences over a distance, where both neighbours exist."""
    middle = plane[:, step:-step]
    found: Float32 = middle + middle - plane[:, : -2 * step] - plane[:, 2 * step :]
    return found


def _tiles(energy: Float32) -> Float32:
    """Return the sums of squares of TILE pixels; what is left at the end does not count."""
    rows, columns = (side // TILE for side in energy.shape)
    cut = energy[: rows * TILE, : columns * TILE]
    sums: Float32 = cut.reshape(rows, TILE, columns, TILE).sum(axis=(1, 3)).ravel()
    return sums
