"""The rate of films whose container has no times: FFmpeg takes 25 frames a second for all."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from av.container import InputContainer
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video.source.stream_info import rate_of
from snellen.video.timestamps import fraction

Y4M = "yuv4mpegpipe"
_SEQUENCES = ("h264", "hevc", "vvc")
"""Raw streams that may state a rate in their headers, which FFmpeg does not go by."""
UNTIMED = (*_SEQUENCES, "mjpeg", "obu", "ser")
"""Raw streams, and a container, that have neither times nor a rate for FFmpeg."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How the times of a film follow from those of its container."""

    stretch: Fraction = Fraction(1)
    """Seconds of the film for each one of the container's clock."""
    loss: str | None = None
    """The warning about a rate that nobody states; None: one is."""


def pace_of(
    container: InputContainer, stream: VideoStream, header: bytes, fps: Fraction | None, what: str
) -> Pace:
    """Return the pace of a film.

    Parameters
    ----------
    container : InputContainer
    stream : VideoStream
    header : bytes
        The first line, of y4m.
    fps : Fraction or None
        Frames a second, as the user states them.
    what : str
        What messages call the input.

    Raises
    ------
    InputError
        `fps` for a film that has a rate of its own.
    """
    taken, name = rate_of(stream), container.format.name
    untimed = name in UNTIMED or (name == Y4M and not _states_rate(header))
    own = fraction(stream.codec_context.framerate) if name in _SEQUENCES else None
    if fps is not None and (own or not untimed):
        raise InputError(
            f"{what} has {float(own or taken):.6g} frames a second; `fps` is for pictures, and for "
            "films that state no rate",
            parameter="fps",
            advice="leave it out; a filter changes the rate: `vf`=fps=25",
        )
    if not untimed:
        return Pace()
    if (rate := fps or own) is not None:
        return Pace(taken / rate)
    return Pace(
        loss=f"no frame rate is stated: {float(taken):g} frames a second are taken (`fps` states "
        "another one)"
    )


def _states_rate(header: bytes) -> bool:
    """Return whether the first line of a y4m states a rate: F30000:1001, and not F0:0."""
    for word in header.split()[1:]:
        if word[:1] == b"F":
            above, _, below = word[1:].partition(b":")
            return all(one.isdigit() and int(one) for one in (above, below))
    return False
