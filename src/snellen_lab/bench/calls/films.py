"""Films, which are made on the spot, and the functions for them: decoding and encoding included."""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.video.frame import VideoFrame

import snellen
from snellen.errors import SnellenError
from snellen.frames.frame import Format
from snellen.frames.luma import levels, samples
from snellen.frames.quantise import quantise
from snellen.jobs.events import Silent
from snellen_lab.bench.calls.case import Call, Figures, Sizes
from snellen_lab.bench.calls.pictures import SAME, apart, blurred

Array = npt.NDArray[Any]
Size = tuple[int, int]

RATE = 25
MOTION = 64
"""Columns over which the picture moves to and fro, one a frame."""
NOISES = 8
"""Different planes of noise, which take turns."""
NOISE = 2.0
"""Standard deviation of the noise, code values."""
QUALITY = 18
"""crf of films; the distorted one of a pair has DISTORTED."""
DISTORTED = 34
FILM, PAIR = "film.mkv", ("reference.mkv", "distorted.mkv")
"""Names of the film that is deblurred, and of those that are compared."""


def make(path: Path, size: Size, frames: int, crf: int = QUALITY) -> None:
    """Write a film with motion and noise: H.264, 8 bit 4:2:0."""
    width, height = size
    random = np.random.default_rng(5)
    base = blurred(width + MOTION, height).astype(np.int16) * 219 // 255 + 16
    noises = [np.rint(random.normal(0, NOISE, (height, width))) for _ in range(NOISES)]
    noises = [noise.astype(np.int16) for noise in noises]
    chroma = np.full((height // 2, width // 2), 128, np.uint8)
    options = {"preset": "veryfast", "crf": str(crf)}
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream("libx264", rate=RATE, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            at = number % (2 * MOTION)
            at = min(at, 2 * MOTION - at)
            plane = (base[:, at : at + width] + noises[number % NOISES]).clip(16, 235)
            planes = plane.astype(np.uint8), chroma.copy(), chroma.copy()
            frame = VideoFrame.from_dlpack(planes, format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def lumas(path: Path, count: int) -> Iterator[Array]:
    """Yield the luma of the first frames of a film, by PyAV alone."""
    with av.open(str(path)) as film:
        for _, frame in zip(range(count), film.decode(video=0), strict=False):
            yield np.array(np.from_dlpack(frame.planes[0]))


class Stamps(Silent):
    """Keeps when each frame was done."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def progress(self, progress: Any) -> None:
        """Note the time."""
        self.times.append(time.perf_counter())


class DeblurFilm(Call):
    """snellen.deblur_file of a film: of a region, or in tiles."""

    films = (FILM,)
    unit = "frame"

    def __init__(
        self, device: str, sizes: Sizes, frames: int, iterations: int, what: str, edges: str,
        tile: int | None = None,
    ):  # fmt: skip
        super().__init__(device, sizes)
        width, height = sizes.film
        self.frames, self.side = frames, sizes.small
        self.name = f"snellen deblur, film of {width}×{height}, {what}"
        self.how: dict[str, Any] = {"iterations": iterations, "edges": edges}
        self.tile = tile
        self.at = (width - self.side) // 4 * 2, (height - self.side) // 4 * 2

    @property
    def units(self) -> int:
        """Frames of the film."""
        return self.frames

    def prepare(self, folder: Path) -> None:
        """Find the film."""
        self.film, self.out = folder / FILM, folder / "out.mkv"

    def run(self) -> Any:
        """Deblur the film into another one."""
        return self._deblur(self.frames, preset="ultrafast")

    def check(self, result: Any) -> Figures:
        """Compare a few frames, written without loss, with the plain function, one by one."""
        if result.summary.frames != self.frames:
            raise SnellenError(f"{result.summary.frames} frames; expected {self.frames}")
        count = min(self.sizes.checked, self.frames)
        self._deblur(count, codec="ffv1")
        off = [
            int(np.abs(one.astype(int) - self._plain(luma)).max())
            for one, luma in zip(lumas(self.out, count), lumas(self.film, count), strict=True)
        ]
        within = 0 if self.tile is None else 1
        if len(off) < count or max(off) > within:
            raise SnellenError(f"{len(off)} frames differ by up to {max(off)} code values")
        return {"codes": max(off)}

    def _deblur(self, frames: int, **encoding: Any) -> Any:
        region = None if self.tile else (*self.at, self.side, self.side)
        stamps = Stamps()
        found = snellen.deblur_file(
            self.film, self.out, device=self.device, frames=frames, overwrite=True, events=stamps,
            region=region, tile=self.tile, prior=None, **encoding, **self.how,
        )  # fmt: skip
        self.stamps = stamps.times
        return found

    def _plain(self, luma: Array) -> Array:
        """Return the codes of a frame that is restored alone."""
        (x, y), side = self.at, self.side
        part = luma if self.tile else luma[y : y + side, x : x + side]
        format = Format(part.shape[1], part.shape[0])
        floats = samples(part, format)
        if self.tile:
            sharp = snellen.deblur(
                floats, prior=None, tile=self.tile, device=self.single, **self.how
            ).image
        else:
            with snellen.Deblurrer(device=self.single, **self.how) as deblurrer:
                deblurrer.prepare(Format(side, side, 0))
                sharp = deblurrer.run(floats).image
        black, white = levels(format)
        out = np.empty(sharp.shape, np.uint8)
        quantise(np.ascontiguousarray(sharp), (white - black, black), 8, out)
        return out


class ScoreFilms(Call):
    """snellen.score_files of two films."""

    films = PAIR
    unit = "frame"

    def __init__(self, device: str, sizes: Sizes):
        super().__init__(device, sizes)
        self.name = f"snellen score, two films of {sizes.scored[0]}×{sizes.scored[1]}"

    @property
    def units(self) -> int:
        """Frames of a film."""
        return self.sizes.scored_frames

    def prepare(self, folder: Path) -> None:
        """Find the films."""
        self.pair = folder / PAIR[0], folder / PAIR[1]

    def run(self) -> Any:
        """Score the films."""
        stamps = Stamps()
        found = snellen.score_files(*self.pair, device=self.device, events=stamps)
        self.stamps = stamps.times
        return found

    def check(self, result: Any) -> Figures:
        """Compare the scores of the first frames with those of a Scorer."""
        if len(result.table.rows) != self.units:
            raise SnellenError(f"{len(result.table.rows)} scores; expected {self.units}")
        count = min(self.sizes.checked, self.units)
        with snellen.Scorer(device=self.single) as scorer:
            scorer.prepare(Format(*self.sizes.scored))
            pairs = zip(*(lumas(film, count) for film in self.pair), strict=True)
            wanted = [scorer.run(*pair) for pair in pairs]
        off = apart(*(
            [[one.mad, one.hi, one.lo] for one in rows]
            for rows in (result.table.rows[:count], wanted)
        ))  # fmt: skip
        if not off <= SAME:
            raise SnellenError(f"scores differ by {off:.1e} of those of a Scorer")
        return {"relative": off}


def write(folder: Path, name: str, sizes: Sizes) -> None:
    """Write one of the films of calls."""
    if name == FILM:
        make(folder / name, sizes.film, max(sizes.region_frames, sizes.tile_frames))
        return
    crf = QUALITY if name == PAIR[0] else DISTORTED
    make(folder / name, sizes.scored, sizes.scored_frames, crf)
