"""Tickets that workers run in `benchmarks.overhead`: a module that imports little."""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from av.packet import Packet

from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.video.segments.encode import keep_segment
from snellen.video.segments.packets import PacketWriter
from snellen.video.segments.values import Record

BYTES = 1 << 16
"""Size of a segment."""


class Written(Ticket):
    """A segment without frames: `part` is its SegmentTask."""

    __slots__ = ()
    is_needed = True
    subject = "film"

    def run(self, worker: Worker) -> Done:
        """Write some bytes, as of packets."""
        number, written = self.key, BytesIO()
        packet: Packet[Any] = Packet(number.to_bytes(4, "big") * (BYTES // 4))
        packet.pts = number
        writer = PacketWriter(written)
        writer.write(packet)
        keep_segment(self.part, (written.getvalue(), None))
        record = Record(
            number=number, frames=1, first=(number, "frame"), after=(number + 1, "frame"),
            delay=0, size=writer.size, checksum=writer.checksum, headers="", device="cpu",
        )  # fmt: skip
        return Done(number, record)


class Hello(Ticket):
    """A ticket, answered as soon as a worker has imported what the segment of a film needs."""

    __slots__ = ()
    is_needed = True
    subject = "pool"

    def run(self, worker: Worker) -> Done:
        """Return the number of the process."""
        from snellen.jobs.runs import upscale_video  # noqa: F401  as the ticket of a film does

        return Done(self.key, os.getpid(), units=0)
