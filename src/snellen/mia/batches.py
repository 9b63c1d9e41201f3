"""Restoration of any number of pictures of one shape, in as few batches as memory allows.

The functions take NumPy or CuPy arrays and return arrays of the same library.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.engine.prepared import borrowed
from snellen.engine.several import evenly
from snellen.frames.arrays import library
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu import memory
from snellen.mia.progress import Callback, part_of
from snellen.mia.restorer import Method, Prepared, Restorer
from snellen.mia.result import Restored, Step
from snellen.mia.settings import given, spread

HOST = 1 << 24  # samples on their periods that a batch has at most on the CPU: 0.7 GB
BYTES = 128
"""GPU memory per such sample in float32, bytes. Planes, spectra and a check of the progress use 92
at most (docs/mia.md); the rest is for cuFFT's work areas and for unusable parts of memory pools."""

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Found:
    """Results of N pictures with M frames each."""

    pictures: Any
    """Restored pictures: (N, rows, columns) of the type of the given ones."""
    psfs: Any
    """PSFs: (N, M, K, K) float32."""
    fit: Float64
    """Data fidelity of each picture, see `Restored.fit`: (N,)."""
    iterations: int
    """Greatest number of iterations of a batch."""
    history: tuple[Step, ...]
    """Progress, over all batches."""
    outcomes: npt.NDArray[np.str_] | None = None
    """Outcome of each picture with prior="auto", see `Restored.outcome`: (N,)."""


def restored(
    planes: Any, psfs: Float64 | None, method: Method, callback: Callback | None = None
) -> Found:
    """Restore N ≥ 1 pictures of M frames each, (N, M, rows, columns).

    They are floats whose white is 1, or unsigned integers whose white is the greatest of their
    type; their size and number are not those of `method`, all else is. `psfs` (N, M, K, K) are
    given, or None: they are estimated, from `method.start`. The callback, see `Deblurrer.run`, is
    called for one batch after another.
    """
    count, frames, rows, columns = planes.shape
    prepared = method.prepared
    if psfs is not None:
        definition = replace(prepared.definition, blind=False)
        how = replace(method.how, recentre=False)
        method = replace(method, prepared=replace(prepared, definition=definition), how=how)
    side, period = prepared.side, prepared.period((rows, columns))
    size = np.dtype(prepared.dtype).itemsize
    samples = frames * period[0] * period[1] * size // 4
    parts = [slice(0, 1)]  # whatever memory there is, and asking the driver takes time
    if count > 1:
        most = available(prepared.device, 2 * count * (rows * columns + frames * side**2) * size)
        parts = _parts(count, samples, most)
    found = []
    for number, part in enumerate(parts):
        own = None if psfs is None else psfs[part]
        found.append(_run(planes[part], own, method, part_of(callback, number, len(parts))))
    return together(found)


def _run(planes: Any, psfs: Float64 | None, method: Method, callback: Callback | None) -> Found:
    """Restore a batch."""
    batch, frames, rows, columns = planes.shape
    lead = tuple(count for count in (batch, frames) if count > 1)
    blurs = starts(method, psfs, batch, frames)
    format = Format(columns, rows, 0)
    prepared = replace(method.prepared, format=format, counts=(batch, frames))
    with _restorer(prepared, planes.dtype.name) as restorer:
        image = planes.reshape(*lead, rows, columns)
        run, _ = restorer.run(image, restorer.spread(blurs), method.how, callback)
    psf = run.psf.reshape(batch, frames, *run.psf.shape[-2:])
    fit = np.atleast_1d(run.fit)
    return Found(run.image.reshape(batch, rows, columns), psf, fit, run.iterations, run.history)


def together(parts: Sequence[Found], axis: int = 0) -> Found:
    """Return what was found of several parts, none empty, with pictures joined on an axis."""
    if len(parts) == 1:
        return parts[0]
    xp = library(parts[0].pictures)
    return Found(
        xp.concatenate([xp.asarray(part.pictures) for part in parts], axis),
        xp.concatenate([xp.asarray(part.psfs) for part in parts]),
        np.concatenate([part.fit for part in parts]),
        max(part.iterations for part in parts),
        joined(parts),
        None if parts[0].outcomes is None else np.concatenate([one.outcomes for one in parts]),
    )


def starts(method: Method, psfs: Float64 | None, batch: int, frames: int) -> Float64:
    """Return the PSFs (batch, frames, K, K) to start from: given ones of sum 1, or the method's."""
    lead = tuple(count for count in (batch, frames) if count > 1)
    blurs = method.start if psfs is None else given(psfs.reshape(*lead, *psfs.shape[-2:]))
    return spread(blurs, lead).reshape(batch, frames, *blurs.shape[-2:])


def _restorer(prepared: Prepared, kind: str) -> AbstractContextManager[Restorer]:
    """Return a Restorer: on a GPU one that an earlier call has used, where there is one."""
    # On the CPU little is prepared, and threads and buffers do not outlive the call.
    if prepared.device == "cpu":
        return closing(Restorer(prepared))
    return borrowed(prepared.device, (Restorer, prepared), lambda: Restorer(prepared, kind))


def available(device: str, results: int = 0) -> int:
    """Return how many float32 samples a batch may have, if `results` bytes are for results."""
    if device == "cpu":
        return HOST
    with devices.using(device):
        return (memory.free_memory() - results) // BYTES


def _parts(count: int, samples: int, available: int) -> list[slice]:
    """Divide `count` pictures of `samples` float32 samples into batches of about equal size."""
    # If not even one picture fits, each is a batch: BYTES is generous, and if the memory does not
    # suffice in fact, the GPU backend raises DeviceError.
    parts = -(-count // max(1, available // samples))
    return [slice(part.start, part.stop) for part in evenly(count, parts)]


def joined(runs: Sequence[Restored | Found]) -> tuple[Step, ...]:
    """Return the progress over all batches: mean fit and greatest change at each step.

    Batches that have stopped before a step do not count in it.
    """
    if len(runs) == 1:
        return runs[0].history
    longest = max((run.history for run in runs), key=len)
    steps = []
    for number, step in enumerate(longest):
        at_step = [run.history[number] for run in runs if number < len(run.history)]
        weights = [np.size(run.fit) for run in runs if number < len(run.history)]
        fit = np.average([one.fit for one in at_step], weights=weights)
        steps.append(Step(step.iteration, float(fit), max(one.change for one in at_step)))
    return tuple(steps)
