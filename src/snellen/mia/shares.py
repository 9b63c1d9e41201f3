"""Restoration of an array in main memory, shared among GPUs: its pictures, or the tiles of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from snellen.engine.prepared import allocating
from snellen.engine.several import shared
from snellen.frames import arrays
from snellen.gpu.device import settle
from snellen.mia.batches import Found, joined, together
from snellen.mia.channels import Planes, Work, finished, restored_array, restored_parts
from snellen.mia.result import Restored

WORTH = 5e-3
"""Seconds that a GPU works at least, so that its thread pays."""
FUSED, OTHER = 1e-11, 1e-10
"""Seconds of an iteration for each sample of many pictures, on periods that run in one launch, and
on others: on an H200, about (lab/mia-gpu.md)."""

Array = npt.NDArray[Any]
T = TypeVar("T")


def restored_by(devices: tuple[str, ...], array: Array, work: Work) -> Restored:
    """Restore an array in main memory that was checked by several GPUs, "cuda:N", each once.

    Each gets about as many pictures as the others, in its thread; where there are fewer pictures
    than GPUs, as many tiles, which the first one blends. `work`, whose device does not matter, has
    no tolerance, as each share would stop by itself. The result is what `channels.restored_array`
    returns for one GPU, but that the means in the history are rounded in another order.
    """
    pictures = prod(work.axes.batch)
    if work.tiles and pictures < len(devices):
        return _by_tiles(devices, array, work)
    return _by_pictures(devices, array, work)


def _by_pictures(devices: tuple[str, ...], array: Array, work: Work) -> Restored:
    axes = work.axes
    pictures, count = array.reshape(-1, *axes.shape[len(axes.batch) :]), prod(axes.batch)
    tiles = prod(work.tiles.grid) if work.tiles else 1
    image = np.empty(pictures.shape[:1] + pictures.shape[1 + len(axes.frames) :], array.dtype)

    def restore(part: slice, own: Work) -> Restored:
        blurs = work.blurs
        if blurs is not None:
            blurs = blurs[part.start * tiles : part.stop * tiles]
        batch = (part.stop - part.start,)
        own = replace(own, axes=replace(axes, batch=batch), blurs=blurs)
        one = restored_array(pictures[part], own)
        image[part] = one.image
        return one

    def batched(parts: list[Any]) -> Array:
        every = np.concatenate(parts)
        return every.reshape((*axes.batch, *every.shape[1:]))

    runs = _shared(devices, count, work, tiles, restore)
    return Restored(
        image.reshape(*axes.batch, *image.shape[1:]),
        batched([run.psf for run in runs]),
        batched([run.fit for run in runs]),
        max(run.iterations for run in runs),
        joined(runs),
        None if runs[0].outcome is None else batched([run.outcome for run in runs]),
    )


def _by_tiles(devices: tuple[str, ...], array: Array, work: Work) -> Restored:
    assert work.tiles is not None
    count = prod(work.axes.batch) * prod(work.tiles.grid)

    def restore(part: slice, own: Work) -> Found:
        found = restored_parts(Planes.of(array, own), own, part)
        settle()  # the first GPU reads it on a stream of its own
        return found

    parts = _shared(devices, count, work, 1, restore)
    own = _on(devices[0], work)
    with arrays.working(None, devices[0]), allocating(devices[:1]):
        result = finished(array, Planes.of(array, own), together(parts, 1), own)
        settle()  # until it has read what belongs to the others
        return result


def _shared(
    devices: tuple[str, ...],
    count: int,
    work: Work,
    tiles: int,
    restore: Callable[[slice, Work], T],
) -> list[T]:  # fmt: skip
    """Return what restore(part, work of a device) finds of all items, of so many tiles each."""
    found: dict[int, T] = {}

    def run(device: str, numbers: Iterator[int]) -> None:
        part = _slice(numbers)
        if part is None:
            return
        with arrays.working(None, device), allocating((device,)):
            found[part.start] = restore(part, _on(device, work))

    shared(devices, count, run, _least(work, tiles))
    return [found[start] for start in sorted(found)]


def _slice(numbers: Iterator[int]) -> slice | None:
    """Return consecutive numbers as a slice; None: there are none, as another GPU has failed."""
    every = list(numbers)
    return slice(every[0], every[-1] + 1) if every else None


def _on(device: str, work: Work) -> Work:
    """Return the same work for another device."""
    prepared = replace(work.method.prepared, device=device)
    return replace(work, method=replace(work.method, prepared=prepared))


def _least(work: Work, tiles: int) -> int:
    """Return how many items of so many tiles a GPU gets at least."""
    prepared = work.method.prepared
    shape = work.tiles.shape if work.tiles else work.axes.size
    planes = tiles * prod(work.axes.frames) * prod(work.axes.channels)
    samples = planes * prod(prepared.period(shape))
    seconds = samples * work.method.how.iterations * (FUSED if prepared.fused(shape) else OTHER)
    return max(1, round(WORTH / seconds))
