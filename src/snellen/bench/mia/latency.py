"""A stream of frames, from host memory to host memory: how long each takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from snellen import device as devices
from snellen.bench.cases import codes, picture
from snellen.bench.mia.turns import percentile
from snellen.errors import SnellenError
from snellen.mia.deblurrer import Deblurrer

SIDE = 128
FRAMES, FEW, ON_CPU = 2000, 200, 20  # of the stream; where quick; on a CPU
WARM = 20  # frames before the first that counts
DIFFERENT = 8  # frames that come round and round
REACH = 9  # pixels of their blur
WITHIN = 1e-4  # of white, against float64: as asked of every restored picture
SETTINGS: dict[str, Any] = {"edges": "taper"}
HOST, LOCKED = "host", "host, page-locked"
LINES: dict[str, dict[str, Any]] = {HOST: {}, LOCKED: {}, "host, warm start": {"warm": True}}
"""What is timed, and what is asked for beside. A CPU has the first only."""

Say = Callable[[str], None]


def measure(device: str, quick: bool, say: Say) -> dict[str, Any]:
    """Return milliseconds a frame, 8 bit: middle, 99th percentile, least and most.

    Raises
    ------
    SnellenError
        A restored frame is not float64's: nothing is timed.
    """
    count = (FEW if quick else FRAMES) if device != "cpu" else ON_CPU
    wanted, found, off = exact(drawn()[0]), {}, 0.0
    for name, more in LINES.items():
        if device == "cpu" and name != HOST:
            continue
        frames = [locked(frame) for frame in drawn()] if name == LOCKED else drawn()
        with Deblurrer(**SETTINGS, **more, device=device) as deblurrer:
            deblurrer.prepare((SIDE, SIDE))
            off = max(off, check(deblurrer, frames[0], wanted))
            found[name] = figures(stream(deblurrer, frames, count))
            iterations = deblurrer.iterations
    say(f"\n{count} frames of {SIDE}×{SIDE}, 8 bit, {iterations} iterations, edges "
        f"{SETTINGS['edges']}, host to host (right to {off:.1e} of white), ms a frame")  # fmt: skip
    for name, row in found.items():
        say(f"  {name:<18} p50 {row['p50']:.3f}, p99 {row['p99']:.3f} ({row['min']:.3f} … "
            f"{row['max']:.3f})")  # fmt: skip
    return {"case": f"{SIDE}×{SIDE}", "frames": count, "iterations": iterations, "apart": off,
            **SETTINGS, "lines": found}  # fmt: skip


def stream(deblurrer: Deblurrer, frames: list[npt.NDArray[np.uint8]], count: int) -> list[float]:
    """Return milliseconds of each frame, from the call to its result."""
    taken = []
    for number in range(-min(WARM, count), count):
        frame = frames[number % len(frames)]
        start = time.perf_counter()
        deblurrer.run(frame)
        taken.append(1e3 * (time.perf_counter() - start))
    return taken[-count:]


def figures(taken: list[float]) -> dict[str, float]:
    """Return what is told of so many times."""
    return {"p50": percentile(taken, 0.5), "p99": percentile(taken, 0.99), "min": min(taken),
            "max": max(taken)}  # fmt: skip


def exact(frame: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return a restored frame, white being 1, by the CPU arm in float64."""
    with Deblurrer(**SETTINGS, device="cpu", dtype="float64") as deblurrer:
        deblurrer.prepare((SIDE, SIDE))
        return np.asarray(deblurrer.run(single(frame)).image, np.float64)


def check(
    deblurrer: Deblurrer, frame: npt.NDArray[np.uint8], wanted: npt.NDArray[np.float64]
) -> float:
    """Return by how much a restored frame is off float64's, of white.

    Raises
    ------
    SnellenError
        Too much: nothing is timed.
    """
    off = float(np.abs(deblurrer.run(single(frame)).image - wanted).max())
    if not off <= WITHIN:
        raise SnellenError(
            f"a frame of {SIDE}×{SIDE}, {deblurrer.device}: off float64 by {off:.1e} of white: "
            "nothing is timed"
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
    out = devices.pinned(frame.shape, frame.dtype)
    np.copyto(out, frame)
    return out
