"""TiledDeblurrer: pictures of one shape, such as the frames of a film, restored tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from math import prod
from typing import Any

import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.axes import Axes
from snellen.frames.frame import Format
from snellen.frames.luma import Codes
from snellen.gpu.memory import lasting
from snellen.gpu.profile import paused
from snellen.mia import batches, samples
from snellen.mia.channels import Work, restored_array
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.restorer import Restorer
from snellen.mia.result import Restored
from snellen.mia.tiles import Tiles, each, psf_axes

LANES = 2
"""Pictures that are restored side by side, in buffers of their own: the tiles of one fill the
multiprocessors that the last tiles of another leave idle, and those that no cluster fits on."""
SLOTS = 2
"""Pictures in flight in a lane."""

Array = npt.NDArray[Any]


class TiledDeblurrer:
    """Restore pictures of one shape on one device, each tile with a blur of its own.

    On the CPU the tiles of a picture are one batch. On a GPU tiles are cut, restored and blended
    there; where nothing waits for the host, pictures are in flight, and `prepare` does all that
    need not be done for each.

    `settings` are those of `snellen.deblur` without a prior, `tile` is the side of tiles in pixels;
    so many frames show each picture.
    """

    def __init__(self, settings: dict[str, Any], tile: int, frames: int = 1):
        self._deblurrer = Deblurrer(**{"edges": "extend", **settings}, frames=frames)
        self.device = self._deblurrer.device
        self._tile, self._frames = tile, frames
        self._work: Work | None = None
        self._restorer: Restorer | None = None
        self._blurs: Any = None
        self._lanes: list[Any] = []
        self._turns: Iterator[Any] = iter(())
        self._more: list[Any] = []

    def prepare(
        self, shape: tuple[int, int], given: Codes | None = None, made: Codes | None = None
    ) -> bool:
        """Get ready for pictures (rows, columns); return whether they are to be code values.

        `given` and `made` are the codes of pictures and of results, where these may be code values:
        in flight. Otherwise they are float32, black 0 and white 1. InputError: the tiles are
        smaller than the PSF, or this is larger than the picture. DeviceError: the GPU's memory does
        not suffice.
        """
        self.close()
        method = self._deblurrer.method(Format(shape[1], shape[0], 0))
        tiles = Tiles(shape, self._tile, method.prepared.side)
        axes = Axes((), (self._frames,) if self._frames > 1 else (), shape, ())
        blurs = None if method.prepared.definition.blind else each(method.start, axes, tiles)
        self._work = Work(axes, tiles, method, blurs)
        lanes = self._lanes_of(self._work)
        if not lanes:
            return False
        codes = None if given is None or made is None else (given, made)
        with arrays.working(None, self.device), paused(), lasting():
            self._make_lanes(self._work, codes, lanes)
        return codes is not None

    @property
    def slots(self) -> int:
        """How many pictures `submit` keeps in flight; known after `prepare`."""
        return sum(lane.slots for lane in self._lanes) or 1

    def submit(self, planes: Array) -> Callable[[], Restored]:
        """Begin a picture; return a function that waits for the result and returns it.

        `planes` are (rows, columns), or (M, rows, columns) of more than one frame, as prepared;
        they are not read after this call. The result is that of `snellen.deblur`, but for the
        history.
        """
        if self._work is None:
            raise InputError("this object is not prepared", advice="call prepare before submit")
        if self._lanes:
            return self._begun(self._work, planes)
        with arrays.working(None, self.device):
            samples.refuse(samples.wrong(planes, 1.0), 1.0)
            found = restored_array(planes, self._work)
        return lambda: found

    def close(self) -> None:
        """Release buffers; `prepare` may follow again."""
        self._work = None
        lanes, self._lanes = self._lanes, []
        more, self._more = self._more, []
        restorer, self._restorer = self._restorer, None
        for part in (*lanes, *more, restorer):
            if part is not None:
                part.close()

    def _begun(self, work: Work, planes: Array) -> Callable[[], Restored]:
        """Begin a picture in flight."""
        pending, blurs, tiles = next(self._turns).submit(planes), self._blurs, work.tiles
        axes = psf_axes(work.axes, tiles)

        def result() -> Restored:
            plane, psfs, fit, flat = pending()
            psfs[flat], fit[flat] = blurs[flat], 0  # which say nothing of their blur
            psfs = psfs.reshape(*axes, *psfs.shape[-2:])
            return Restored(plane, psfs, float(fit.mean()), work.method.how.iterations)

        return result

    def _make_lanes(self, work: Work, codes: tuple[Codes, Codes] | None, lanes: int) -> None:
        """Make what keeps pictures in flight on the current GPU."""
        from snellen.mia.cuda.in_flight import How
        from snellen.mia.cuda.tiled import TilesInFlight

        assert work.tiles is not None
        method, tiles, how = work.method, work.tiles, work.method.how
        count = prod(tiles.grid)
        cutter = tiles.on_gpu("float32", *(codes or (None, None)))
        format = Format(tiles.shape[1], tiles.shape[0], 0)
        prepared = replace(method.prepared, format=format, counts=(count, self._frames))
        self._restorer = restorer = Restorer(prepared)
        self._blurs = batches.starts(method, work.blurs, count, self._frames)
        start = restorer.spread(self._blurs)
        parts: list[Any] = [(restorer.frames, restorer.backend)]
        while len(parts) < lanes:
            parts.append(restorer.more())
            self._more.append(parts[-1][1])
        self._lanes = [
            TilesInFlight(
                self.device, tiles.picture, restorer.pictures.whole, prepared.side, cutter, codes,
                pair, How(start, how.iterations, how.recentre), SLOTS,
            )
            for pair in parts
        ]  # fmt: skip
        self._turns = cycle(self._lanes)

    def _lanes_of(self, work: Work) -> int:
        """Return how many lanes of pictures in flight there are to be."""
        # 0: something waits for the host, or not all tiles fit into the GPU's memory at once.
        prepared, tiles = work.method.prepared, work.tiles
        assert tiles is not None
        if self.device == "cpu" or work.method.how.tolerance or not prepared.fused(tiles.shape):
            return 0
        samples = prod(tiles.grid) * self._frames * prod(prepared.period(tiles.shape))
        return min(LANES, max(0, batches.available(self.device)) // samples)
