"""A comparison that is simple and counted, and what comes of it."""

from __future__ import annotations

import numpy as np

from snellen.video.comparing.compare import compare


class Difference:
    """A step that says how far apart two planes are; counts its calls."""

    depths, reach, slots, colours, fitted_to_sdr, whole = (8, 8), 0, 1, "", "", False
    device_name = "cpu"

    def __init__(self):
        self.prepared = None
        self.planes = []
        self.closed = 0

    def prepare(self, format):
        self.prepared = (format.width, format.height, format.bits, format.white)
        self.dtype = np.dtype(np.float64) if format.bits == 0 else format.dtype
        return format

    def run(self, reference, distorted):
        assert reference.shape == distorted.shape == self.prepared[1::-1]
        assert reference.dtype == distorted.dtype == self.dtype
        self.planes.append((np.array(reference), np.array(distorted)))
        return float(np.abs(reference.astype(float) - distorted).mean())

    def submit(self, reference, distorted):
        found = self.run(reference, distorted)
        return lambda: found

    def see(self, reference, distorted):
        raise AssertionError("it asks for no pairs around those that are compared")

    def close(self):
        self.closed += 1


def compared(reference, distorted, step, **settings):
    """What comes of it: numbers, times, results, the summary."""
    taken = []
    summary = compare(reference, distorted, step, taken.append, **settings)
    assert summary.frames == len(taken) == len(step.planes) and step.closed == 1
    numbers, times = [one.number for one in taken], [one.time for one in taken]
    return numbers, times, [one.result for one in taken], summary
