"""Restoration of an array in main memory, shared among GPUs: its pictures, or the tiles of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

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
    found: dict[int, Restored] = {}

    def restore(device: str, numbers: Iterator[int]) -> None:
        part = _slice(numbers)
        if part is None:
            return
        blurs = work.blurs
        if blurs is not None:
            blurs = blurs[part.start * tiles : part.stop * tiles]
        batch = (part.stop - part.start,)
        own = replace(_on(device, work), axes=replace(axes, batch=batch), blurs=blurs)
        with arrays.working(None, device), allocating((device,)):
            found[part.start] = one = restored_array(pictures[part], own)
        image[part] = one.image

    shared(devices, count, restore, _least(work, tiles))
    runs = [found[start] for start in sorted(found)]
    psfs = np.concatenate([run.psf for run in runs])
    fit = np.concatenate([run.fit for run in runs])
    return Restored(
        image.reshape(*axes.batch, *image.shape[1:]),
        psfs.reshape(*axes.batch, *psfs.shape[1:]),
        fit.reshape(axes.batch),
        max(run.iterations for run in runs),
        joined(runs),
        _joined_outcomes(runs, axes.batch),
    )


def _by_tiles(devices: tuple[str, ...], array: Array, work: Work) -> Restored:
    assert work.tiles is not None
    count = prod(work.axes.batch) * prod(work.tiles.grid)
    found: dict[int, Found] = {}

    def restore(device: str, numbers: Iterator[int]) -> None:
        part, own = _slice(numbers), _on(device, work)
        if part is None:
            return
        with arrays.working(None, device), allocating((device,)):
            found[part.start] = restored_parts(Planes.of(array, own), own, part)
            settle()  # the first GPU reads it on a stream of its own

    shared(devices, count, restore, _least(work, 1))
    own = _on(devices[0], work)
    with arrays.working(None, devices[0]), allocating(devices[:1]):
        result = finished(
            array, Planes.of(array, own), together([found[at] for at in sorted(found)], 1), own
        )
        settle()  # until it has read what belongs to the others
        return result


def _joined_outcomes(runs: list[Restored], batch: tuple[int, ...]) -> Array | None:
    """Return the outcomes of all pictures of a batch; None: there are none."""
    if runs[0].outcome is None:
        return None
    every = np.concatenate([run.outcome for run in runs])
    return every.reshape(*batch, *every.shape[1:])


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
