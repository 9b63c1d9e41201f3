"""What workers do in `benchmarks.overhead`: a module that imports little."""

from __future__ import annotations

import os
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from av.packet import Packet

from snellen.errors import SnellenError
from snellen.jobs.tickets import Worker
from snellen.video.segments.encode import keep_segment
from snellen.video.segments.packets import PacketWriter
from snellen.video.segments.values import Record, SegmentTask

BYTES = 1 << 16
"""Of a segment."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A segment without frames."""

    task: SegmentTask
    subject: str = "film"

    @property
    def key(self) -> int:
        """Number of the segment."""
        return self.task.number

    def run(self, worker: Worker) -> Record:
        """Write some bytes, as of packets."""
        number, written = self.task.number, BytesIO()
        packet: Packet[Any] = Packet(number.to_bytes(4, "big") * (BYTES // 4))
        packet.pts = number
        writer = PacketWriter(written)
        writer.write(packet)
        keep_segment(self.task, written.getvalue(), b"")
        return Record(
            number=number, frames=1, first=(number, "frame"), after=(number + 1, "frame"),
            delay=0, size=writer.size, checksum=writer.checksum, headers="", device="cpu",
        )  # fmt: skip

    def units(self, result: Record) -> int:
        """Return the frames of the segment."""
        return result.frames

    def failed(self, error: SnellenError) -> None:
        """Return None: all are needed."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a worker answers as soon as it has imported what the segment of a film needs."""

    key: int
    subject: str = "pool"

    def run(self, worker: Worker) -> int:
        """Return the number of the process."""
        from snellen.jobs import upscale_video  # noqa: F401  as the ticket of a film does

        return os.getpid()

    def units(self, result: int) -> int:
        """Return 0."""
        return 0

    def failed(self, error: SnellenError) -> None:
        """Return None."""
