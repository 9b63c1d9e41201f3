"""Frames a second of A+ on a GPU, from host to host: `python -m benchmarks.throughput`.

1080p → 4K, 8 bit, luma alone and 4:2:0, as a pipeline calls the step: from one thread per slot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.command import arguments, write
from snellen.bench import runner
from snellen.bench.aplus import DIFFERING
from snellen.bench.clock import spread
from snellen.bench.inputs import codes, picture
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame, Plane
from snellen.gpu import device as devices
from snellen.upscaling.upscaler import Upscaler

SIZE = (1920, 1080)
FRAMES, WINDOWS = 240, 5
"""Frames of a time, and how many times."""
DIFFERENT = 8
"""Frames that are sent again and again."""
CHROMA = ("cpu", "gpu", "auto")

Say = Callable[[str], None]


def measure(device: str, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Return frames a second: of luma, and of 4:2:0 with chroma by each device."""
    rows = [row(Format(*SIZE), "auto", device, quick, say)]
    for chroma in ("auto",) if quick else CHROMA:
        rows.append(row(Format(*SIZE, subsampling=(1, 1)), chroma, device, quick, say))
    return rows


def row(format: Format, chroma: str, device: str, quick: bool, say: Say) -> dict[str, Any]:
    """Return frames a second for one format and one device of chroma."""
    frames = drawn(format)
    with Upscaler(2, device=device, chroma=chroma) as upscaler:
        upscaler.prepare(format)
        with ThreadPoolExecutor(upscaler.slots) as callers:
            check(upscaler, frames, callers)
            rate(upscaler, frames, FRAMES // 4, callers)  # page-locked memory is made meanwhile
            rates = [
                rate(upscaler, frames, FRAMES, callers) for _ in range(2 if quick else WINDOWS)
            ]
        slots = upscaler.slots
    planes = "luma" if format.subsampling is None else "4:2:0"
    found = {"planes": planes, "chroma": chroma, "slots": slots, "fps": spread(rates)}
    say(f"  {planes}, chroma {chroma}: {found['fps']['median']:.1f} frames/s "
        f"({found['fps']['min']:.1f} … {found['fps']['max']:.1f}), {slots} in flight")  # fmt: skip
    return found


def check(upscaler: Upscaler, frames: list[Frame], callers: ThreadPoolExecutor) -> None:
    """Compare frames in flight together with each frame alone, and one with the CPU's.

    Raises
    ------
    SnellenError
        They differ: nothing is timed.
    """
    alone = [upscaler.run(frame).planes for frame in frames]
    together = [frame.planes for frame in callers.map(upscaler.run, frames)]
    for one, other in zip(alone, together, strict=True):
        if any((a != b).any() for a, b in zip(one, other, strict=True)):
            raise SnellenError("frames in flight together differ from frames alone")
    for plane, wanted in zip(alone[0], on_cpu(frames[0]), strict=True):
        share = (np.asarray(plane) != wanted).mean()
        if share > DIFFERING:
            raise SnellenError(f"{share:.1e} of a plane's samples differ from the CPU's")


def on_cpu(frame: Frame) -> tuple[Plane, ...]:
    """Return a frame's planes as the CPU enlarges them."""
    height, width = frame.planes[0].shape
    with Upscaler(2, device="cpu") as upscaler:
        upscaler.prepare(Format(width, height, subsampling=(1, 1) if frame.planes[1:] else None))
        return upscaler.run(frame).planes


def rate(upscaler: Upscaler, frames: list[Frame], count: int, callers: ThreadPoolExecutor) -> float:
    """Return frames a second; results are dropped at once."""
    start = time.perf_counter()
    for _ in callers.map(lambda i: upscaler.run(frames[i % len(frames)]) and None, range(count)):
        pass
    return count / (time.perf_counter() - start)


def drawn(format: Format) -> list[Frame]:
    """Return a few different frames."""
    wide = picture(format.width + DIFFERENT, format.height)
    frames = []
    for i in range(DIFFERENT):
        planes = [
            np.ascontiguousarray(codes(wide[:height, i : i + width], format.bits))
            for height, width in format.shapes
        ]
        frames.append(Frame(tuple(planes), i))
    return frames


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    report = runner.header("aplus", device, given.repeats, given.quick, print)
    report["throughput"] = measure(device, given.quick, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
