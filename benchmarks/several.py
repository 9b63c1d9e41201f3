"""MAD on several GPUs: one large pair, and a batch: `python -m benchmarks.several`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.command import arguments, write
from snellen.bench import clock, runner
from snellen.bench.clock import Line, spread
from snellen.bench.mad import planes
from snellen.errors import SnellenError
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.mad.image import score
from snellen.mad.scorer import Scorer

PAIRS = 16
LARGE, LARGEST = (1920, 1080), (3840, 2160)
GPUS = (1, 2, 4)
SAME = 1e-6
"""Relative difference of scores: sums over subbands in another order."""

Say = Callable[[str], None]
Numbers = list[float]


def measure(repeats: int, quick: bool, say: Say) -> list[dict[str, Any]]:
    """Return milliseconds on more and more GPUs, and how many times as fast as one they are."""
    import cupy

    count = int(cupy.cuda.runtime.getDeviceCount())
    rows: list[dict[str, Any]] = []
    for work in (one_pair,) if quick else (one_pair, batch):
        first: tuple[Numbers, float] | None = None
        for number in (n for n in GPUS if n <= count):
            found, ms = work(",".join(f"cuda:{i}" for i in range(number)), repeats)
            first = first or (found, ms["median"])
            off = np.abs(np.divide(found, first[0]) - 1).max()
            if not off < SAME:
                raise SnellenError(f"{work.__doc__} {number} GPUs: scores differ by {off:.1e}")
            ratio = first[1] / ms["median"]
            rows.append({"what": work.__name__, "gpus": number, "ms": ms, "ratio": ratio})
            say(f"  {work.__name__}, {number} GPUs: {ms['median']:.3f} ms, {ratio:.2f} × one")
    return rows


def one_pair(device: str, repeats: int) -> tuple[Numbers, dict[str, float]]:
    """Score one 4K pair that lies on the first GPU."""
    import cupy

    width, height = LARGEST
    with devices.using(device.partition(",")[0]), Scorer(device=device) as scorer:
        one, other = (cupy.asarray(plane) for plane in planes(width, height))
        scorer.prepare(Format(width, height))
        found = scorer.run(one, other)
        line = Line(lambda: scorer.run(one, other))
        taken = clock.in_rounds({"": line}, 4 * repeats, clock.host)[""]
    return [float(found.mad), float(found.hi), float(found.lo)], spread(taken)


def batch(device: str, repeats: int) -> tuple[Numbers, dict[str, float]]:
    """Score a batch of 1080p pairs in host memory by one call."""
    references, distorted = (
        np.stack([np.roll(plane, 7 * i, axis=1) for i in range(PAIRS)]) for plane in planes(*LARGE)
    )
    work = partial(score, references, distorted, device=device)
    found = np.ravel(work().mad).tolist()
    return found, spread(clock.in_rounds({"": Line(work)}, repeats, clock.host)[""])


def main() -> int:
    """Measure, and write the report."""
    given = arguments(__doc__)
    report = runner.header("mad", devices.resolve("cuda"), given.repeats, given.quick, print)
    report["several"] = measure(given.repeats, given.quick, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
