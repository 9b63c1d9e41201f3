"""Clips whose frames are known without coding, and what a maker of films does to them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from snellen.errors import InputError
from snellen_lab.sources import material
from snellen_lab.sources.coder import Coded, Coding, coded
from snellen_lab.sources.degrade import Bytes, resized, shrunk, whole

FRAMES = 12  # of a clip
USED = (5, 9)  # frames that are measured: rate control has settled
START = 60  # frames of a film before the clip: titles and fades
HEIGHT = 540  # rows of a truth, at most: a film is shrunk to it, which hides its own coding
SIDE = 448  # of clips of stills
SEED = 16


@dataclass(frozen=True, eq=False, slots=True)
class Clip:
    """Consecutive frames of luma."""

    name: str
    truths: list[Bytes]


@dataclass(frozen=True, slots=True)
class Source:
    """The treatment of a clip before it is enlarged."""

    name: str
    coding: Coding | None = None
    sigma: float = 0.0
    """Blur in pixels of the truth."""
    base: str = "uncoded"
    """The source that differs by its coding only."""

    @property
    def folder(self) -> str:
        """Folder of its pictures."""
        return self.name.replace(",", "").replace(" ", "-")

    def lows(self, clip: Clip, scale: int) -> Coded:
        """Return the small frames."""
        small = [shrunk(truth, scale, "bicubic", self.sigma) for truth in clip.truths]
        if self.coding is None:
            return Coded(small, [""] * len(small), float("nan"), "")
        return coded(small, self.coding)


SOFT = 0.8
SOURCES = (
    Source("uncoded"),
    Source("x264 18", Coding("x264", 18)),
    Source("x264 23", Coding("x264", 23)),
    Source("x264 28", Coding("x264", 28)),
    Source("x265 23", Coding("x265", 23)),
    Source("blur 0.8", sigma=SOFT),
    Source("blur 0.8, x264 23", Coding("x264", 23), SOFT, "blur 0.8"),
)


def film(path: Path, scale: int) -> Clip:
    """Read a clip of a film: FRAMES frames from START on, or from its beginning if it is short."""
    import av
    from av.error import FFmpegError

    frames: list[Bytes] = []
    try:
        with av.open(str(path), "r") as container:
            for number, frame in enumerate(islice(container.decode(video=0), START + FRAMES)):
                if number == START:
                    frames.clear()
                if len(frames) < FRAMES:
                    eight = frame.reformat(format="yuv420p")
                    frames.append(np.array(eight.to_ndarray()[: frame.height, : frame.width]))
    except (OSError, FFmpegError) as error:
        raise InputError(f"{path}: no film: {error}") from error
    if len(frames) < FRAMES:
        raise InputError(f"{path}: got {len(frames)} frames; expected at least {FRAMES}")
    return Clip(path.stem, [fitted(frame, scale) for frame in frames])


def fitted(frame: Bytes, scale: int) -> Bytes:
    """Return a frame shrunk to at most HEIGHT rows, its sides cut so that low planes are even."""
    height, width = frame.shape
    if height > HEIGHT:
        width = round(width * HEIGHT / height)
        frame = whole(resized(frame, width, HEIGHT, "bicubic"))
    step = 2 * scale
    return frame[: frame.shape[0] // step * step, : width // step * step].copy()


def moved(stills: Mapping[str, Bytes], scale: int, seed: int = SEED) -> Iterator[Clip]:
    """Yield a clip of each still."""
    for name, still in stills.items():
        random = np.random.default_rng((seed, zlib.crc32(name.encode())))
        yield Clip(Path(name).stem, material.clip(still, scale, random, SIDE, FRAMES)[0])
