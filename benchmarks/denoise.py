"""Non-local means, checked against the CPU and timed: `python -m benchmarks.denoise`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.command import arguments, write
from snellen.bench import clock, runner
from snellen.bench.clock import Line, Spread, spread
from snellen.errors import SnellenError
from snellen.filters.nlm.cpu import groups
from snellen.filters.nlm.definition import Settings
from snellen.filters.nlm.step import Denoiser
from snellen.frames.frame import Format, Frame
from snellen.gpu import device as devices

SIZES = ((1920, 1080), (3840, 2160))
SMALL = (333, 222)
"""Size of the frames that are compared."""
RADII = (0, 1, 2)
DIFFERENT = 7
"""Frames that are sent again and again."""
FRAMES, FEW = 200, 3
"""Timed frames on a GPU, and on a CPU."""

Say = Callable[[str], None]
Planes = tuple[npt.NDArray[Any], ...]


def drawn(format: Format) -> list[Planes]:
    """Return frames of a scene that moves, with noise of 6 8-bit codes."""
    random, white = np.random.default_rng(3), (1 << format.bits) - 1
    found = []
    for number in range(DIFFERENT):
        planes = []
        for height, width in format.shapes:
            y, x = np.arange(height)[:, None], np.arange(width)
            scene = 0.5 + 0.3 * np.sin((x + 2 * number) / 30) * np.cos(y / 20)
            noise = random.standard_normal((height, width), np.float32) * (6 / 255)
            planes.append(np.rint((scene + noise).clip(0, 1) * white).astype(format.dtype))
        found.append(tuple(planes))
    return found


def check(device: str, bits: int, radius: int) -> None:
    """Refuse (SnellenError) a device whose frames are not the CPU's to the bit."""
    format = Format(*SMALL, bits, (1, 1))
    results = []
    for one in (device, "cpu"):
        step = Denoiser(radius=radius, device=one)
        step.prepare(format)
        frames = [out for planes in drawn(format) for out in step.push(Frame(planes))]
        results.append(frames + step.push(None))
        step.close()
    for one, other in zip(*results, strict=True):
        if any((a != b).any() for a, b in zip(one.planes, other.planes, strict=True)):
            raise SnellenError(f"{device}, {bits} bits, radius {radius}: not the CPU's frames")


def film(step: Denoiser, frames: Sequence[Frame], count: int) -> dict[str, float]:
    """Return milliseconds of the clock and of the CPU a frame, from frame to frame."""
    for number in range(2 * DIFFERENT):  # as many are in flight as ever
        step.push(frames[number % DIFFERENT])
    begin, spent = time.perf_counter(), time.process_time()
    for number in range(count):
        (out,) = step.push(frames[number % DIFFERENT])
    if out.ready is not None:
        out.ready.synchronize()
    return {"ms": 1e3 * (time.perf_counter() - begin) / count,
            "cpu_ms": 1e3 * (time.process_time() - spent) / count}  # fmt: skip


def kernels(format: Format, radius: int, repeats: int) -> dict[str, Spread]:
    """Return milliseconds of the kernels of a frame: its noise, luma, and chroma."""
    import cupy

    from snellen.filters.nlm.cuda.group import Group

    frames = [tuple(map(cupy.asarray, planes)) for planes in drawn(format)[: 2 * radius + 1]]
    given, lines = cupy.ones(len(frames), np.int32), {}
    for name, planes in zip(("luma", "chroma"), groups(format), strict=True):
        group = Group(Settings(radius=radius), planes, format, format)
        threshold = cupy.empty(2, np.float32)
        chosen = [frame[planes] for frame in frames]
        out = tuple(map(cupy.empty_like, chosen[0]))
        group.estimate(chosen[radius], threshold)
        lines[f"noise, {name}"] = Line(
            lambda g=group, c=chosen[radius], t=threshold: g.estimate(c, t)
        )
        lines[name] = Line(lambda g=group, c=chosen, t=threshold, o=out: g.denoise(c, given, t, o))
    times = clock.in_rounds(lines, repeats, clock.events())
    return {name: spread(times[name]) for name in lines}


def measure(device: str, quick: bool, repeats: int, say: Say) -> list[dict[str, Any]]:
    """Return a row for each size, depth and radius."""
    rows = []
    for width, height in SIZES[:1] if quick else SIZES:
        for bits in (8,) if quick else (8, 10, 16):
            for radius in RADII[-1:] if quick else RADII:
                check(device, bits, radius)
                rows.append(row(device, Format(width, height, bits, (1, 1)), radius, repeats))
                say(str(rows[-1]))
    return rows


def row(device: str, format: Format, radius: int, repeats: int) -> dict[str, Any]:
    """Return the times of one format and radius."""
    found: dict[str, Any] = {
        "size": f"{format.width}×{format.height}", "bits": format.bits, "radius": radius,
    }  # fmt: skip
    frames = [Frame(planes) for planes in drawn(format)]
    for name in ("host to host", "on the GPU")[: 1 + (device != "cpu")]:
        there = name == "on the GPU"
        step = Denoiser(radius=radius, device=device)
        step.prepare(format, on_device=there)
        if there:
            import cupy

            frames = [Frame(tuple(map(cupy.asarray, frame.planes))) for frame in frames]
            cupy.cuda.get_current_stream().synchronize()
        found[name] = film(step, frames, FEW if device == "cpu" else FRAMES)
        step.close()
    if device != "cpu":
        found["kernels"] = kernels(format, radius, repeats)
    return found


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    device = devices.resolve(given.device)
    report = runner.header("denoise", device, given.repeats, given.quick, print)
    with devices.using(device):
        report["rows"] = measure(device, given.quick, given.repeats, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
