"""Encodes one segment: a function of its task and a prepared step, which returns a record.

It is the same in any process: a task is all that it needs of the film.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from hashlib import blake2b, sha256
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from av.packet import Packet

from snellen.errors import InputError, OutputError
from snellen.files import atomic
from snellen.frames.frame import Frame
from snellen.frames.step import Step
from snellen.process import Home
from snellen.video import pixels
from snellen.video.media import Item
from snellen.video.progress import Meter
from snellen.video.segments.packets import PacketWriter, delay
from snellen.video.segments.values import NOTES, DifferentFrameError, Mark, Record, SegmentTask
from snellen.video.sink.encode import add_video, open_container
from snellen.video.sink.registry import traits
from snellen.video.sink.sink import FrameEncoder
from snellen.video.source.decode import Source
from snellen.video.source.flow import shape_of
from snellen.video.threads import run_between

Writing = Callable[[Path], AbstractContextManager[BinaryIO]]
"""Returns what opens a file of a segment, which is there when the block ends without an error."""

_STARTS = re.compile(rb"\x00*\x00\x00\x01")
"""Between units of HEVC."""
_SEI = (39, 40)
"""Types of units that decoders need not read (ITU-T H.265, 7.4.2.2)."""


def encode_segment(
    task: SegmentTask, step: Step, meter: Meter, writing: Writing = atomic.rewriting
) -> Record:
    """Encode a segment into its file; return what became of it.

    Decoding begins further back where its first frame is not the one that the segment before saw,
    or where there is none: in a damaged film, seeking may miss what reading finds. If that does not
    help, the segment is what is decoded from there. The step is prepared for the film's frames;
    `writing` opens the files of the segment (OutputError: they could not be written).
    """
    empty = None
    places = [task] if task.further is None else [task, replace(task, lead=task.further)]
    for one in places:
        with suppress(DifferentFrameError):
            record = replace(_encoded(one, step, meter, writing), sought=one is not task)
            if record.frames or record.ended is not None:
                return record
            empty = record
    if empty is not None:
        return replace(empty, sought=task.further is not None)
    last = replace(places[-1], expected=None)
    return replace(_encoded(last, step, meter, writing), sought=True)


def _encoded(task: SegmentTask, step: Step, meter: Meter, writing: Writing) -> Record:
    """Encode a segment, decoded from `task.lead` before it; errors: as of `encode_segment`.

    DifferentFrameError: the first frame is not `task.expected`; nothing is written.
    """
    with _named(task), writing(task.file) as file:
        writer = PacketWriter(file)
        try:
            source = Source(
                task.source, task.clip, task.decoder, lead=task.lead, looked=True,
                content=task.looked, cycle=task.cycle, given=task.given,
            )  # fmt: skip
        except InputError as error:
            if task.number == 1 or error.parameter not in ("start", "duration"):
                raise
            return _empty(task, writer, step, "no frame could be decoded", None)
        with closing(source):
            given = source.info.picture.format
            if shape_of(given) != shape_of(task.given.format):
                change = (
                    f"the picture changes from {pixels.describe(task.given.format)} to "
                    f"{pixels.describe(given)}: what follows is left out"
                )
                return _empty(task, writer, step, change, source.info.zero)
            sink = SegmentSink(writer, task)
            part = _Part(source, task)
            step.restart()
            step.take_tally()  # of what came before
            report = run_between(
                source, part.items, step, sink, task.plan.format, task.output, task.file, meter,
                part.is_inside,
            )  # fmt: skip
    if found := step.notes(part.before, sink.written):
        with _named(task), writing(task.file.with_suffix(NOTES)) as file:
            file.write(found)
    clipped, made = step.take_tally()
    shift = source.info.zero - task.zero
    return Record(
        number=task.number, frames=sink.written, first=part.first, after=part.after,
        delay=delay(writer.times), size=writer.size, checksum=writer.checksum,
        headers=sink.headers, device=step.traits.device_name,
        notes=sha256(found).hexdigest() if found else "", clipped=clipped, pixels=made,
        lost=report.damage, moved=report.moved,
        variable_rate=report.variable_rate, losses=report.losses,
        transparent=report.transparent, fields_notice=report.fields_notice, ended=part.ended,
        changes=tuple(replace(one, since=one.since + shift) for one in report.changes),
    )  # fmt: skip


def files_of(task: SegmentTask) -> tuple[Path, Path]:
    """Return the files of a segment: of its packets, and of what the step notes."""
    return task.file, task.file.with_suffix(NOTES)


def keep_segment(task: SegmentTask, contents: Iterable[bytes | None]) -> None:
    """Write a segment that was encoded elsewhere into `files_of` it (OutputError: that fails)."""
    with _named(task):
        for file, data in zip(files_of(task), contents, strict=True):
            if data:
                with atomic.rewriting(file) as opened:
                    opened.write(data)


@contextmanager
def _named(task: SegmentTask) -> Iterator[None]:
    """Have errors name the output, and not a segment's file, which users do not know."""
    try:
        yield
    except OutputError as error:
        message = error.message
        for file in files_of(task):
            message = message.replace(str(file), f"{task.output}, segment {task.number},")
        raise OutputError(message, parameter=error.parameter, advice=error.advice) from error


