"""The pictures, heat maps and crops of the frames that a report shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames import white
from snellen.frames.frame import Format, Frame
from snellen.jobs.events import Events
from snellen.jobs.kinds.compare import CompareJob
from snellen.jobs.kinds.score_step import ScoreStep
from snellen.jobs.reports.choice import Choice
from snellen.jobs.steps.pairs import pair, partners
from snellen.mad import heatmap
from snellen.metrics.registry import MAD
from snellen.report.contents import Moment, Picture
from snellen.report.encode import shrunk
from snellen.stills import still
from snellen.video.comparing.pairing import conversions, format_of
from snellen.video.comparing.turning import Matrix, applies, is_on_its_side, oriented
from snellen.video.media import PictureInfo
from snellen.video.sink.pictures import matrix_of, rgb
from snellen.video.source.decode import Source

Array = npt.NDArray[Any]

CROP = 192  # pixels of the reference: side of a crop
LONGEST = 3840  # pixels of a side of a picture: 4K; larger ones are kept smaller
_TOP = 257  # 65535 / 255


class Errors:
    """Finds where variants differ from the reference, in pairs of luma planes.

    Parameters
    ----------
    job : CompareJob
    events : Events
        Receives warnings.
    """

    def __init__(self, job: CompareJob, events: Events) -> None:
        self._step: ScoreStep | None = None
        self._format: Format | None = None
        if MAD in job.metrics:
            self._step = ScoreStep(
                job.mad, (MAD,), job.device, _All(), False, {}, str(job.reference), events
            )

    def find(self, reference: Array, distorted: Array, format: Format) -> Found:
        """Return the errors of a pair."""
        if self._step is None:
            difference = reference.astype(np.float64) - distorted
            return Found(difference * difference, {})
        if format != self._format:
            self._step.prepare(format)
            self._format = format
        score = self._step.submit(reference, distorted)()
        maps = {"detection": heatmap.DETECTION * score.detection, "appearance": score.appearance}
        shades = {kind: heatmap.shades(one, heatmap.BRIGHTEST[kind]) for kind, one in maps.items()}
        return Found(np.asarray(score.detection, np.float64), shades)

    def close(self) -> None:
        """Give back threads and buffers."""
        if self._step is not None:
            self._step.close()


class _All(heatmap.Worst):
    """Wants the maps of all pictures, and keeps none."""

    def __init__(self) -> None:
        super().__init__(0)

    def wants(self, mad: float) -> bool:
        return True


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """Errors of a pair."""

    amount: npt.NDArray[np.float64]
    """The error of each pixel."""
    shades: Mapping[str, npt.NDArray[np.uint8]]
    """Palette indices of its maps; empty: MAD was not asked for."""

    def oriented(self, matrix: Matrix | None) -> Found:
        """Return them turned as a tag says."""
        shades = {name: oriented(one, matrix) for name, one in self.shades.items()}
        return Found(oriented(self.amount, matrix), shades)


def films(
    job: CompareJob,
    offsets: Sequence[int],
    choice: Choice,
    errors: Errors,
    done: Callable[[], object],
    opened: Callable[[], Source] | None = None,
) -> Iterator[Moment]:
    """Yield the frames of films that are shown, in their order; all films are decoded once more.

    `opened` opens the reference in place of its file.
    """
    clip = replace(job.clip, start=None, duration=None, frames=None)
    with ExitStack() as stack:
        sources = [opened() if opened is not None else Source(job.reference, clip)]
        stack.enter_context(closing(sources[0]))
        for file in job.variants:
            sources.append(stack.enter_context(closing(Source(file, clip))))
        infos = [source.info for source in sources]
        walks = [Walk(source) for source in sources]
        for place in sorted(choice.shown):
            number = choice.rows[place][0].frame
            assert number is not None
            frames = [
                walk.to(number + offset) for walk, offset in zip(walks, (0, *offsets), strict=True)
            ]
            found, turn = [], infos[0].picture.display_matrix
            for frame, info in zip(frames[1:], infos[1:], strict=True):
                first, second = conversions(infos[0], info)
                one, other = first(frames[0].planes[0]), second(frame.planes[0])
                errs = errors.find(one, other, format_of(infos[0], info))
                found.append(errs if applies(infos[0], info) else errs.oriented(turn))
            yield moment(
                place,
                choice.shown.index(place),
                [
                    Picture(
                        oriented(
                            _shown(f, i.picture),
                            i.picture.display_matrix if applies(infos[0], i) else turn,
                        )
                    )
                    for f, i in zip(frames, infos, strict=True)
                ],
                found,
                aspect(infos[0].picture),
            )
            done()


class Walk:
    """Goes through the frames of a film, forwards only."""

    def __init__(self, source: Source) -> None:
        self._frames = (one.frame for one in source.items() if one.frame is not None)
        self._name, self._next = source.name, 0

    def to(self, number: int) -> Frame:
        """Return a frame by its number."""
        for frame in self._frames:
            self._next += 1
            if self._next > number:
                return frame
        raise InputError(f"{self._name} has no frame {number} any more; it has changed meanwhile")


def images(
    job: CompareJob,
    choice: Choice,
    errors: Errors,
    done: Callable[[], object],
) -> Iterator[Moment]:
    """Yield the images that are shown, in their order."""
    files = [_partners(job.reference, one) for one in job.variants]
    for place in sorted(choice.shown):
        name = choice.rows[place][0].name
        both = [found[name] for found in files]
        found = []
        for one, other in both:
            planes = pair(one, other, True, job.data_range, lambda file, text: None)
            found.append(errors.find(planes.reference, planes.distorted, planes.format))
        paths = [both[0][0], *(other for _, other in both)]
        pictures = [_still(one, job.data_range) for one in paths]
        high, wide = pictures[0].samples.shape[:2]
        yield moment(place, choice.shown.index(place), pictures, found, wide / high)
        done()


def _partners(reference: Path, variant: Path) -> dict[str | None, tuple[Path, Path]]:
    """Return pairs of images by name; None for two files."""
    if not reference.is_dir():
        return {None: (reference, variant)}
    pairs = partners(reference, variant, lambda file, text: None)
    return {name: (one, other) for name, one, other in pairs}


def _still(path: Path, data_range: float | None) -> Picture:
    """Return an image as it is shown; transparency does not count, as in scores."""
    found = still.read(path)
    samples = found.pixels
    if samples.dtype.kind == "f":
        peak = white.white(samples.dtype, data_range)
        samples = np.rint((samples / peak).clip(0, 1) * 255).astype(np.uint8)
    samples = _eight(samples)
    if samples.ndim == 2:  # whose profile, if any, is one of grey
        return Picture(_coloured(samples))
    return Picture(np.ascontiguousarray(samples[..., :3]), found.profile)


def moment(
    row: int, rank: int, pictures: Sequence[Picture], found: Sequence[Found], aspect: float
) -> Moment:
    """Return a frame with its crops, where the variants are worst.

    `pictures` are those of the reference and of all variants, `found` the errors of each variant;
    `row`, `rank` and `aspect` are as of a Moment.
    """
    high, wide = pictures[0].samples.shape[:2]
    total = np.sum([one.amount for one in found], axis=0)
    box = worst_place(total, CROP) if total.any() else None
    crops = () if box is None else tuple(_crop(one, box) for one in pictures)
    kept = tuple(replace(one, samples=shrunk(one.samples, LONGEST)) for one in pictures)
    shades = tuple(one.shades for one in found)
    return Moment(row, rank, kept, (wide, high), aspect, shades, crops, box or (0.0, 0.0, 1.0, 1.0))


def worst_place(amount: npt.NDArray[np.float64], side: int) -> tuple[float, float, float, float]:
    """Return left, top, width and height of the square with the largest sum, as shares."""
    high, wide = amount.shape
    down, across = min(side, high), min(side, wide)
    sums = np.zeros((high + 1, wide + 1))
    sums[1:, 1:] = amount.cumsum(0).cumsum(1)
    squares = (
        sums[down:, across:] - sums[:-down, across:] - sums[down:, :-across]
        + sums[:-down, :-across]
    )  # fmt: skip
    top, left = np.unravel_index(squares.argmax(), squares.shape)
    return int(left) / wide, int(top) / high, across / wide, down / high


def _crop(picture: Picture, box: tuple[float, float, float, float]) -> Picture:
    high, wide = picture.samples.shape[:2]
    left, top = round(box[0] * wide), round(box[1] * high)
    across, down = max(1, round(box[2] * wide)), max(1, round(box[3] * high))
    part = picture.samples[top : top + down, left : left + across]
    return replace(picture, samples=part.copy())


def aspect(picture: PictureInfo) -> float:
    """Return width by height of frames as they are shown."""
    found = picture.format.width / picture.format.height * float(picture.sample_aspect_ratio or 1)
    return 1 / found if is_on_its_side(picture.display_matrix) else found


def _shown(frame: Frame, picture: PictureInfo) -> Array:
    return _coloured(_eight(rgb(frame, picture.format, matrix_of(picture))))


def _eight(samples: Array) -> Array:
    """Return samples of 8 bits."""
    if samples.dtype != np.uint8:
        samples = ((samples.astype(np.uint32) + _TOP // 2) // _TOP).astype(np.uint8)
    return samples


def _coloured(samples: Array) -> Array:
    return np.repeat(samples[..., None], 3, 2) if samples.ndim == 2 else samples
