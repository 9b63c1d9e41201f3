"""Frames a second from host memory to host memory, as the road calls the step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from snellen.aplus.upscaler import Upscaler
from snellen.bench.cases import codes, picture
from snellen.bench.clock import spread
from snellen.bench.exact import OFF_BY_ONE
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame, Plane
from snellen.video.step import Step

FRAMES, WINDOWS = 240, 5
DIFFERENT = 8  # frames that are sent round and round
SIZE = (1920, 1080)
CHROMA = ("cpu", "gpu", "auto")


def measure(say: Callable[[str], None], quick: bool = False) -> list[dict[str, Any]]:
    """Return frames a second of 1080p → 4K, 8 bit, on the GPU: luma only, and 4:2:0."""
    say("\nFrom a frame in host memory to one in pinned host memory, 1920×1080 → 3840×2160, 8 bit")
    rows = [row(Format(*SIZE), "auto", quick, say)]
    for chroma in ("auto",) if quick else CHROMA:
        rows.append(row(Format(*SIZE, subsampling=(1, 1)), chroma, quick, say))
    return rows


def row(format: Format, chroma: str, quick: bool, say: Callable[[str], None]) -> dict[str, Any]:
    """Return frames a second and memory for one format and one place for chroma."""
    import cupy

    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before = cupy.cuda.runtime.memGetInfo()[0]
    frames = drawn(format)
    with Upscaler(2, device="cuda", chroma=chroma) as upscaler:
        upscaler.prepare(format)
        count = upscaler.slots
        check(upscaler, frames)
        rate(upscaler, frames, FRAMES // 4, count)  # pinned memory is made for the first frames
        rates = [rate(upscaler, frames, FRAMES, count) for _ in range(2 if quick else WINDOWS)]
        # Blocks are only given back below, so what is gone now is the most that was in use.
        memory = (before - cupy.cuda.runtime.memGetInfo()[0]) / 1e6
    pool.free_all_blocks()
    found = {
        "planes": "luma" if format.subsampling is None else "4:2:0", "chroma": chroma,
        "lanes": count, "fps": spread(rates), "device_mb": memory,
    }  # fmt: skip
    what = "luma" if format.subsampling is None else f"4:2:0, chroma {chroma}"
    say(
        f"  {what:<22} {found['fps']['median']:8.1f} frames/s ({found['fps']['min']:.1f} "
        f"… {found['fps']['max']:.1f}), {count} in flight, {memory:.0f} MB of GPU memory"
    )
    return found


def check(upscaler: Upscaler, frames: list[Frame]) -> None:
    """Compare frames that are in flight together with each frame alone, and with the CPU's.

    Raises
    ------
    SnellenError
        They differ: nothing is timed.
    """
    alone = [upscaler.run(frame).planes for frame in frames]
    with ThreadPoolExecutor(upscaler.slots) as callers:
        together = [frame.planes for frame in callers.map(upscaler.run, frames)]
    for one, other in zip(alone, together, strict=True):
        if any((a != b).any() for a, b in zip(one, other, strict=True)):
            raise SnellenError("frames in flight together differ from frames alone")
    wanted = snellen_on_cpu(frames[0])
    for plane, exact in zip(alone[0], wanted, strict=True):
        off = np.abs(plane.astype(int) - exact)
        if (off > 0).mean() > OFF_BY_ONE[8]:
            raise SnellenError(f"{(off > 0).mean():.1e} of a plane's samples differ from the CPU's")


def snellen_on_cpu(frame: Frame) -> tuple[Plane, ...]:
    """Return a frame's planes as the CPU enlarges them."""
    height, width = frame.planes[0].shape
    with Upscaler(2, device="cpu") as upscaler:
        upscaler.prepare(Format(width, height, subsampling=(1, 1) if frame.planes[1:] else None))
        return upscaler.run(frame).planes


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


def rate(step: Step, frames: list[Frame], count: int, in_flight: int) -> float:
    """Return frames a second while `in_flight` threads call the step; results are let go of."""
    each = -(-count // in_flight)
    errors: list[BaseException] = []

    def lane(number: int) -> None:
        try:
            for i in range(each):
                step.run(frames[(number + i * in_flight) % len(frames)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=lane, args=(number,)) for number in range(in_flight)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return each * in_flight / (time.perf_counter() - start)
