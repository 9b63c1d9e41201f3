"""Counts what was wrong with the input while it is read, and finds what is missing at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from io import BufferedReader
from pathlib import Path

from av.codec import Codec
from av.container import InputContainer
from av.video.stream import VideoStream

from snellen.files.opening import raw
from snellen.frames import values
from snellen.frames.frame import Format
from snellen.video.logs.complaints import Complaints
from snellen.video.messages import counted
from snellen.video.pipes import Incoming
from snellen.video.timestamps import fraction

_SLACK = Fraction(1, 10)
"""Seconds by which a promised duration may exceed what is there, if it is that of all streams or
the frames are uneven."""
_EVEN = Fraction(6, 5)
"""Up to this ratio of the widest gap between frames to the average, gaps differ by rounding."""

_UNFINISHED = 1 << 30
"""FFmpeg states this number of frames of an AVI file that it writes into a pipe."""
_DETECT = "crccheck+bitstream+buffer"
"""Further checks of decoders, which they log: checksums, and lengths of what they read."""
_STUFFED = {"mpeg1video", "mpeg2video"}
"""Codecs that may have any number of zero bytes behind a slice: no fault of lengths."""


@dataclass(slots=True)
class Damage:
    """Counts what could not be read."""

    complaints: Complaints
    """FFmpeg's own messages about damage."""
    undecodable: int = 0
    """Video packets that gave an error instead of a frame."""
    corrupt: int = 0
    """Frames that the decoder marks as damaged; they are written."""
    swallowed: int = 0
    """Video packets that gave neither a frame nor an error."""
    missing: int = 0
    """Frames that are missing inside a stream of constant rate, by the times of the others."""
    torn: int = 0
    """Packets, of any stream, that the demuxer marks as damaged."""
    appeared: bool = False
    """True: streams appeared that were not there at the beginning."""
    changed: bool = False
    """True: somebody wrote into the file while it was read."""
    reading: list[str] = field(default_factory=list)
    """Messages of the demuxer's errors."""
    ending: str | None = None
    """Why reading stopped before the end; None: it did not."""
    short: str | None = None
    """How much less there was than the container promised; None: nothing."""

    def __bool__(self) -> bool:
        return bool(self.describe())

    def describe(self) -> tuple[str, ...]:
        """Return a sentence for each kind of damage; none when the input is whole."""
        missing = self.missing - self.swallowed - self.undecodable
        numbers = (
            (self.undecodable, "video packet", "could not be decoded"),
            (self.swallowed, "video packet", "gave no picture"),
            (missing, "frame", "missing inside, by the times of the others"),
            (self.corrupt, "frame", "decoded with visible damage, written"),
            (self.torn, "packet", "arrived incomplete"),
        )
        found = [f"{counted(number, of)} {what}" for number, of, what in numbers if number > 0]
        if self.reading:
            kinds = ", ".join(dict.fromkeys(self.reading))
            found.append(f"{counted(len(self.reading), 'read error')} ({kinds})")
        if self.appeared:
            found.append("streams that appear in the middle of the input are left out")
        if self.changed:
            found.append("the file was changed while it was read")
        found += self.complaints.sentences()
        return (*found, *(text for text in (self.ending, self.short) if text))


def checks(codec: Codec) -> dict[str, str]:
    """Return the option by which a decoder checks what it reads."""
    stuffed = codec.canonical_name in _STUFFED
    return {"err_detect": _DETECT.replace("+bitstream", "") if stuffed else _DETECT}


def promised_packets(container: InputContainer, stream: VideoStream) -> int | None:
    """Return how many video packets the container states; None: it does not."""
    if container.format.name.startswith("mov"):
        # Unlike the frame count, the index already leaves out what edit lists skip.
        return len(stream.index_entries) or None
    tag = next(
        (v for k, v in stream.metadata.items() if k.upper().startswith("NUMBER_OF_FRAMES")), ""
    )
    frames = stream.frames if stream.frames < _UNFINISHED else 0
    return frames or values.decimal(tag, 2**63 - 1)


def promised_end(container: InputContainer, stream: VideoStream) -> tuple[Fraction, bool] | None:
    """Return the end in seconds that the container states, and whether it is the video's own."""
    for key, value in stream.metadata.items():
        if key.upper().startswith("DURATION") and (parsed := clock_time(value)):
            return parsed, True
    if container.format.name.startswith("matroska") and container.duration:
        return Fraction(container.duration, 1_000_000), False
    return None


def clock_time(text: str) -> Fraction | None:
    """Return the seconds of 'hh:mm:ss.fraction'; None: the text is not such a time."""
    parts = text.strip().split(":")
    try:
        hours, minutes, seconds = int(parts[0]), int(parts[1]), Fraction(parts[2])
    except (ValueError, IndexError):
        return None
    return 3600 * hours + 60 * minutes + seconds


def first_line(source: Path | Incoming) -> tuple[bytes, int]:
    """Return the first line of a y4m, and how many bytes there are, or have come so far."""
    if not isinstance(source, Path):
        return source.header, source.size
    with BufferedReader(raw(source)) as file:
        return file.readline(1024), file.seek(0, 2)


def torn_y4m(source: Path | Incoming, format: Format) -> str | None:
    """Return a sentence if a y4m file or stream ends within a frame, which FFmpeg ignores."""
    header, size = first_line(source)
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
    """Return a sentence about how much the input lacks of what it promised; None: nothing.

    `packets` of the video were read (None: not from the start on). The video, and all other
    streams, ended at these seconds; a frame takes `step` seconds on average, `widest` at most.
    """
    promised = promised_packets(container, stream)
    base = fraction(stream.time_base)
    if packets is not None and base and container.format.name == "avi":
        # The promise counts ticks. A frame that lasts longer has empty chunks, which FFmpeg skips.
        packets = max(packets, round((ends[0] + widest) / base) - 1)
    if promised is not None and packets is not None and packets < promised:
        if container.format.name == "gif":  # FFmpeg counts the pictures that are there
            return (
                f"{promised - packets} of {promised} pictures are left out: the block with a delay "
                "is missing before them, by which FFmpeg tells pictures apart"
            )
        return f"the input ends early: {promised - packets} of {promised} video packets are missing"
    end = promised_end(container, stream)
    if end is not None:
        there = ends[0] if end[1] else max(ends)
        # The last frame may last longer than its packet states: about as long as any other.
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
    """Return how many frames the whole input has, exact or estimated; None: unknown."""
    promised = promised_packets(container, stream)
    if promised is not None:
        return promised
    base = fraction(stream.time_base)
    if stream.duration and base:
        return round(stream.duration * base * rate)
    end = promised_end(container, stream)
    if end is not None and end[1]:
        # The container's own duration lasts until the end of the audio.
        start = Fraction(0) if base is None else (stream.start_time or 0) * base
        return max(1, round((end[0] - start) * rate))
    if container.duration:
        return round(Fraction(container.duration, 1_000_000) * rate)
    return None
