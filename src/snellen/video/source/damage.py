"""What was wrong with the input, counted while reading and said in words at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from av.container import InputContainer
from av.video.stream import VideoStream

from snellen.frames.frame import Format
from snellen.video.pipes import Incoming
from snellen.video.timestamps import fraction

_SLACK = Fraction(1, 10)
"""Seconds that a duration may exceed what is there, told for all streams or by uneven frames."""
_EVEN = Fraction(6, 5)
"""Times the average up to which the widest gap between frames is but rounded."""


@dataclass(slots=True)
class Damage:
    """Counts of what could not be read."""

    undecodable: int = 0
    """Video packets that gave an error instead of a picture."""
    corrupt: int = 0
    """Pictures that the decoder itself calls damaged; they are written."""
    swallowed: int = 0
    """Video packets that gave neither a picture nor an error."""
    torn: int = 0
    """Packets, of whatever stream, that the container itself calls damaged."""
    refused: int = 0
    """Packets so wrong that the output did not take them."""
    appeared: bool = False
    """Whether streams appeared that were not there at the beginning."""
    reading: list[str] = field(default_factory=list)
    """Errors of the container."""
    ending: str | None = None
    """Why it stopped before the end."""
    short: str | None = None
    """How much less there was than the container promised."""

    def __bool__(self) -> bool:
        return bool(self.words())

    def words(self) -> tuple[str, ...]:
        """Return one sentence for each kind of damage; nothing when the input is whole."""
        said = []
        if self.undecodable:
            said.append(f"{_count(self.undecodable, 'video packet')} could not be decoded")
        if self.swallowed:
            said.append(f"{_count(self.swallowed, 'video packet')} gave no picture")
        if self.corrupt:
            said.append(f"{_count(self.corrupt, 'frame')} decoded with visible damage, written")
        if self.torn:
            said.append(f"{_count(self.torn, 'packet')} arrived incomplete")
        if self.reading:
            kinds = ", ".join(dict.fromkeys(self.reading))
            said.append(f"{_count(len(self.reading), 'read error')} ({kinds})")
        if self.refused:
            said.append(f"{_count(self.refused, 'packet')} refused by the output's container")
        if self.appeared:
            said.append("streams that appear in the middle of the input are left out")
        return (*said, *(word for word in (self.ending, self.short) if word))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def promised_packets(container: InputContainer, stream: VideoStream) -> int | None:
    """Return how many video packets the container says it holds; None: it does not say."""
    if container.format.name.startswith("mov"):
        # Its index, which unlike the frame count already leaves out what edit lists skip.
        return len(stream.index_entries) or None
    tag = next(
        (v for k, v in stream.metadata.items() if k.upper().startswith("NUMBER_OF_FRAMES")), ""
    )
    return stream.frames or (int(tag) if tag.isdigit() else None)


def promised_end(container: InputContainer, stream: VideoStream) -> tuple[Fraction, bool] | None:
    """Return the end in seconds that the container tells, and whether the video's own."""
    for key, value in stream.metadata.items():
        if key.upper().startswith("DURATION") and (parsed := clock_time(value)):
            return parsed, True
    if container.format.name.startswith("matroska") and container.duration:
        return Fraction(container.duration, 1_000_000), False
    return None


def clock_time(text: str) -> Fraction | None:
    """Return the seconds of 'hh:mm:ss.fraction'; None: it is not one."""
    parts = text.strip().split(":")
    try:
        hours, minutes, seconds = int(parts[0]), int(parts[1]), Fraction(parts[2])
    except (ValueError, IndexError):
        return None
    return 3600 * hours + 60 * minutes + seconds


def torn_y4m(place: Path | Incoming, format: Format) -> str | None:
    """Say that a y4m file or stream ends within a frame, which FFmpeg does not."""
    if isinstance(place, Path):
        with place.open("rb") as file:
            header, size = file.readline(1024), place.stat().st_size
    else:
        header, size = place.header, place.size
    # Each frame is the word FRAME, a line feed and its samples.
    frame = 6 + format.dtype.itemsize * sum(h * w for h, w in format.shapes)
    rest = (size - len(header)) % frame
    return f"the input ends early: within a frame ({rest} of {frame} bytes)" if rest else None


def shortfall(
    container: InputContainer,
    stream: VideoStream,
    packets: int | None,
    ends: tuple[Fraction, Fraction],
    step: Fraction,
    widest: Fraction,
) -> str | None:
    """Say how much the input lacks of what it promised.

    Parameters
    ----------
    packets : video packets read; None: not from the beginning
    ends : seconds at which the video, and anything at all, ended
    step : seconds a frame, on average
    widest : most seconds between two frames that were there
    """
    promised = promised_packets(container, stream)
    if promised is not None and packets is not None and packets < promised:
        return f"the input ends early: {promised - packets} of {promised} video packets are missing"
    end = promised_end(container, stream)
    if end is not None:
        there = ends[0] if end[1] else max(ends)
        # The last frame may last longer than its packet says: as long as any other, or so.
        slack = max(step, widest) * Fraction(3, 2)
        if not end[1] or widest > _EVEN * step:
            slack = 2 * max(step, widest) + _SLACK
        if there + slack < end[0]:
            return (
                f"the input ends early: at {float(there):.3f} s "
                f"of the {float(end[0]):.3f} s it promises"
            )
    return None


def total_frames(container: InputContainer, stream: VideoStream, rate: Fraction) -> int | None:
    """Return how many frames to expect, exact or estimated; None: unknown."""
    promised = promised_packets(container, stream)
    if promised is not None:
        return promised
    base = fraction(stream.time_base)
    if stream.duration and base:
        return round(stream.duration * base * rate)
    end = promised_end(container, stream)
    if end is not None and end[1]:
        # The container's own lasts until the end of the audio.
        start = Fraction(0) if base is None else (stream.start_time or 0) * base
        return max(1, round((end[0] - start) * rate))
    if container.duration:
        return round(Fraction(container.duration, 1_000_000) * rate)
    return None
