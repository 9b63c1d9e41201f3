"""Joins the packets of all segments with the streams that travel along, in the output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from av.packet import Packet

from snellen.errors import OutputError
from snellen.video.media import MediaInfo
from snellen.video.passthrough.streams import Copier
from snellen.video.segments.encode import headers
from snellen.video.segments.packets import packets, times
from snellen.video.segments.store import Store
from snellen.video.segments.values import Record
from snellen.video.sink.encode import Plan
from snellen.video.sink.sink import Sink
from snellen.video.source.read import Reader
from snellen.video.timestamps import fraction, stamp_of


class JoiningSink(Sink):
    """An open output, whose video is encoded already."""

    def offer(self, packet: Packet[Any]) -> None:
        """Take a packet of another stream of the input; it is kept until its time."""
        self._copier.offer(packet)

    def put(self, packet: Packet[Any]) -> None:
        """Write a packet of the video."""
        packet.stream, packet.time_base = self._stream, self._plan.time_base
        self._mux_timed(packet)
        self.written += 1

    def finish(self) -> None:
        """Write the rest of the other streams, and close the container."""
        self._end()

    @property
    def headers(self) -> str:
        """SHA-256 of the encoder's headers."""
        return headers(self._stream)


def join(
    store: Store,
    records: Sequence[Record],
    file: Path,
    muxer: str,
    plan: Plan,
    info: MediaInfo,
    copier: Copier,
) -> JoiningSink:
    """Write the output of all segments of a store; return the sink, which is finished.

    The other parameters are as of `Sink`; `copier.end` is known.
    """
    assert store.plan is not None and info.path is not None
    sink = JoiningSink(file, muxer, plan, info, copier, store.plan.threads)
    try:
        if any(one.headers != sink.headers for one in records if one.frames):
            raise OutputError(
                f"{store.folder}: the encoder of this machine begins streams in another way than "
                "that of the segments",
                advice="go on where they were made, or make them anew by `discard_segments`=True",
            )
        film = decodable(store, records, 1 / (plan.rate * plan.time_base))
        if copier.copies:
            _interleave(sink, film, info, plan)
        for packet in film:
            sink.put(packet)
        sink.finish()
    except BaseException:
        sink.abandon()
        raise
    return sink


def decodable(store: Store, records: Sequence[Record], step: Fraction) -> Iterator[Packet[Any]]:
    """Yield the packets of all segments, with decoding times that rise over the whole film.

    Those that encoders give overlap at a cut. Each packet is decoded as early as the one before it
    by `delay` is shown; `step` is the usual distance of two frames, in ticks.
    """
    delay = max((one.delay for one in records), default=0)
    due: deque[int] = deque()
    for record in records:
        file = store.file(record.number)
        shown = sorted(times(file))
        if not due and shown:
            due.extend(shown[0] - round((delay - i) * max(step, Fraction(1))) for i in range(delay))
        due.extend(shown)
        for packet in packets(file):
            packet.dts = due.popleft()
            yield packet


def _interleave(
    sink: JoiningSink, film: Iterator[Packet[Any]], info: MediaInfo, plan: Plan
) -> None:
    """Write packets of all streams as far as the input is read."""
    assert info.path is not None
    with closing(Reader(info.path, info.name, maps=info.clip.map)) as reader:
        ahead = next(film, None)
        for packet in reader.packets():
            if packet.stream.index != info.video_index:
                sink.offer(packet)
                continue
            stamp = stamp_of(packet)
            base = fraction(packet.stream.time_base)
            if stamp is None or base is None:
                continue
            reached = (stamp * base - info.zero) / plan.time_base
            while ahead is not None and ahead.dts is not None and ahead.dts < reached:
                sink.put(ahead)
                ahead = next(film, None)
        if ahead is not None:
            sink.put(ahead)
