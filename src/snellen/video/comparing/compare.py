"""Compares two videos: frame n of one with frame n + offset of the other.

Both are decoded in threads of their own. The comparison runs in the calling thread, where Ctrl-C
interrupts it, and gets luma only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from snellen.cpu.pool import Pool
from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.video import pixels
from snellen.video.channel import in_flight
from snellen.video.clip import Clip
from snellen.video.comparing.colours import assumed, no_sdr
from snellen.video.comparing.comparison import Comparison
from snellen.video.comparing.differences import check_sizes, differences, later_differences, sizes
from snellen.video.comparing.pairing import (
    Drift,
    Pair,
    Pairs,
    Part,
    Sides,
    expected,
    format_of,
    reading,
    sides_of,
)
from snellen.video.comparing.resize import METHOD
from snellen.video.messages import counted
from snellen.video.progress import Meter, Progress
from snellen.video.source.decode import Source

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Compared(Generic[T]):
    """The result for one pair of frames."""

    number: int
    """Number of the reference's frame, from 0."""
    time: Fraction
    """Time of the reference's frame, seconds from its beginning."""
    result: T


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Brief):
    """The summary of a comparison."""

    frames: int
    """Pairs of frames."""
    reference_frames: int | None
    distorted_frames: int | None
    """Frames of each video; None: unknown, since the clip ended before either video did."""
    seconds: float
    """Duration of the work."""
    width: int
    height: int
    device: str
    """Name of the device that compared."""
    reference_pictures: str
    distorted_pictures: str
    """Format of the decoded frames, e.g. '1920×1080 4:2:0 8 bit'."""
    resized: str | None
    """How the distorted video was scaled; None: it was not."""
    warnings: tuple[str, ...]
    """Differences between the videos, and properties that are ignored."""
    lost: tuple[str, ...]
    """Damage and gaps in either; empty: both were whole."""
    drift: Drift | None = None
    """Pairs whose times disagree, of which a warning tells; None: there are none."""


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
    opened: Callable[[], Source] | None = None,
    part: Part | None = None,
) -> Summary:
    """Compare the luma of two videos frame by frame, and give each result to `take`.

    Frames are paired by number, not by time: frame n of the reference with frame n + `offset` of
    the distorted video. Luma keeps its code values and depth: limited range is not stretched. For
    videos of different depths it becomes float64 0 … 255, each by the greatest value of its own
    depth: sample · 255 / (2^bits − 1).

    Parameters
    ----------
    reference, distorted : Path or BinaryIO
        Video files; one may be a binary stream of y4m.
    step : Comparison
        Prepared, run for each pair and closed by this function. Up to `step.slots` pairs are in
        flight.
    take : callable
        Called with each result, in order, in the calling thread.
    clip : Clip, optional
        Which part of the reference; `frames` is the number of pairs. What comes before it is
        decoded too, so that numbers are right.
    offset : int
        Frames by which the distorted video lags behind; negative: by which it is ahead.
    every : int
        Of the frames that have a partner, the first is compared and then every so many.
    resized : bool
        Whether the distorted video is scaled to the reference's size; False: different sizes are
        an error.
    decoder : str
        As for `convert`.
    on_warning : callable, optional
        Called with each of `Summary.warnings` in two parts: the name of the video that it concerns,
        empty for both, and the text.
    on_progress : callable, optional
        Called after each pair, in the calling thread.
    opened : callable, optional
        Opens the reference, in place of its file; this function closes it.
    part : Part, optional
        Only these pairs are compared, and may be none. Both videos are decoded from their
        beginning, so that the last part's Summary is that of the whole but for `frames`, for
        `drift`, for the warnings of it and of `lengths`, and for the time and the device. `clip`
        has no `frames` then.

    Returns
    -------
    Summary
        `lost` is empty unless an input was damaged; then all pairs that could be decoded were
        compared, but frames behind the damage may have been paired with others than their own.

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
            raise InputError(f"got `every`={every}; expected 1 or more", parameter="every")
        sources = _opened(reference, distorted, clip, decoder, opened, stack)
        one, other = (source.info for source in sources)
        check_sizes(one, other, resized)
        for name, text in differences(one, other):
            warn(name, text)
        sides = sides_of(sources[0], sources[1], offset, every, part, step.reach, step)
        for source in sources if step.fitted_to_sdr else []:
            if why := no_sdr(source.info.picture):
                text = f"{why}, and {step.fitted_to_sdr} was fitted to SDR: scores say less"
                warn(source.name, text)
        for source in sources if step.colours else []:
            if matrix := assumed(source.info.picture):
                warn(source.name, f"it states no colour matrix: {matrix.name} is assumed")
        format = format_of(one, other)
        step.rate = one.rate
        step.depths = one.picture.format.bits, other.picture.format.bits
        with reading(sides):
            step.prepare(format)  # meanwhile the first frames are decoded
            meter = Meter(expected(sides, clip, every), on_progress)
            pairs = Pairs(sides, clip, part, lambda *pair: step.see(*_arguments(pair)))
            frames, ended = _run(pairs, sides, step, take, meter)
        if not frames and part is None:
            raise InputError(_no_pair(sides, clip, offset, ended))
        counts = [side.frames if ended else None for side in sides]
        for source in sources if part is None or part.is_last else []:
            notice = source.report().fields_notice
            if notice is not None and source.info.fields_notice is None:
                warn(source.name, notice)
        if part is None or part.is_last:
            first, second = ((s.info, s.report().changes) for s in sources)
            for name, text in later_differences(first, second):
                warn(name, text)
        if pairs.drift is not None and part is None:
            warn("", str(pairs.drift))
        summary = Summary(
            frames=frames,
            reference_frames=counts[0],
            distorted_frames=counts[1],
            seconds=time.monotonic() - began,
            width=format.width,
            height=format.height,
            device=step.device_name,
            reference_pictures=pixels.describe(one.picture.format),
            distorted_pictures=pixels.describe(other.picture.format),
            resized=METHOD if len({*sizes(one, other)}) > 1 else None,
            warnings=tuple(warnings),
            lost=tuple(f"{s.name}: {text}" for s in sources for text in s.report().damage),
            drift=pairs.drift,
        )
        differ = None if part is not None else lengths((one.name, other.name), summary, offset)
        if differ is None:
            return summary
        warn("", differ)
        return replace(summary, warnings=tuple(warnings))


def count(
    reference: Path,
    distorted: Path,
    *,
    clip: Clip,
    offset: int = 0,
    every: int = 1,
    decoder: str = "auto",
) -> range | None:
    """Return about which pairs `compare` takes, of all that are read; None: nobody knows.

    What is known is what the files say of their frames. Parameters are those of `compare`.
    """
    with ExitStack() as stack:
        one, other = _opened(reference, distorted, clip, decoder, None, stack)
        first = int((clip.start or 0) * one.info.rate) // every
        total = expected(sides_of(one, other, offset, every), clip, every)
        return None if total is None else range(first, first + total)


def lengths(names: tuple[str, str], summary: Summary, offset: int) -> str | None:
    """Return the warning about videos of different lengths; None: all frames met others.

    `names` are those of reference and distorted video; `offset` is that of `compare`.
    """
    one, other = summary.reference_frames, summary.distorted_frames
    if one is None or other is None or one == other or one + offset == other:
        return None
    both = zip(names, (one, other), strict=True)
    found = ", ".join(f"{name} has {counted(frames, 'frame')}" for name, frames in both)
    pairs = counted(summary.frames, "pair") + (" was" if summary.frames == 1 else " were")
    return f"{found}: {pairs} compared; frames without a partner were not"


def _opened(
    reference: Path | BinaryIO,
    distorted: Path | BinaryIO,
    clip: Clip,
    decoder: str,
    opened: Callable[[], Source] | None,
    stack: ExitStack,
) -> list[Source]:
    """Open both videos from their beginning, which `stack` closes."""
    whole = replace(clip, start=None, duration=None, frames=None)
    open_first = opened or partial(Source, reference, whole, decoder)
    open_second = partial(Source, distorted, whole, decoder)
    if opened is None and _are_files(reference, distorted):
        return _side_by_side(open_first, open_second, stack)
    # A pipe may wait for the other one.
    return [stack.enter_context(closing(one())) for one in (open_first, open_second)]


def _are_files(*sources: Path | BinaryIO) -> bool:
    with suppress(OSError):  # which opening it reports
        return all(isinstance(one, Path) and one.is_file() for one in sources)
    return False


def _side_by_side(
    first: Callable[[], Source], second: Callable[[], Source], stack: ExitStack
) -> list[Source]:
    """Open both videos at once, which `stack` closes."""
    # Each takes a tenth of a second and more, as FFmpeg decodes its first frames in one thread.
    with Pool(1, "snellen-open") as pool:
        beside = pool.submit(copy_context().run, second)
        stack.callback(lambda: None if beside.exception() else beside.result().close())
        one = stack.enter_context(closing(first()))
        return [one, beside.result()]


def _run(
    pairs: Pairs,
    sides: Sides,
    step: Comparison[T],
    take: Callable[[Compared[T]], None],
    meter: Meter,
) -> tuple[int, bool]:
    """Compare what is decoded; return how many pairs there were, and whether a video ended."""
    # If one did, the other is read to its end too.
    for compared in _results(step, pairs):
        take(compared)
        meter.count()
    if pairs.ended:
        for side in sides:
            side.finish()
    return pairs.count, pairs.ended


def _results(step: Comparison[T], pairs: Pairs) -> Iterator[Compared[T]]:
    """Yield the results in order, with pairs in flight."""

    def begin(pair: Pair) -> Callable[[], Compared[T]]:
        wait: Callable[[], T] = step.submit(*_arguments(pair))
        return lambda: Compared(pair[0].number, pair[0].time, wait())

    return in_flight(begin, pairs, step.slots)


def _arguments(pair: Pair) -> tuple[Any, ...]:
    """Return what a Comparison gets of a pair: two planes of luma, and pictures if it asked."""
    wholes = (one.picture for one in pair if one.picture is not None)
    return (*(one.plane for one in pair), *wholes)


def _no_pair(sides: Sides, clip: Clip, offset: int, ended: bool) -> str:
    shifted = f" with an offset of {offset}" if offset else ""
    message = f"no frame has a partner{shifted}{_where(clip)}"
    if not ended:  # then the number of frames that were read means nothing
        return message
    lengths = " and ".join(f"{side.frames} of {side.source.name}" for side in sides)
    return f"{message}: {lengths} were read"


def _where(clip: Clip) -> str:
    """Return the phrase for the part of the reference that is compared."""
    if clip.duration is None:
        return "" if clip.start is None else f" at or after {float(clip.start):g} s"
    if clip.start is None:
        return f" within the first {float(clip.duration):g} s"
    return f" from {float(clip.start):g} s to {float(clip.start + clip.duration):g} s"
