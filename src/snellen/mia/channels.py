"""Restoration of arrays of pictures: channels, tiles and batches of them, on one device.

Arrays are NumPy's or CuPy's, and so are the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames import arrays
from snellen.frames.arrays import host
from snellen.frames.axes import Axes
from snellen.frames.colour import KB, KG, KR
from snellen.mia import samples
from snellen.mia.batches import Found, restored, together
from snellen.mia.progress import Callback, Watch, part_of
from snellen.mia.restorer import Method
from snellen.mia.result import AUTO, IMPLAUSIBLE, RESTORED, Restored
from snellen.mia.searched import searched
from snellen.mia.tiles import Tiles, psf_axes

FEW = 1 << 20
"""Samples that NumPy converts in less than 5 ms; CuPy would compile ten functions first, for a
second (lab/first-use.md). Both compute the same bits."""

Array = Any
"""An array of NumPy or CuPy."""
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """The work that is done with an array."""

    axes: Axes
    """Axes of the array."""
    tiles: Tiles | None
    """Tiles of its pictures; None: they are restored whole."""
    method: Method
    """All settings, and the device."""
    blurs: Float64 | None = None
    """Given PSFs, one for each picture, tile and frame: (N · tiles, M, K, K)."""
    prior: str | None = None
    """Which prior finds the PSFs, "auto" with doubts; None: the iterations do, or `blurs` are
    given."""
    weighs: bool = False
    """True: a picture whose PSF a prior found is restored with its own total variation."""
    peak: float = 1.0
    """The sample value of white."""

    @property
    def device(self) -> str:
        """The device that does it: "cpu" or "cuda:N"."""
        return self.method.prepared.device


def restored_array(array: Array, work: Work, callback: Callback | None = None) -> Restored:
    """Restore an array that was checked, on the current device, which is that of `work`.

    The result is that of `snellen.deblur`, but with arrays of the given one's library.
    """
    planes = Planes.of(array, work)
    return finished(array, planes, restored_parts(planes, work, slice(None), callback), work)


@dataclass(frozen=True, slots=True)
class Planes:
    """The channels of all frames of all pictures of an array, on the device that does the work."""

    given: Array
    """Samples as they were given: (C, N, M, rows, columns)."""
    scaled: Array
    """Floats whose white is 1; `given` itself where that is restored as it is."""

    @classmethod
    def of(cls, array: Array, work: Work) -> Planes:
        """Return those of an array.

        Few samples, and those that are restored as they are given, stay in main memory until then.
        """
        plain = not work.tiles and not work.prior
        as_given = plain and _is_whole(array.dtype, work)
        few = as_given or (plain and array.size <= FEW)
        stays = work.device == "cpu" or few or not isinstance(array, np.ndarray)
        given = work.axes.planes(array if stays else arrays.upload(array))
        if as_given:
            return cls(given, given)
        return cls(given, samples.scaled(given, work.peak, work.method.prepared.dtype))


def _is_whole(dtype: np.dtype[Any], work: Work) -> bool:
    """Return whether an array holds single channels of integers, and white is the greatest."""
    single = prod(work.axes.channels) == 1
    return single and dtype.kind == "u" and work.peak == np.iinfo(dtype).max


def restored_parts(
    planes: Planes, work: Work, which: slice, callback: Callback | None = None
) -> Found:
    """Restore some of the tiles, or pictures where there are none: those with numbers in `which`.

    The pictures of the result are (C, parts, …).
    """
    tiles, method, channels = work.tiles, work.method, planes.scaled
    luma = _luma(channels)
    if tiles:
        luma = tiles.split(luma)
        channels = arrays.library(luma).stack([tiles.split(channel) for channel in channels])
    luma, channels = luma[which], channels[:, which]
    blurs = None if work.blurs is None else work.blurs[which]
    if work.prior == AUTO:
        return _judged(channels, luma, work, callback)
    if blurs is None and work.prior:
        search = searched(luma, method, callback)
        return _with(channels, search.psfs, method, callback, search.weights if work.weighs else ())
    if blurs is not None:
        return _with(channels, blurs, method, callback)
    found = restored(luma, None, method, callback)
    if len(channels) == 1:
        return replace(found, pictures=found.pictures[None])
    how = replace(method.how, iterations=found.iterations, tolerance=0.0, history=False)
    watch = _on_channels(callback, found.iterations)
    coloured = _with(channels, host(found.psfs), replace(method, how=how), watch)
    return replace(coloured, psfs=found.psfs, history=found.history)


def finished(array: Array, planes: Planes, found: Found, work: Work) -> Restored:
    """Return the result for an array from all its parts: see `restored_array`."""
    axes, tiles = work.axes, work.tiles
    outcome: Any = found.outcomes
    if outcome is not None:
        outcome = outcome.reshape(psf_axes(replace(axes, frames=()), tiles))
    sharp = found.pictures
    if planes.scaled is not planes.given:
        sharp = _samples(sharp, planes.given, outcome, work)
    sharp = axes.image(sharp)
    fit = found.fit.reshape(*axes.batch, -1).mean(-1)
    psfs = found.psfs.reshape(*psf_axes(axes, tiles), *found.psfs.shape[-2:])
    if isinstance(array, np.ndarray) and not isinstance(sharp, np.ndarray):
        sharp, psfs = sharp.get().astype(array.dtype, copy=False), psfs.get()
    if outcome is not None and not outcome.ndim:
        outcome = str(outcome)
    return Restored(sharp, psfs, fit, found.iterations, found.history, outcome)


def _samples(pictures: Array, given: Array, outcome: Any, work: Work) -> Array:
    """Return floats, or their tiles, as samples like the given ones (C, N, M, rows, columns)."""
    xp, tiles = arrays.library(given), work.tiles
    if tiles:
        pictures = xp.stack([tiles.merge(channel) for channel in pictures])
    sharp = samples.finished(pictures, work.peak, given.dtype)
    same = given.min((2, 3, 4)) == given.max((2, 3, 4))
    if outcome is not None:
        same |= xp.asarray((outcome != RESTORED).reshape(same.shape[1], -1).all(1))
    # A picture of one value, or without a blur that is found, comes back to the last bit.
    if xp is not np or same.any():  # CuPy would have to compile a kernel for `any`
        sharp = xp.where(same[..., None, None], given[:, :, 0], sharp)
    return sharp.astype(given.dtype, copy=False)


def _with(
    planes: Array, blurs: Float64, method: Method, callback: Callback | None,
    weights: Sequence[float] = (),
) -> Found:  # fmt: skip
    """Restore channels (C, N, M, rows, columns) with the PSFs (N, M, K, K)."""
    # `weights` are those of total variation, one for each picture; without them the method's.
    count, pictures = planes.shape[:2]
    if levels := sorted({*weights}):
        definition = replace(method.prepared.definition, tv=levels[0])
        method = replace(method, prepared=replace(method.prepared, definition=definition))
    if len(levels) > 1:
        places = [np.flatnonzero(np.equal(weights, level)) for level in levels]
        parts = []
        for number, at in enumerate(places):
            watcher = part_of(callback, number, len(levels))
            some = _some(planes.swapaxes(0, 1), at).swapaxes(0, 1)
            parts.append(_with(some, blurs[at], method, watcher, [levels[number]]))
        found, order = together(parts, 1), np.argsort(np.concatenate(places))
        pictures, fit = found.pictures[:, order], found.fit[order]
        return replace(found, pictures=pictures, psfs=found.psfs[order], fit=fit)
    every = np.concatenate([blurs] * count)
    found = restored(planes.reshape(-1, *planes.shape[2:]), every, method, callback)
    sharp = found.pictures.reshape(count, pictures, *planes.shape[3:])
    fit = found.fit.reshape(count, pictures).mean(0)
    return replace(found, pictures=sharp, psfs=found.psfs[:pictures], fit=fit)


def _on_channels(callback: Callback | None, iterations: int) -> Callback | None:
    """Return what is called for the channels: only a Watch reports them."""
    if not isinstance(callback, Watch):
        return None
    return lambda done, *_: callback.report("channels", done, iterations)


def _judged(planes: Array, luma: Array, work: Work, callback: Callback | None) -> Found:
    """Restore channels (C, N, 1, rows, columns), but not those that this would not improve."""
    judge, method = import_module("snellen.mia.l0.judge"), work.method
    side, count = method.prepared.side, len(luma)
    views = [host(one[0]) for one in luma]
    outcomes = np.full(count, RESTORED, f"<U{len(IMPLAUSIBLE)}")
    outcomes[:] = [judge.before(view, None, side) for view in views]
    psfs, weights = np.zeros((count, 1, side, side)), np.zeros(count)
    psfs[..., side // 2, side // 2] = 1
    if len(todo := np.flatnonzero(outcomes == RESTORED)):
        psfs[todo], weights[todo], agreed = searched(_some(luma, todo), method, callback)
        outcomes[todo] = [
            judge.before(views[i], psfs[i, 0], side) if known else IMPLAUSIBLE
            for i, known in zip(todo, agreed, strict=True)
        ]
    pictures, fit = planes[:, :, 0].copy(), np.zeros(count)
    found = Found(pictures, psfs, fit, 0, (), outcomes)
    if len(todo := np.flatnonzero(outcomes == RESTORED)):
        some = _some(planes.swapaxes(0, 1), todo).swapaxes(0, 1)
        own = weights[todo].tolist() if work.weighs else ()
        made = _with(some, psfs[todo], method, callback, own)
        for place, i in enumerate(todo.tolist()):
            sharp = made.pictures[:, place]
            outcomes[i] = judge.after(views[i], host(_luma(sharp)), psfs[i, 0])
            if outcomes[i] == RESTORED:
                pictures[:, i], fit[i] = sharp, made.fit[place]
        if (outcomes == RESTORED).any():
            found = replace(made, pictures=pictures, fit=fit, outcomes=outcomes)
    left = outcomes != RESTORED
    psfs[left] = 0
    psfs[left, :, side // 2, side // 2] = 1
    return replace(found, psfs=arrays.library(planes).asarray(psfs.astype(np.float32)))


def _some(pictures: Array, numbers: npt.NDArray[np.int64]) -> Array:
    """Return those of the pictures (N, …) with these numbers; all of them are no copy."""
    return pictures if len(numbers) == len(pictures) else pictures[numbers]


def _luma(channels: Array) -> Array:
    """Return the luma of channels (1 or 3, …)."""
    if len(channels) == 1:
        return channels[0]
    return sum(share * plane for share, plane in zip((KR, KG, KB), channels, strict=True))
