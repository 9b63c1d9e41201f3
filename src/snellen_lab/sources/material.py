"""Training material like films: stills become clips, which are softened, shrunk and coded."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen_lab.sources.coder import PRESETS, SMALLEST, Coded, Coding, coded
from snellen_lab.sources.degrade import KERNELS, Bytes, shrunk, whole
from snellen_lab.sources.motion import shown, windows
from snellen_lab.sources.pack import Item

KINDS = ("film", "soft")
CRF = (18, 28)  # constant rate factors, best and worst
BLUR = (0.4, 1.0)  # σ of `soft`, in pixels of the low plane's source, that is of the high plane
X265 = 0.3  # share of clips that x265 codes; the others x264
FRAMES = 8  # of a clip: one I frame, then P and B frames
FIRST = 0.125  # share of items that are I frames, the others P and B
SETTLED = 2  # from this frame on rate control and motion search have something to go by
SIDE = 384  # of the high planes of a clip, at most
FULL = 0.2  # share of later clips whose codes are stretched to full range, for whites beyond 235
PART = 256  # of an item: a part of a frame, so that a pack of few megabytes shows every still


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one clip is made of a still."""

    kernel: str
    sigma: float
    """Blur before the shrinking, in pixels of the high plane."""
    coding: Coding
    frame: int
    """Which frame of the clip is used."""


def recipe(kind: str, random: np.random.Generator) -> Recipe:
    """Draw a recipe of a kind of source, "film" or "soft"."""
    if kind not in KINDS:
        raise InputError(f"no kind of source is called {kind!r}; there are {', '.join(KINDS)}")
    kernel = str(random.choice(sorted(KERNELS)))
    sigma = round(float(random.uniform(*BLUR)), 3) if kind == "soft" else 0.0
    encoder = "x265" if random.random() < X265 else "x264"
    crf = int(random.integers(CRF[0], CRF[1] + 1))
    frame = 0 if random.random() < FIRST else int(random.integers(SETTLED, FRAMES))
    return Recipe(kernel, sigma, Coding(encoder, crf), frame)


def items(
    stills: Mapping[str, Bytes],
    kind: str,
    scale: int,
    seed: int,
    *,
    rounds: int = 1,
    versions: int = 1,
    side: int = SIDE,
    part: int = PART,
    held_out: tuple[str, ...] = (),
) -> Iterator[Item]:
    """Make items for a pack, the same ones for the same arguments and versions of the encoders.

    An item depends on its still's name and not on the other stills. Stills come in an order that
    the seed shuffles, so that a part of the items is a sample of all. Stills that are too small to
    be coded when they are shrunk are left out.

    Parameters
    ----------
    stills : mapping
        Name → (H, W) uint8 luma in limited range.
    kind : str
        "film" or "soft".
    scale : int
        Magnification.
    rounds : int
        Clips of each still that is learnt from; one of each that is kept for validation.
    versions : int
        Codings of each clip that is learnt from. The first has preset medium.
    side, part : int
        Greatest side of the high planes of a clip, and of the part of a frame that is kept.
    held_out : tuple of str
        Beginnings of the names of stills that are kept for validation.

    Yields
    ------
    Item
        Its facts: recipe, window, type of frame, bits a pixel, version of the encoder, and the
        left and the top of its part of the frame.

    Raises
    ------
    InputError
        No such kind, or all stills are too small.
    """
    names = sorted(n for n, still in stills.items() if min(still.shape) >= scale * SMALLEST)
    if not names:
        raise InputError(
            "no still is large enough to be coded when it is shrunk",
            advice=f"give stills of at least {scale * SMALLEST} pixels on each side",
        )
    for number in range(rounds):
        for name in np.random.default_rng((seed, number)).permutation(names).tolist():
            held = bool(held_out) and name.startswith(held_out)
            if held and number:
                continue
            key = (seed, number, zlib.crc32(name.encode()))
            random = np.random.default_rng(key)
            made = [recipe(kind, random)]
            still = stills[name]
            if not held:
                more = np.random.default_rng((*key, 1))
                if number and more.random() < FULL:
                    still = full_range(still)
                made += [another(kind, more, made[0].frame) for _ in range(1, versions)]
            found, high, facts = codings(still, made, scale, random, side)
            lows, high, corner = cut(found, high, scale, random, part)
            for version, (low, fact) in enumerate(zip(lows, facts, strict=True)):
                title = f"{name}, {number}" + (f", {version}" if version else "")
                yield Item(title, high, {scale: low}, held, kind, {**fact, "part": corner})


def another(kind: str, random: np.random.Generator, frame: int) -> Recipe:
    """Draw a recipe with any preset, for the same frame of a clip."""
    made = recipe(kind, random)
    coding = replace(made.coding, preset=str(random.choice(PRESETS)))
    return replace(made, coding=coding, frame=frame)


def full_range(still: Bytes) -> Bytes:
    """Return luma of limited range with its codes stretched to 0 … 255."""
    return whole((still.astype(np.float32) - 16) * np.float32(255 / 219))


def cut(
    lows: Sequence[Bytes], high: Bytes, scale: int, random: np.random.Generator, side: int
) -> tuple[list[Bytes], Bytes, list[int]]:
    """Return the same part of all planes, and its left and top in the high one."""
    size = side // scale
    top, left = (int(random.integers(0, max(0, n - size) + 1)) for n in lows[0].shape)
    small = [low[top : top + size, left : left + size].copy() for low in lows]
    top, left, size = scale * top, scale * left, scale * size
    return small, high[top : top + size, left : left + size].copy(), [left, top]


def codings(
    still: Bytes, made: Sequence[Recipe], scale: int, random: np.random.Generator, side: int = SIDE
) -> tuple[list[Bytes], Bytes, list[dict[str, Any]]]:
    """Return a frame made by recipes: low planes, their high plane, and facts of each.

    All recipes use the same frame of one clip; `random` draws its motion.
    """
    highs, where = clip(still, scale, random, side)
    lows, facts = [], []
    for one in made:
        small = [shrunk(high, scale, one.kernel, one.sigma) for high in highs]
        result: Coded = coded(small, one.coding)
        lows.append(result.planes[one.frame])
        facts.append({
            **asdict(one), "type": result.kinds[one.frame], "bits": round(result.bits, 4),
            "version": result.version, "window": where[one.frame],
        })  # fmt: skip
    return lows, highs[made[0].frame], facts


def clip(
    still: Bytes, scale: int, random: np.random.Generator, side: int = SIDE, count: int = FRAMES
) -> tuple[list[Bytes], list[list[float]]]:
    """Return the frames of a clip that shows a still, and their windows: left, top, width, height.

    Sides are even after shrinking by `scale`. A still that is smaller than `side` has an eighth of
    its sides to move in, or what is left beside the smallest frame that can be coded.
    """
    step = 2 * scale
    least = scale * SMALLEST
    height, width = (min(side, max(n * 7 // 8, least), n) // step * step for n in still.shape)
    parts = windows((still.shape[0], still.shape[1]), (height, width), count, random)
    highs = [shown(still, part, (height, width)) for part in parts]
    return highs, [[part.left, part.top, part.width, part.height] for part in parts]
