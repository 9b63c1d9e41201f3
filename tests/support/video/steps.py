"""Steps that are simple, counted and watched."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from snellen.frames.frame import Format, Frame
from snellen.frames.step import Step, Traits


class Nearest(Step):
    """A step twice as large, by repeating samples; counts its calls."""

    def __init__(self, scale=2):
        self.scale = scale
        self.prepared = None
        self.ran = 0
        self.closed = 0

    def outcome(self, format: Format, frames: int) -> Format:
        return format.scaled(self.scale)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        assert not on_device
        self.prepared = (format, bits)
        self.given = format
        self.out = format.scaled(self.scale, bits)
        return self.out

    def run(self, frame: Frame) -> Frame:
        self.ran += 1
        assert tuple(p.shape for p in frame.planes) == self.given.shapes
        assert all(p.dtype == self.given.dtype for p in frame.planes)
        shift = self.out.bits - self.given.bits
        planes = []
        for plane, (height, width) in zip(frame.planes, self.out.shapes, strict=True):
            large = plane.repeat(self.scale, 0).repeat(self.scale, 1)[:height, :width]
            large = large.astype(np.uint32)
            large = large << shift if shift >= 0 else large >> -shift
            planes.append(np.ascontiguousarray(large.astype(self.out.dtype)))
        return replace(frame, planes=tuple(planes))

    def close(self) -> None:
        self.closed += 1


class Wide(Nearest):
    """A step with several slots that lingers at random and watches who is inside."""

    def __init__(self, slots=3, linger=0.004):
        super().__init__()
        self.traits = Traits(slots=99)  # known only after prepare
        self.wanted = slots
        self.linger = linger
        self.chance = random.Random(1)
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.threads = set()
        self.at_close = None

    def prepare(self, format, bits=None, *, on_device=False):
        self.traits = Traits(slots=self.wanted)
        return super().prepare(format, bits, on_device=on_device)

    def run(self, frame):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.threads.add(threading.current_thread().name)
            delay = self.chance.random() * self.linger
        try:
            time.sleep(delay)
            return self.work(frame)
        finally:
            with self.lock:
                self.inside -= 1

    def work(self, frame):
        return super().run(frame)

    def close(self):
        self.at_close = self.inside
        super().close()


class Half(Step):
    """A step that drops every second frame; the others last twice as long."""

    traits = Traits(call="push", reach=None, rate=Fraction(1, 2))

    def __init__(self):
        self.taken = 0
        self.ended = 0
        self.closed = 0

    def prepare(self, format, bits=None, *, on_device=False):
        assert bits in (None, format.bits) and not on_device
        return format

    def push(self, frame):
        self.ended += frame is None
        if frame is None:
            return []
        self.taken += 1
        return [replace(frame, duration=2 * frame.duration)] if self.taken % 2 else []

    def close(self):
        self.closed += 1


class Double(Half):
    """A step that puts the mean of two frames between them: one behind, and flushed at the end."""

    traits = Traits(call="push", reach=None, rate=Fraction(2), ticks=2)

    def __init__(self):
        super().__init__()
        self.last = None

    def push(self, frame):
        self.ended += frame is None
        last, self.last = self.last, frame
        if last is None:
            return []
        self.taken += 1
        first = replace(last, pts=2 * last.pts, duration=last.duration)
        other = last if frame is None else frame
        pairs = zip(last.planes, other.planes, strict=True)
        mean = tuple(((a.astype(np.uint32) + b) // 2).astype(a.dtype) for a, b in pairs)
        return [first, replace(first, planes=mean, pts=first.pts + last.duration)]


class Median(Half):
    """A step that gives, of each frame and `reach` on each side of it, the median of each sample.

    Where the film begins and ends, the frames that are there count.
    """

    def __init__(self, reach=2):
        super().__init__()
        self.reach = reach
        self.traits = Traits(call="push", reach=reach)
        self.frames = []
        self.done = 0

    def push(self, frame):
        if frame is not None:
            self.frames.append(frame)
        out = []
        while self.done + (self.reach if frame is not None else 0) < len(self.frames):
            near = self.frames[max(0, self.done - self.reach) : self.done + self.reach + 1]
            planes = tuple(
                np.median(np.stack(same), 0).astype(same[0].dtype)
                for same in zip(*(one.planes for one in near), strict=True)
            )
            out.append(replace(self.frames[self.done], planes=planes))
            self.done += 1
        if frame is None:
            self.frames, self.done = [], 0
        return out


class Between(Double):
    """As `Double`, which says on how many frames its results depend."""

    traits = replace(Double.traits, reach=1)


class Even(Half):
    """A step that drops every second frame, by its time."""

    traits = replace(Half.traits, reach=0)

    def __init__(self, step):
        super().__init__()
        self.step = step

    def push(self, frame):
        if frame is None or round(frame.pts / self.step) % 2:
            return []
        return [replace(frame, duration=2 * frame.duration)]


class OnDevice:
    """A plane in the memory of a pretended GPU: NumPy cannot read it by mistake."""

    def __init__(self, plane):
        self.plane = plane


class Device(Step):
    """A step on a pretended GPU: adds 1 to each sample; takes planes from there and from here."""

    def __init__(self, device="cuda:0"):
        self.traits = Traits(device=device, device_name=device)
        self.on_device = None
        self.taken_on_device = []

    def prepare(self, format, bits=None, *, on_device=False):
        self.on_device = on_device
        return replace(format, bits=bits or format.bits)

    def run(self, frame):
        there = [isinstance(plane, OnDevice) for plane in frame.planes]
        self.taken_on_device.append(all(there))
        assert all(there) or not any(there)
        planes = [p.plane if isinstance(p, OnDevice) else p for p in frame.planes]
        results = [p + p.dtype.type(1) for p in planes]
        return replace(frame, planes=tuple(map(OnDevice, results) if self.on_device else results))
