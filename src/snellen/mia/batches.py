"""Any number of pictures of one shape, restored in as few batches as memory allows.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.arrays import library
from snellen.frames.frame import Format
from snellen.gpu import device as devices
from snellen.gpu import memory
from snellen.mia import edges, psf
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.progress import Callback
from snellen.mia.result import Restored, Step

HOST = 1 << 24  # samples of frames on their period that are in work at once, on the CPU: 0.7 GB
BYTES = 128
"""Of a GPU, for each such sample in float32. Planes, spectra and a look at them take 92 at most
(docs/mia.md); the rest is for cuFFT's work areas, and what a pool of memory cannot use."""

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Found:
    """Of N pictures, of M frames each."""

    pictures: Any
    """(N, rows, columns), white is 1."""
    psfs: Any
    """(N, M, K, K) float32."""
    fit: Float64
    """(N,)."""
    iterations: int
    history: tuple[Step, ...]


def restored(
    planes: Any, psfs: Float64 | None, settings: dict[str, Any], callback: Callback | None = None
) -> Found:
    """Restore pictures.

    Parameters
    ----------
    planes : (N, M, rows, columns) float
        Of at least one picture; white is 1.
    psfs : (N, M, K, K), optional
        The blur of each. None: it is found.
    settings : dict
        Of the Deblurrer, all but the PSF.
    callback : callable, optional
        As `Deblurrer.run` takes it, for one batch after another.
    """
    count, frames, rows, columns = planes.shape
    side = psf.side(settings["psf_size"]) if psfs is None else psfs.shape[-1]
    period = edges.period((rows, columns), side, settings["edges"])
    runs, pictures, blurs = [], [], []
    size = planes.dtype.itemsize
    samples = frames * period[0] * period[1] * size // 4
    room = _room(settings["device"], 2 * count * (rows * columns + frames * side**2) * size)
    for part in _parts(count, samples, room):
        run = _run(planes[part], None if psfs is None else psfs[part], settings, callback)
        pictures.append(run.image.reshape(-1, rows, columns))
        blurs.append(run.psf.reshape(-1, frames, side, side))
        runs.append(run)
    xp = library(planes)
    sharp, found = xp.concatenate(pictures), xp.concatenate(blurs)
    fit = np.concatenate([np.atleast_1d(run.fit) for run in runs])
    return Found(sharp, found, fit, max(run.iterations for run in runs), _history(runs))


def _run(
    planes: Any, psfs: Float64 | None, settings: dict[str, Any], callback: Callback | None
) -> Restored:
    """Restore a batch."""
    batch, frames, rows, columns = planes.shape
    lead = tuple(count for count in (batch, frames) if count > 1)
    if psfs is not None:
        psfs = psfs.reshape(*lead, *psfs.shape[2:])
    with Deblurrer(psfs, **settings, frames=frames, batch=batch) as deblurrer:
        deblurrer.prepare(Format(columns, rows, 0))
        return deblurrer.run(planes.reshape(*lead, rows, columns), callback)


def _room(device: str, results: int) -> int:
    """Return how many samples of float32 may be in work beside so many bytes of results."""
    if device == "cpu":
        return HOST
    with devices.using(device):
        return (memory.free_memory() - results) // BYTES


def _parts(count: int, samples: int, room: int) -> list[slice]:
    """Return batches of about one size; `samples` are those of one picture, of float32.

    Where there is no room for one, they go one by one: BYTES is generous, and where the memory does
    not suffice in fact, the GPU says so (DeviceError).
    """
    parts = -(-count // max(1, room // samples))
    return [slice(*pair) for pair in pairwise(count * i // parts for i in range(parts + 1))]


def _history(runs: list[Restored]) -> tuple[Step, ...]:
    """Return what all batches found: mean and greatest of those that went so far."""
    longest = max((run.history for run in runs), key=len)
    steps = []
    for number, step in enumerate(longest):
        same = [run.history[number] for run in runs if number < len(run.history)]
        weights = [np.size(run.fit) for run in runs if number < len(run.history)]
        fit = np.average([one.fit for one in same], weights=weights)
        steps.append(Step(step.iteration, float(fit), max(one.change for one in same)))
    return tuple(steps)
