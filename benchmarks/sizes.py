"""Models of any size: random ones, checked on a small picture and timed at 1080p ×2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from snellen.aplus.differences import FILTERS
from snellen.aplus.model import WINDOW, Model
from snellen.bench import gpu, stages
from snellen.bench.cases import codes, picture
from snellen.bench.clock import evented

DIMS = (16, 28, 48, 96)
ANCHORS = (256, 1024, 4096, 8192)
SIZES = (
    *((dims, 1024) for dims in DIMS),
    *((28, anchors) for anchors in ANCHORS if anchors != 1024),
    (16, 256),
    (96, 8192),
)
"""(dimensions, anchors): each alone, and both ends."""
SMALL, LARGE = (240, 135), (1920, 1080)


def random_model(scale: int, anchors: int, dims: int) -> Model:
    """Return a model that is random, but shaped and scaled as a learnt one."""
    random = np.random.default_rng([scale, anchors, dims])
    patch = (WINDOW * scale) ** 2
    basis, _ = np.linalg.qr(random.normal(size=(FILTERS * patch, dims)))
    directions = random.normal(size=(anchors, dims))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    projections = random.standard_normal((anchors, patch, dims), np.float32)
    projections *= np.float32(0.3 / np.sqrt(dims))  # learnt rows have norms of 0.2 to 0.5
    return Model(
        scale, WINDOW, directions.astype(np.float32), basis.astype(np.float32),
        projections.astype(np.float16),
    )  # fmt: skip


def measure(repeats: int, quick: bool, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return for each size: milliseconds a frame, share of re-scored patches, exactness."""
    say(f"\nRandom models, {LARGE[0]}×{LARGE[1]} ×2, 8 bit")
    rows = []
    small, large = (codes(picture(*size), 8) for size in (SMALL, LARGE))
    for dims, anchors in SIZES[-2:] if quick else SIZES:
        model = random_model(2, anchors, dims)
        what = f"{anchors} anchors, {dims} dimensions"
        exactness = gpu.check(gpu.Job(model, small, 8), "cpu", what)
        luma, plane, out = gpu.Job(model, large, 8).ready()
        line = partial(luma, plane, out)
        taken, share = evented(line, max(3, repeats)), stages.rescored(luma, line)
        del line, luma, plane, out
        gpu.free()
        say(f"  {what:<30} {taken['median']:8.3f} ms  {100 * share:6.2f} % re-scored")
        rows.append({"dims": dims, "anchors": anchors, "ms": taken, "rescored": share,
                     "exactness": exactness})  # fmt: skip
    return rows
