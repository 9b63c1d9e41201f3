"""The road of two films: frame n of one meets frame n + offset of the other in a step.

Both are decoded in threads of their own, bounded queues between them and the step, which runs in
the calling thread: that is where Ctrl-C arrives. Only luma is handed on.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format, Plane
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.differences import check_sizes, differences, size
from snellen.video.luma_reader import WHITE, Lumas, grey
from snellen.video.progress import Meter, Progress
from snellen.video.resize import METHOD, resize
from snellen.video.source.decode import Source

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Comparison(Protocol[T_co]):
    """What the road knows of a method that compares."""

    @property
    def device_name(self) -> str:
        """Name of the device."""
        ...

    def prepare(self, format: Format, data_range: float | None = None) -> None:
        """Get ready for luma planes of `format`.

        `data_range` is the sample value of white; None: the greatest of the format's depth. It is
        given with planes of floats (format.bits is 0), which are float64.
        """
        ...

    def run(self, reference: npt.NDArray[Any], distorted: npt.NDArray[Any]) -> T_co:
        """Return what is to be said of two planes. They are read-only and may have a pitch."""
        ...

    def close(self) -> None:
        """Give back what `prepare` took; called once, also after an error before `prepare`."""
        ...


@dataclass(frozen=True, slots=True)
class Compared(Generic[T]):
    """What came of one pair of frames."""

    number: int
    """Of the reference's frame, from 0."""
    time: Fraction
    """Of the reference's frame, seconds from its beginning."""
    result: T


@dataclass(frozen=True, slots=True)
class Summary:
    """What was compared."""

    frames: int
    """Pairs."""
    reference_frames: int | None
    distorted_frames: int | None
    """All that the film holds; None: the part asked for ended before either film did."""
    seconds: float
    """Of work."""
    width: int
    height: int
    device: str
    """What the step ran on."""
    reference_pictures: str
    distorted_pictures: str
    """E.g. '1920×1080 4:2:0 8 bit', as they came."""
    resized: str | None
    """How the distorted film was scaled; None: it was not."""
    warnings: tuple[str, ...]
    """What differs between the films, or does not count."""
    lost: tuple[str, ...]
    """What was damaged or missing in either; empty when both were whole."""


