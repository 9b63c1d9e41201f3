"""Work of the workers of `snellen bench scale`: tickets, each a share of the same work."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import av
import numpy as np
from av.video.frame import VideoFrame

from snellen.bench.inputs import codes, picture
from snellen.cpu.pool import Pool
from snellen.frames.frame import Format, Frame
from snellen.jobs.sharing.tickets import Done, Ticket, Worker
from snellen.upscaling.models import load
from snellen.upscaling.upscaler import Upscaler

MODEL = "t91-x2"
PRESET = "ultrafast"
"""The preset of x264: without its macroblock tree, by which results would vary from run to run."""
KEPT = 24
"""Decoded frames that an encoder alone is given again and again."""


class Share(Ticket):
    """A share of the work: `part` is a number of frames."""

    __slots__ = ()
    is_needed: ClassVar[bool] = True

    @property
    def subject(self) -> str:
        """The subject of messages."""
        return f"worker {self.key}"


@dataclass(frozen=True, kw_only=True)
class Enlarge(Share):
    """Frames that are made in the worker, enlarged and discarded; the result is a digest of one."""

    size: tuple[int, int]

    def run(self, worker: Worker) -> Done:
        """Do it, with as many frames in flight as the backend takes."""
        upscaler, frame = _upscaler(worker.device, *self.size)
        with Pool(upscaler.slots) as callers:
            found = digest(upscaler.run(frame).planes[0])
            for _ in callers.map(lambda _: upscaler.run(frame) and None, range(self.part)):
                pass
        return Done(self.key, found)


@cache
def _upscaler(device: str, width: int, height: int) -> tuple[Upscaler, Frame]:
    upscaler = Upscaler(2, load(MODEL, 2), device=device)
    upscaler.prepare(Format(width, height))
    return upscaler, Frame((codes(picture(width, height), 8),), 0)


def digest(plane: Any) -> str:
    """Return the SHA-256 of a plane's samples."""
    return sha256(np.ascontiguousarray(plane).data).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Encode(Share):
    """Frames of a film that are in memory, through the encoder alone; the packets are dropped."""

    file: Path
    threads: int

    def run(self, worker: Worker) -> Done:
        """Do it; the result is the number of packets."""
        frames = _decoded(self.file)
        first = frames[0]
        packets = 0
        with av.open(BytesIO(), "w", format="matroska") as out:
            stream: Any = out.add_stream("libx264", rate=25, options={"preset": PRESET})
            stream.width, stream.height, stream.pix_fmt = first.width, first.height, "yuv420p"
            stream.codec_context.thread_count = self.threads
            for number in range(self.part):
                frame = frames[number % len(frames)]
                frame.pts, frame.time_base = number, Fraction(1, 25)
                frame.pict_type = 0
                packets += len(stream.encode(frame))
            packets += len(stream.encode(None))
        return Done(self.key, packets)


@cache
def _decoded(file: Path) -> list[VideoFrame]:
    with av.open(str(file)) as film:
        return [frame for _, frame in zip(range(KEPT), film.decode(video=0), strict=False)]


@dataclass(frozen=True, kw_only=True)
class Decode(Share):
    """Films that are decoded, and no more; the result is the number of frames."""

    files: tuple[Path, ...]

    def run(self, worker: Worker) -> Done:
        """Do it."""
        found = 0
        for file in self.files:
            with av.open(str(file)) as film:
                film.streams.video[0].thread_type = "AUTO"
                found += sum(1 for _ in film.decode(video=0))
        return Done(self.key, found)
