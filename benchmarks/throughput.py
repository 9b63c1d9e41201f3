"""Frames a second on a GPU, from host to host: `python -m benchmarks.throughput [--method cnn]`.

1080p → 4K, 8 bit, luma alone and 4:2:0, as a pipeline calls the step: from one thread per slot.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.command import arguments, write
from snellen.bench import aplus, cnn, runner
from snellen.bench.clock import spread
from snellen.bench.inputs import codes, picture
from snellen.cnn.definition import SIZES as NETWORKS
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame, Plane
from snellen.gpu import device as devices
from snellen.upscaling.models import Model, load
from snellen.upscaling.upscaler import Upscaler

SIZE = (1920, 1080)
FRAMES, WINDOWS = 240, 5
"""Frames of a time, and how many times."""
DIFFERENT = 8
"""Frames that are sent again and again."""
CHROMA = ("cpu", "gpu", "auto")

Say = Callable[[str], None]


def measure(method: str, device: str, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Return frames a second: of luma, and of 4:2:0 with chroma by each device."""
    rows = []
    for name, model, differing in models(method):
        say(f"  {name}")
        how = (model, differing, device, quick, say)
        found = [row(Format(*SIZE), "auto", *how)]
        for chroma in ("auto",) if quick else CHROMA:
            found.append(row(Format(*SIZE, subsampling=(1, 1)), chroma, *how))
        rows += [{"model": name} | one for one in found]
    return rows


def models(method: str) -> Iterator[tuple[str, Model, float]]:
    """Yield names, models, and the share of samples that may differ from the CPU's."""
    if method == "aplus":
        yield "A+", load("t91-x2", 2), aplus.DIFFERING
        return
    for network in NETWORKS:
        yield network, cnn.drawn(network, 2), cnn.DIFFERING


def row(
    format: Format, chroma: str, model: Model, differing: float, device: str, quick: bool,
    say: Say,
) -> dict[str, Any]:  # fmt: skip
    """Return frames a second for one format and one device of chroma."""
    frames = drawn(format)
    with Upscaler(2, model, device=device, chroma=chroma) as upscaler:
        upscaler.prepare(format)
        with ThreadPoolExecutor(upscaler.slots) as callers:
            check(upscaler, frames, callers, differing)
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


def check(
    upscaler: Upscaler, frames: list[Frame], callers: ThreadPoolExecutor, differing: float
) -> None:
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
    for plane, wanted in zip(alone[0], on_cpu(frames[0], upscaler.model), strict=True):
        share = (np.asarray(plane) != wanted).mean()
        if share > differing:
            raise SnellenError(f"{share:.1e} of a plane's samples differ from the CPU's")


def on_cpu(frame: Frame, model: Model) -> tuple[Plane, ...]:
    """Return a frame's planes as the CPU enlarges them."""
    height, width = frame.planes[0].shape
    with Upscaler(2, model, device="cpu") as upscaler:
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
    given = arguments(
        __doc__,
        lambda parser: parser.add_argument("--method", choices=("aplus", "cnn"), default="aplus"),
    )
    device = devices.resolve("cuda" if given.device == "auto" else given.device)
    report = runner.header(given.method, device, given.repeats, given.quick, print)
    report["throughput"] = measure(given.method, device, given.quick, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
