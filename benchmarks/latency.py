"""Latency of MIA for frames of a stream, host to host: `python -m benchmarks.latency`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.command import arguments, write
from snellen.bench import runner
from snellen.bench.inputs import codes, picture
from snellen.errors import SnellenError
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu.pages import pinned
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.definition import ITERATIONS
from snellen.mia.stream import Stream

SIDE = 128
FRAMES, FEW, FEWEST = 2000, 200, 20
"""Frames of the stream: by default; with --quick or on a CPU; with both."""
WARM = 20
"""Frames before the first that is timed."""
DIFFERENT = 8
"""Frames that are sent again and again."""
REACH = 9
"""Pixels of their blur."""
WITHIN = 1e-4
"""Greatest error against float64, of white, as is asked of every restored picture."""
EDGES = "taper"
HOST, LOCKED, WARM_START = "Deblurrer", "Deblurrer, page-locked", "Deblurrer, warm start"
STREAM = "Stream, push to pop"
LINES = (HOST, LOCKED, WARM_START, STREAM)
"""The work that is timed; on a CPU there is nothing to lock."""

Restore = Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
Say = Callable[[str], None]


def measure(device: str, quick: bool, say: Say) -> dict[str, Any]:
    """Return milliseconds a frame, 8 bit: middle, 99th percentile, least and most.

    Raises
    ------
    SnellenError
        A restored frame is not float64's: nothing is timed.
    """
    count = (FRAMES, FEW, FEWEST)[quick + (device == "cpu")]
    wanted, found, off = exact(drawn()[0]), {}, 0.0
    for name in LINES:
        if device == "cpu" and name == LOCKED:
            continue
        frames = [locked(frame) for frame in drawn()] if name == LOCKED else drawn()
        with made(name, device) as restore:
            off = max(off, check(restore, frames[0], wanted, f"{name}, {device}"))
            found[name] = figures(times(restore, frames, count))
    say(f"\n{count} frames of {SIDE}×{SIDE}, 8 bit, {ITERATIONS} iterations, edges {EDGES}, host "
        f"to host (right to {off:.1e} of white), ms a frame")  # fmt: skip
    for name, row in found.items():
        say(f"  {name:<24} p50 {row['p50']:.3f}, p99 {row['p99']:.3f} ({row['min']:.3f} … "
            f"{row['max']:.3f})")  # fmt: skip
    return {"case": f"{SIDE}×{SIDE}", "frames": count, "iterations": ITERATIONS, "apart": off,
            "edges": EDGES, "lines": found}  # fmt: skip


@contextmanager
def made(name: str, device: str, dtype: str | None = None) -> Iterator[Restore]:
    """Make what restores one frame after another, prepared."""
    deblurrer = Deblurrer(
        iterations=ITERATIONS, edges=EDGES, warm=name == WARM_START, device=device, dtype=dtype
    )
    if name != STREAM:
        with deblurrer:
            deblurrer.prepare(Format(SIDE, SIDE, 0))
            yield lambda frame: deblurrer.run(frame).image
        return
    with Stream(deblurrer, (SIDE, SIDE)) as stream:

        def through(frame: npt.NDArray[Any]) -> Any:
            stream.push(frame)
            region = stream.pop()
            assert region is not None  # it waits, and nothing ends it
            return region.restored.image

        yield through


def times(restore: Restore, frames: list[npt.NDArray[np.uint8]], count: int) -> list[float]:
    """Return milliseconds of each frame, from the call to its result."""
    taken = []
    for number in range(-min(WARM, count), count):
        frame = frames[number % len(frames)]
        start = time.perf_counter()
        restore(frame)
        taken.append(1e3 * (time.perf_counter() - start))
    return taken[-count:]


def figures(taken: list[float]) -> dict[str, float]:
    """Return the percentiles and the extremes of so many times."""
    return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99), "min": min(taken),
            "max": max(taken)}  # fmt: skip


def exact(frame: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return a restored frame, white being 1, by the CPU backend in float64."""
    with made(HOST, "cpu", "float64") as restore:
        return restore(single(frame)).astype(np.float64)


def check(
    restore: Restore, frame: npt.NDArray[np.uint8], wanted: npt.NDArray[np.float64], what: str
) -> float:
    """Return by how much a restored frame is off float64's, of white.

    Raises
    ------
    SnellenError
        Too much: nothing is timed.
    """
    off = float(np.abs(restore(single(frame)) - wanted).max())
    if not off <= WITHIN:
        raise SnellenError(
            f"a frame of {SIDE}×{SIDE}, {what}: off float64 by {off:.1e} of white: nothing is timed"
        )
    return off


def single(frame: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Return a frame as floats, white being 1, which no result is rounded to."""
    return frame.astype(np.float32) / np.float32(255)


def drawn() -> list[npt.NDArray[np.uint8]]:
    """Return a few different frames of 8 bit, blurred along both axes."""
    wide = picture(SIDE + DIFFERENT + REACH, SIDE + REACH).astype(np.float64)
    for axis in (0, 1):
        wide = sliding_window_view(wide, REACH, axis).mean(-1)
    blurred = codes(wide.clip(0, 1).astype(np.float32), 8)
    return [np.ascontiguousarray(blurred[:SIDE, i : i + SIDE]) for i in range(DIFFERENT)]


def locked(frame: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return a copy in page-locked memory."""
    out = pinned(frame.shape, frame.dtype)
    np.copyto(out, frame)
    return out


def percentile(times: Iterable[float], share: float) -> float:
    """Return the least time that so large a share of them does not exceed."""
    ordered = sorted(times)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve(given.device)
    report = runner.header("mia", device, given.repeats, given.quick, print)
    with devices.using(device):
        report["latency"] = measure(device, given.quick, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
