"""The paper's seven steps on the CPU, each with its share of a frame's time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS, differences
from snellen.aplus.features import PRODUCT, collect, margin
from snellen.aplus.match import match
from snellen.aplus.model import Model
from snellen.aplus.overlap import overlap
from snellen.aplus.regress import regress
from snellen.bench.clock import spread
from snellen.cpu.blas import single_threaded
from snellen.cpu.threads import available
from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Plane
from snellen.frames.quantise import quantise

STEPS = ("bicubic", "differences", "collect", "pca", "match", "regress", "overlap")
"""Names in JSON; the paper's "add low frequency" is part of overlap, its ANR match and regress."""

CHUNK = 960  # windows at a time, and
STRIP = 16 << 20  # bytes of patches a strip, as in the CPU arm

Float32 = npt.NDArray[np.float32]

room = np.empty


class Clock:
    """Adds up the seconds of each step over all threads."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self._lock = threading.Lock()

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Count what the block takes."""
        start = time.perf_counter()
        yield
        taken = time.perf_counter() - start
        with self._lock:
            self.seconds[step] += taken


def measure(plane: Plane, model: Model, repeats: int) -> dict[str, Any]:
    """Return milliseconds of each step of a frame on all threads: median, min and max.

    The stages of the CPU arm run strip by strip as they do there. A step's time is the frame's,
    by the step's share of what all threads were busy with; so the steps add up to the frame.
    """
    threads = available()
    out = room([side * model.scale for side in plane.shape], np.uint8)
    projections = np.ascontiguousarray(model.projections.transpose(0, 2, 1).astype(np.float32))
    basis = np.ascontiguousarray(model.basis.T)
    fit = STRIP // (4 * projections.shape[2] * plane.shape[1])
    rows = max(4, min(fit, -(-len(plane) // (4 * threads))))
    found: dict[str, list[float]] = {name: [] for name in STEPS}
    with ThreadPoolExecutor(threads) as pool, single_threaded():
        for repeat in range(repeats + 1):
            clock, start = Clock(), time.perf_counter()
            tasks = [
                pool.submit(strip, plane, model, (basis, projections), first, rows, out, clock)
                for first in range(0, len(plane), rows)
            ]
            for task in tasks:
                task.result()
            frame, busy = time.perf_counter() - start, sum(clock.seconds.values())
            for name, seconds in clock.seconds.items() if repeat else ():  # the first compiles
                found[name].append(1e3 * frame * seconds / busy)
    return {name: spread(taken) for name, taken in found.items()}


def strip(
    plane: Plane,
    model: Model,
    matrices: tuple[Float32, Float32],
    first: int,
    rows: int,
    out: npt.NDArray[np.uint8],
    clock: Clock,
) -> None:
    """Rows first … first + rows − 1 of `plane` to their rows of `out`."""
    s, w = model.scale, model.window
    height, width = plane.shape
    last = min(first + rows, height)
    top, bottom = max(0, first - w // 2), min(height, last + w // 2)
    edge = margin(w)
    mid = np.empty(((bottom - top + 2 * edge) * s, (width + 2 * edge) * s), np.float32)
    planes = np.empty((FILTERS, s, mid.shape[0] - 2 * s, mid.shape[1] // s - 2), np.float32)
    patches = np.empty((bottom - top, (w * s) ** 2, width), np.float32)
    with clock("bicubic"):
        bicubic(plane, s, mid, origin=((top - edge) * s, -edge * s))
    with clock("differences"):
        differences(mid, s, planes)
    predict(planes, model, matrices, patches, clock)
    skip = (first - top + edge) * s
    low = mid[skip : skip + (last - first) * s, edge * s : (edge + width) * s]
    with clock("overlap"):
        sums = np.empty(low.shape, np.float32)
        overlap(patches, low, s, w, first, top, plane.shape, sums)
        quantise(sums, (1.0, 0.0), 8, out[first * s : last * s])


def predict(
    planes: Float32,
    model: Model,
    matrices: tuple[Float32, Float32],
    patches: Float32,
    clock: Clock,
) -> None:
    """Patches (rows, (w·s)², n) of the windows centred on the rows of a strip."""
    basis, projections = matrices
    rows, _, width = patches.shape
    scratch = np.empty((basis.shape[1], CHUNK), np.float32)
    feature = np.empty((len(basis), CHUNK), np.float32)
    index = np.empty(CHUNK, np.int32)
    step = max(16, PRODUCT // basis.size // 16 * 16)  # as `features` multiplies
    for row in range(rows):
        for left in range(0, width, CHUNK):
            n = min(CHUNK, width - left)
            raw, f, i = scratch[:, :n], feature[:, :n], index[:n]
            with clock("collect"):
                collect(planes, model.window, row, left, raw[:, None])
            with clock("pca"):
                for k in range(0, n, step):
                    np.matmul(basis, raw[:, k : k + step], out=f[:, k : k + step])
            with clock("match"):
                match(f, model.anchors, i)
            with clock("regress"):
                regress(f, i, projections, patches[row, :, left : left + n])
