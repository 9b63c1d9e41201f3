"""Estimates time and size of a conversion: some frames of several places are run and encoded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from io import BytesIO
from typing import Any, BinaryIO

import av
from av.packet import Packet

from snellen.errors import InputError
from snellen.files import temporary
from snellen.frames.brief import Brief
from snellen.frames.values import decimal
from snellen.video.media import Item, MediaInfo
from snellen.video.opening import open_input
from snellen.video.progress import Meter
from snellen.video.ready import Ready
from snellen.video.sink.encode import Plan, add_video, open_container, rehearsed
from snellen.video.sink.output import PICTURES
from snellen.video.sink.sink import FrameEncoder
from snellen.video.source.decode import Source
from snellen.video.threads import run_between, run_pipeline

PLACES = 5
"""Places in a film, equally far from one another."""
FEWEST, MOST = 6, 48
"""Frames of each place."""
PATIENCE = 15.0
"""Seconds that it takes, about; a place of slow work takes longer."""
GROUP = 250
"""Frames from a key frame to the next, where the encoder's settings do not say it."""
LISTENED = 10
"""Seconds in the middle of a film, of which packets of other streams are counted."""


@dataclass(frozen=True, slots=True, repr=False)
class Estimate(Brief):
    """An estimate of a conversion, if all of the film is as the frames that were tried."""

    frames: int
    """Results that were really made and encoded."""
    places: int
    """Places of the film where they are."""
    fps: float
    """Results a second."""
    seconds: float | None
    """Time for the work that is left; None: it is not known how many frames the film has."""
    size: int | None
    """Bytes of the output; None: likewise."""
    cores: float = 1.0
    """Cores of the CPU that were busy meanwhile, on average."""


@dataclass(slots=True)
class _Tried:
    """Sums over all places."""

    frames: int = 0
    places: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    keys: int = 0
    key_bytes: int = 0
    others: int = 0
    other_bytes: int = 0