def compare(
    reference: Path | BinaryIO,
    distorted: Path | BinaryIO,
    step: Comparison[T],
    take: Callable[[Compared[T]], None],
    *,
    clip: Clip | None = None,
    offset: int = 0,
    every: int = 1,
    resized: bool = False,
    decoder: str = "auto",
    on_warning: Callable[[str, str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Send the luma of two films through `step`, frame by frame, and each result to `take`.

    Frames meet by number, not by time: frame n of the reference and frame n + `offset` of the
    distorted film. Luma is handed on as it is coded, at its own depth: limited range is not
    stretched. Films of different depth are brought to float64 0 … 255, each by its own greatest
    value: sample · 255 / (2^bits − 1).

    Parameters
    ----------
    reference, distorted : video files; one may be a binary stream of y4m
    step : prepared, run for each pair and closed by this function
    take : called with each result, in order, in the calling thread
    clip : which part of the reference; `frames` is the number of pairs. What comes before it is
        decoded all the same, so that numbers are right
    offset : frames by which the distorted film lags behind; negative: by which it is ahead
    every : of the frames that have a partner, the first is taken and then every so many
    resized : whether the distorted film is scaled to the reference's size; else a difference is an
        error
    decoder : as for `pipeline.convert`
    on_warning : called with each of `Summary.warnings` in two parts: the name of the film that it
        is said of, empty for both, and what is said
    on_progress : called after each pair, in the calling thread

    Returns
    -------
    Summary
        `lost` is empty unless an input was damaged; then all pairs that could be decoded were
        compared, but what was lost may have shifted a film's frames by some numbers.

    Raises
    ------
    InputError
        Wrong use, unusable inputs, different sizes, or not one pair of frames.
    """
    began = time.monotonic()
    clip = clip or Clip()
    warnings: list[str] = []

    def warn(name: str, text: str) -> None:
        warnings.append(f"{name}: {text}" if name else text)
        if on_warning is not None:
            on_warning(name, text)

    with ExitStack() as stack:
        stack.callback(step.close)
        if every < 1:
            raise InputError(f"every {every}th frame was asked for, expected 1 or more")
        opened = [
            stack.enter_context(closing(Source(film, Clip(deinterlace=clip.deinterlace), decoder)))
            for film in (reference, distorted)
        ]
        films = opened[0], opened[1]
        check_sizes(*films, resized)
        for name, text in differences(*films):
            warn(name, text)
        sides = _sides(*films, offset, every)
        format, white = _format(*films)
        step.prepare(format, white)
        meter = Meter(_total(sides, clip, every), on_progress)
        frames, ended = _travel(sides, step, take, clip, meter)
        if not frames:
            raise InputError(_nothing(sides, clip, offset, ended))
        counts = [side.frames if ended else None for side in sides]
        if counts[0] != counts[1] and sides[0].frames + offset != sides[1].frames:
            warn("", _lengths(sides, frames))
        return Summary(
            frames=frames,
            reference_frames=counts[0],
            distorted_frames=counts[1],
            seconds=time.monotonic() - began,
            width=format.width,
            height=format.height,
            device=step.device_name,
            reference_pictures=pixels.words(films[0].look.format),
            distorted_pictures=pixels.words(films[1].look.format),
            resized=METHOD if size(films[0]) != size(films[1]) else None,
            warnings=tuple(warnings),
            lost=tuple(f"{film.name}: {word}" for film in films for word in film.damage.words()),
        )


def _travel(
    sides: tuple[Lumas, Lumas],
    step: Comparison[T],
    take: Callable[[Compared[T]], None],
    clip: Clip,
    meter: Meter,
) -> tuple[int, bool]:
    """Run decoders and step; return how many pairs there were, and whether a film ended.

    If one did, the other is read to its end too.
    """
    frames, start = 0, clip.start or Fraction(0)
    try:
        for side in sides:
            side.start()
        for one, other in zip(*sides):  # noqa: B905 (one may end before the other)
            if one.time < start:
                continue
            if clip.duration is not None and one.time >= start + clip.duration:
                return frames, False
            take(Compared(one.number, one.time, step.run(one.plane, other.plane)))
            frames += 1
            meter.count()
            if frames == clip.frames:
                return frames, False
        for side in sides:
            side.finish()
        return frames, True
    finally:
        for side in sides:
            side.stop()
        for side in sides:  # a second Ctrl-C ends this, but both have been told to stop
            side.wait()


def _sides(one: Source, other: Source, offset: int, every: int) -> tuple[Lumas, Lumas]:
    """Return the films' luma from the first frames that have a partner on, as the step takes it."""
    same = one.look.format.bits == other.look.format.bits
    return (
        Lumas(one, max(0, -offset), every, _changed(one, size(one), same)),
        Lumas(other, max(0, offset), every, _changed(other, size(one), same)),
    )


def _changed(
    film: Source, wanted: tuple[int, int], same_depth: bool
) -> Callable[[Plane], npt.NDArray[Any]] | None:
    """Return what is done with a film's planes; None: nothing."""
    bits = film.look.format.bits
    if size(film) == wanted:
        return None if same_depth else partial(grey, bits=bits)
    if same_depth:
        return partial(resize, bits=bits, width=wanted[0], height=wanted[1])
    return lambda plane: grey(resize(plane, bits, *wanted), bits)


def _format(one: Source, other: Source) -> tuple[Format, float | None]:
    """Return what the planes are that the step gets, and the value of white where that tells."""
    width, height = size(one)
    bits = one.look.format.bits
    if bits == other.look.format.bits:
        return Format(width, height, bits), None
    return Format(width, height, 0), WHITE


def _total(sides: tuple[Lumas, Lumas], clip: Clip, every: int) -> int | None:
    """Return how many pairs to expect, as far as can be told."""
    totals = [(side.film.total(), side.first) for side in sides]
    known = [total - first for total, first in totals if total is not None]
    rate = sides[0].film.rate
    if known and clip.start is not None:
        known = [min(known) - int(clip.start * rate)]
    if clip.duration is not None:
        known.append(round(clip.duration * rate))
    pairs = [max(1, -(-frames // every)) for frames in known]
    return min([*pairs, *([] if clip.frames is None else [clip.frames])], default=None)


def _lengths(sides: tuple[Lumas, Lumas], frames: int) -> str:
    lengths = ", ".join(f"{side.film.name} has {_counted(side.frames, 'frame')}" for side in sides)
    pairs = _counted(frames, "pair") + (" was" if frames == 1 else " were")
    return f"{lengths}: {pairs} compared; frames without a partner were not"


def _nothing(sides: tuple[Lumas, Lumas], clip: Clip, offset: int, ended: bool) -> str:
    shifted = f" with an offset of {offset}" if offset else ""
    said = f"no frame has a partner{shifted}{_where(clip)}"
    if not ended:  # how far the decoders came by then means nothing
        return said
    lengths = " and ".join(f"{side.frames} of {side.film.name}" for side in sides)
    return f"{said}: {lengths} were read"


def _where(clip: Clip) -> str:
    """Return in words which part of the reference was asked for."""
    if clip.duration is None:
        return "" if clip.start is None else f" at or after {float(clip.start):g} s"
    if clip.start is None:
        return f" within the first {float(clip.duration):g} s"
    return f" from {float(clip.start):g} s to {float(clip.start + clip.duration):g} s"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
