"""Steps that are simple, counted and watched."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace

import numpy as np

from snellen.frames.frame import Format, Frame


class Nearest:
    """A step twice as large, by repeating samples; counts its calls."""

    def __init__(self, scale=2):
        self.scale = scale
        self.slots = 1
        self.prepared = None
        self.ran = 0
        self.closed = 0
        self.device = self.device_name = "cpu"

    def outcome(self, format: Format, frames: int) -> Format:
        return format.scaled(self.scale)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        assert not on_device
        self.prepared = (format, bits)
        self.came = format
        self.out = format.scaled(self.scale, bits)
        return self.out

    def run(self, frame: Frame) -> Frame:
        self.ran += 1
        assert tuple(p.shape for p in frame.planes) == self.came.shapes
        assert all(p.dtype == self.came.dtype for p in frame.planes)
        shift = self.out.bits - self.came.bits
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
        self.slots = 99  # known only after prepare
        self.wanted = slots
        self.linger = linger
        self.chance = random.Random(1)
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.threads = set()
        self.at_close = None

    def prepare(self, format, bits=None):
        self.slots = self.wanted
        return super().prepare(format, bits)

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