def estimated(ready: Ready, segments: int, left: int | None) -> Estimate | None:
    """Return an estimate; None: the input can be read once only, or no frame could be tried.

    The step of `ready` has worked on no frame yet. There will be so many `segments` (0: one piece),
    and `left` frames of the input are to be worked on; None: all.
    """
    info = ready.info
    if info.path is None:
        return None
    began = time.monotonic()
    begin = info.clip.start or Fraction(0)
    _try(ready, begin, 1, _Tried())  # loads what the first frame needs
    slow = time.monotonic() - began
    count = max(FEWEST, min(MOST, int(PATIENCE / PLACES / slow)))
    found = _Tried()
    length = None if info.frames is None else info.frames / info.rate
    if info.frames is None or info.frames <= PLACES * count:
        places, count = [begin], min(PLACES * count, info.frames or count)
    else:
        assert length is not None
        places = [begin + length * (2 * at + 1) / (2 * PLACES) for at in range(PLACES)]
    places = sorted(places, key=lambda at: abs(at - places[len(places) // 2]))  # middle first
    for at in places:
        _try(ready, at, count, found)
        if found.places > 1 and time.monotonic() - began > PATIENCE:
            break
    if not found.frames:
        return None
    fps, cores = found.frames / found.seconds, found.cpu_seconds / found.seconds
    if info.frames is None or length is None:
        return Estimate(found.frames, found.places, fps, None, None, cores)
    rate = ready.step.traits.rate
    total = info.frames if info.clip.frames is None else min(info.frames, info.clip.frames)
    work = float((total if left is None else left) * rate) / fps
    size = _video_size(ready.plan, found, float(total * rate), segments)
    if info.frames > found.frames:
        size *= 1 + ready.plan.encoder.traits.tree / count
    size += _copied(info, ready.copier.kept) * float(length)
    return Estimate(found.frames, found.places, fps, work, round(size), cores)


def _try(ready: Ready, at: Fraction, count: int, found: _Tried) -> None:
    """Work on some frames of a place; a place that has none, or none of this size, is left out."""
    info = ready.info
    assert info.path is not None
    marks = "ignore" if info.fields_notice is not None else info.clip.interlaced
    clip = replace(info.clip, start=at or None, duration=None, frames=count, interlaced=marks)
    with (
        suppress(InputError),
        closing(Source(info.path, clip, info.decoder, looked=True, given=info.decoded)) as source,
    ):
        if source.info.picture.format != info.picture.format:
            return
        before = found.frames
        began, spent = time.monotonic(), time.process_time()
        if ready.output.is_rgb:
            _pictures(replace(ready, source=source), found)
        else:
            sink = _Counting(ready.plan, ready.output.muxer, ready.output.suffix, found)
            run_between(
                source, partial(_frames, source, ready.plan.alpha), ready.step, sink,
                ready.plan.format, ready.output.name, info.path, Meter(None, None),
            )  # fmt: skip
        if found.frames > before:
            found.seconds += time.monotonic() - began
            found.cpu_seconds += time.process_time() - spent
            found.places += 1


def _frames(source: Source, alpha: bool) -> Iterator[Item]:
    """Yield the frames without packets of other streams."""
    for item in source.items(alpha):
        yield Item(item.frame, report=item.report)


def _pictures(ready: Ready, found: _Tried) -> None:
    """Write pictures, or an animation, into a folder of the system's, and count their bytes."""
    with temporary.folder() as folder:
        file = folder if ready.output.muxer == PICTURES else folder / f"film{ready.output.suffix}"
        written = run_pipeline(ready, file, Meter(None, None))
        found.frames += written.frames
        found.keys += written.frames
        found.key_bytes += sum(one.stat().st_size for one in folder.iterdir())


class _Counting:
    """Encodes frames as an output would, and counts bytes of packets; takes items as a sink."""

    refused = 0
    damage: tuple[str, ...] = ()

    def __init__(self, plan: Plan, muxer: str, suffix: str, found: _Tried) -> None:
        self._found, self.written = found, 0
        self._raw = plan.format.nbytes + len("FRAME\n") if plan.numbered else None
        memory: BinaryIO = BytesIO()
        self._out = open_container(memory, muxer, plan.time_base, suffix)
        try:
            self._encoder = FrameEncoder(add_video(self._out, rehearsed(plan), suffix), plan)
        except BaseException:
            self.abandon()
            raise

    def write(self, item: Item) -> None:
        """Encode the item's frame."""
        if item.frame is not None:
            self._count(self._encoder.encode(item.frame))
            self.written += 1
            self._found.frames += 1

    def finish(self) -> None:
        """Count what the encoder still holds."""
        self._count(self._encoder.flush())
        self.abandon()

    def abandon(self) -> None:
        """Close the encoder."""
        with suppress(Exception):
            self._out.close()

    def _count(self, packets: list[Packet[Any]]) -> None:
        for packet in packets:
            size = packet.size if self._raw is None else self._raw
            if packet.is_keyframe or self._raw is not None:
                self._found.keys += 1
                self._found.key_bytes += size
            else:
                self._found.others += 1
                self._found.other_bytes += size


def _video_size(plan: Plan, found: _Tried, frames: float, segments: int) -> float:
    """Return the bytes of a film's video: key frames are larger than those between them."""
    if not found.keys:
        return found.other_bytes / found.others * frames if found.others else 0.0
    key = found.key_bytes / found.keys
    if not found.others:
        return key * frames
    given = decimal(plan.encoder.options.get("g", ""))
    keys = max(1, segments, frames / (given or GROUP))
    keys = min(keys, frames)
    return key * keys + found.other_bytes / found.others * (frames - keys)


def _copied(info: MediaInfo, kept: frozenset[int]) -> float:
    """Return the bytes a second of the streams that are kept, in the middle of a film."""
    if not kept or info.path is None:
        return 0.0
    total, span = 0, Fraction(0)
    first: Fraction | None = None
    with suppress(av.FFmpegError, OSError, InputError), open_input(info.path) as container:
        container.seek((container.start_time or 0) + (container.duration or 0) // 2)
        for packet in container.demux():
            if packet.stream.index == info.video_index and packet.dts is not None:
                at = packet.dts * packet.time_base
                first = at if first is None else first
                span = at - first
                if span > LISTENED:
                    break
            elif packet.stream.index in kept:
                total += packet.size
    return total / float(span) if span else 0.0
