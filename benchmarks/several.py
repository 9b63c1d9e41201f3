"""Pairs a second: a batch on one GPU and on several, and one pair on several."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from snellen.bench.clock import timed
from snellen.bench.gpu import PER_REPEAT, free
from snellen.bench.mad.cases import Case, pair
from snellen.errors import DeviceError, InputError, SnellenError
from snellen.gpu import device as devices
from snellen.mad.image import score
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

PAIRS = 16
SMALL, LARGE, LARGEST = Case(512, 512), Case(1920, 1080), Case(3840, 2160)
GPUS = (1, 2, 4)
SAME = 1e-6  # relative: sums over subbands in another order

Say = Callable[[str], None]


def batch(case: Case, device: str, repeats: int, say: Say) -> dict[str, Any]:
    """Return pairs a second of a batch that lies on the GPU, each score told to the host."""
    import cupy

    references, distorted = (cupy.asarray(planes) for planes in drawn(case))
    with Scorer(device=device) as scorer:
        given = pair(case)
        scorer.prepare(replace(given.format, white=given.peak))
        alone = [scorer.run(*both) for both in zip(references, distorted, strict=True)]

        def prepared() -> list[Score]:
            return scorer.runs(zip(references, distorted, strict=True))

        def held() -> list[Score]:
            scorer.set_reference(references[0])
            return scorer.runs((None, plane) for plane in distorted)

        whole = partial(score, references, distorted)
        for found in (prepared(), each(whole())):
            same(found, alone, f"a batch of {case.name}")
        same(held()[:1], alone[:1], f"one reference of {case.name}")
        todo: dict[str, Callable[[], object]] = {
            "pairs": prepared, "one reference": held, "snellen.score": whole,
        }  # fmt: skip
        rates = {name: PAIRS / timed(work, repeats)["median"] for name, work in todo.items()}
    free()
    say(f"\n{PAIRS} pairs of {case.name} on the GPU, pairs/s: "
        + ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items()))  # fmt: skip
    return {"case": case.name, "pairs": PAIRS, "rates": rates}


def several(repeats: int, quick: bool, say: Say) -> dict[str, Any]:
    """Return times of one large pair and of a batch on 1, 2 and 4 GPUs, or why there are none."""
    count = gpus()
    if count < GPUS[1]:
        say(f"\nSeveral GPUs are left out: there is {count}")
        return {"no_several": f"there is {count} GPU"}
    rows = []
    try:
        for make in (one_pair,) if quick else (one_pair, prepared_batch, one_batch):
            rows += along(make, count, repeats, say)
    except (DeviceError, InputError) as error:
        say(f"\nSeveral GPUs are left out: {error}")
        return {"no_several": str(error)}
    return {"several": rows}


def gpus() -> int:
    """Return how many GPUs there are."""
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def along(
    make: Callable[[str, int], tuple[str, float, list[Score]]], count: int, repeats: int, say: Say
) -> list[dict[str, Any]]:
    """Return rows of one kind of work, for more and more GPUs.

    Raises
    ------
    SnellenError
        More GPUs give another score: nothing is told then.
    """
    rows: list[dict[str, Any]] = []
    first: list[Score] = []
    for number in GPUS:
        if number > count:
            break
        what, seconds, scores = make(",".join(f"cuda:{i}" for i in range(number)), repeats)
        first = first or scores
        same(scores, first, f"{what} on {number} GPUs")
        rows.append({"what": what, "gpus": number, "ms": 1e3 * seconds,
                     "ratio": rows[0]["ms"] / 1e3 / seconds if rows else 1.0})  # fmt: skip
        say(f"  {what}, {number} GPUs: {1e3 * seconds:.3f} ms, {rows[-1]['ratio']:.2f} ×")
    return rows


def one_pair(device: str, repeats: int) -> tuple[str, float, list[Score]]:
    """Return seconds and score of one pair that lies on the first GPU."""
    import cupy

    given = pair(LARGEST)
    planes = [cupy.asarray(plane) for plane in (given.reference, given.distorted)]
    with Scorer(device=device) as scorer:
        scorer.prepare(replace(given.format, white=given.peak))
        found = scorer.run(*planes)
        taken = timed(lambda: scorer.run(*planes), PER_REPEAT * repeats)
    free()
    return f"one pair of {LARGEST.name}", taken["median"], [found]


def prepared_batch(device: str, repeats: int) -> tuple[str, float, list[Score]]:
    """Return seconds and scores of a batch whose pairs lie on their GPUs, each with a Scorer.

    A thread for each, as `snellen.score` has, without what it prepares and copies before.
    """
    import cupy

    names = device.split(",")
    references, distorted = drawn(LARGE)
    given = pair(LARGE)
    edges = [PAIRS * i // len(names) for i in range(len(names) + 1)]
    with ExitStack() as stack, ThreadPoolExecutor(len(names)) as pool:
        lots = []
        for name, (first, last) in zip(names, pairwise(edges), strict=True):
            scorer = stack.enter_context(Scorer(device=name))
            with devices.using(name):
                scorer.prepare(replace(given.format, white=given.peak))
                lots.append((scorer, cupy.asarray(references[first:last]),
                             cupy.asarray(distorted[first:last])))  # fmt: skip
                cupy.cuda.Device().synchronize()

        def work(lot: tuple[Scorer, Any, Any]) -> list[Score]:
            scorer, ones, others = lot
            with devices.using(scorer.device):
                return scorer.runs(zip(ones, others, strict=True))

        found = [score for part in pool.map(work, lots) for score in part]
        taken = timed(lambda: list(pool.map(work, lots)), repeats)
    free()
    return f"{PAIRS} pairs of {LARGE.name} on their GPUs", taken["median"], found


def one_batch(device: str, repeats: int) -> tuple[str, float, list[Score]]:
    """Return seconds and scores of a batch in host memory, preparation included."""
    references, distorted = drawn(LARGE)
    work = partial(score, references, distorted, device=device)
    found = work()
    taken = timed(work, repeats)
    free()
    what = f"snellen.score, {PAIRS} pairs of {LARGE.name} from the host"
    return what, taken["median"], each(found)


def drawn(case: Case) -> tuple[Any, Any]:
    """Return a batch of references and one of distorted pictures, all different."""
    given = pair(case)
    both = (
        np.stack([np.roll(plane, 7 * i, axis=1) for i in range(PAIRS)])
        for plane in (given.reference, given.distorted)
    )
    references, distorted = both
    return references, distorted


def same(found: list[Score], wanted: list[Score], what: str) -> None:
    """Stop the report where scores are not those wanted.

    Raises
    ------
    SnellenError
        They differ.
    """
    for name in ("mad", "hi", "lo"):
        ours, theirs = ([getattr(score, name) for score in scores] for scores in (found, wanted))
        off = (np.abs(np.subtract(ours, theirs)) / np.maximum(np.abs(theirs), SAME)).max()
        if not off < SAME:
            raise SnellenError(f"{what}: {name} is off by {off:.1e}: nothing is timed")


def each(found: Score) -> list[Score]:
    """Return the scores of a batch one by one."""
    numbers = (np.ravel(number).tolist() for number in (found.mad, found.hi, found.lo))
    return [Score(*three) for three in zip(*numbers, strict=True)]