def _empty(
    task: SegmentTask, writer: PacketWriter, step: Step, why: str, ended: Fraction | None
) -> Record:
    return Record(
        number=task.number, frames=0, first=None, after=None, delay=0, size=writer.size,
        checksum=writer.checksum, headers="", device=step.traits.device_name, lost=(why,),
        ended=ended,
    )  # fmt: skip


class _Part:
    """The frames of a segment, timed from the output's beginning, and marks of two of them."""

    def __init__(self, source: Source, task: SegmentTask) -> None:
        self._source, self._task = source, task
        self._shift = (source.info.zero - task.zero) / task.time_base
        self.first: Mark | None = None
        self.after: Mark | None = None
        self.ended: Fraction | None = None
        self.before = 0

    def items(self) -> Iterator[Item]:
        """Yield the frames that the segment's results depend on, and the report."""
        task = self._task
        for item in self._source.items(task.plan.alpha):
            frame, end = item.frame, item.clip_end
            if frame is None:
                if end is not None and (task.stop is None or end < task.stop):
                    self._end(end)
                yield Item(None, report=item.report)
                continue
            time = round(frame.pts + self._shift)
            if task.watched is not None and self.after is None and time >= task.watched:
                self.after = _mark(frame, time)
            if self.first is None:
                self.first = _mark(frame, time)
                if task.expected not in (None, self.first):
                    raise DifferentFrameError
            if task.until is None or time < task.until:
                yield Item(replace(frame, pts=time), report=item.report)

    def is_inside(self, result: Frame) -> bool:
        """Return whether a result belongs to the segment, by its time; count those before it."""
        begin, end = self._task.begin, self._task.end
        if begin is not None and result.pts < begin:
            self.before += 1
            return False
        return end is None or result.pts < end

    def _end(self, end: Fraction) -> None:
        """Note where the film ends for good, unless that is for the next segment to see."""
        task = self._task
        if task.end is None or end <= task.zero + task.end * task.plan.time_base:
            self.ended = end


def _mark(frame: Frame, time: int) -> Mark:
    found = blake2b(digest_size=16)
    for plane in (*frame.planes, *(() if frame.alpha is None else (frame.alpha,))):
        found.update(np.ascontiguousarray(plane).data)
    return time, found.hexdigest()


class SegmentSink:
    """Encodes frames into packets, which go into a file; takes items from one thread at a time.

    `headers` are those of the encoder, as SHA-256; `written`, `refused`, `damage` as of `Sink`.
    """

    refused = 0
    damage: tuple[str, ...] = ()

    def __init__(self, writer: PacketWriter, task: SegmentTask) -> None:
        self._home, self._writer = Home("this segment"), writer
        # Nothing is written into this container: it sets the encoder up as that of the film.
        memory: BinaryIO = BytesIO()
        self._out = open_container(memory, task.muxer, task.plan.time_base, task.suffix)
        try:
            stream = add_video(self._out, task.plan, task.suffix, task.threads)
            self._encoder = FrameEncoder(stream, task.plan)
            self.headers = headers(stream)
        except BaseException:
            self.abandon()
            raise

    @property
    def written(self) -> int:
        """Frames given to the encoder so far."""
        return self._encoder.count

    def write(self, item: Item) -> None:
        """Encode the item's frame."""
        if item.frame is not None:
            self._put(self._encoder.encode(item.frame))

    def finish(self) -> None:
        """Write what the encoder still holds."""
        self._put(self._encoder.flush())
        self._out.close()

    def abandon(self) -> None:
        """Close the encoder; the file is incomplete."""
        if not self._home.keep(self.__dict__):
            with suppress(Exception):
                self._out.close()

    def _put(self, packets: list[Packet[Any]]) -> None:
        for packet in packets:
            self._writer.write(packet)


def headers(stream: Any) -> str:
    """Return the SHA-256 of the headers of a stream's encoder, which is open.

    Without what x265 says of itself there, as of the processor's instructions: a run may go on on
    another machine.
    """
    data = stream.codec_context.extradata or b""
    if traits(stream.codec_context.codec.name).named_in_headers:
        data = b"".join(one for one in _STARTS.split(data) if one and one[0] >> 1 & 63 not in _SEI)
    return sha256(data).hexdigest()
