"""One stream that travels along, and its packets that wait for the video."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from av.packet import Packet
from av.stream import Stream

from snellen.video.media import StreamInfo
from snellen.video.passthrough.audio import AudioConversion
from snellen.video.passthrough.subtitles import TextSubtitles
from snellen.video.timestamps import Clock


@dataclass(eq=False)
class Copy:
    """One stream that is copied."""

    info: StreamInfo
    template: Stream
    base: Fraction
    """Seconds of a tick of the input's packets."""
    clock: Clock | None
    """Keeps the times of audio rising; None: packets may share a time, as subtitles may."""
    tags: dict[str, str]
    out: Stream | None = None
    out_base: Fraction = Fraction(1)
    last: int | None = None
    """Decoding time of the last packet, in ticks of the output."""
    latest: Fraction | None = None
    """Latest time of a packet so far, in seconds of the output."""
    cover: bytes | None = None
    """A cover's picture, which is written once and before all packets."""
    first: Packet[Any] | None = None
    text: TextSubtitles | None = None
    """Converts subtitles that the output cannot hold as they are; None: they are copied."""
    audio: AudioConversion | None = None
    """Encodes audio anew; None: it is copied."""


@dataclass(order=True)
class Waiting:
    """A packet that waits for the video to reach its time."""

    time: Fraction
    number: int
    packet: Packet[Any] = field(compare=False)
    copy: Copy = field(compare=False)
