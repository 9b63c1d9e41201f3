"""TiledDeblurrer: pictures of one shape, such as the frames of a film, restored tile by tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from snellen.mia import batches, edges, samples
from snellen.mia.channels import Work, restored_array
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.definition import SIDES
from snellen.mia.restorer import Restorer
from snellen.mia.result import Restored
from snellen.mia.tiles import Tiles, each, psf_axes

Array = npt.NDArray[Any]


class TiledDeblurrer:
    """Restore pictures of one shape on one device, each tile with a blur of its own.

    On the CPU the tiles of a picture are one batch. On a GPU tiles are cut, restored and blended
    there; where nothing waits for the host, pictures are in flight, and `prepare` does all that
    need not be done for each.

    Parameters
    ----------
    settings : dict
        Of `snellen.deblur` without a prior; with its device, "cpu" or "cuda:N".
    tile : int
        Side of the tiles, pixels.
    frames : int
        M frames show each picture.
    """

    def __init__(self, settings: dict[str, Any], tile: int, frames: int = 1):
        self._deblurrer = Deblurrer(**{"edges": "extend", **settings}, frames=frames)
        self.device = self._deblurrer.device
        self._tile, self._frames = tile, frames
        self._work: Work | None = None
        self._restorer: Restorer | None = None
        self._blurs: Any = None
        self._flights: Any = None

    def prepare(
        self, shape: tuple[int, int], given: Codes | None = None, made: Codes | None = None
    ) -> bool:
        """Get ready for pictures; return whether they are to be code values.

        Parameters
        ----------
        shape : (rows, columns)
            Of a picture.
        given, made : Codes, optional
            Of the samples of pictures and of results, where these may be code values: in flight.
            Otherwise they are float32, black 0 and white 1.

        Raises
        ------
        InputError
            The tiles are smaller than the PSF, or this is larger than the picture.
        DeviceError
            The GPU's memory does not suffice.
        """
        self.close()
        method = self._deblurrer.method(Format(shape[1], shape[0], 0))
        tiles = Tiles(shape, self._tile, method.prepared.side)
        axes = Axes((), (self._frames,) if self._frames > 1 else (), shape, ())
        blurs = None if method.prepared.definition.blind else each(method.start, axes, tiles)
        self._work = Work(axes, tiles, method, blurs)
        if not self._fits_in_flight(self._work):
            return False
        codes = None if given is None or made is None else (given, made)
        with arrays.working(None, self.device), paused(), lasting():
            self._make_flights(self._work, codes)
        return codes is not None

    @property
    def slots(self) -> int:
        """How many pictures `submit` keeps in flight; known after `prepare`."""
        return 1 if self._flights is None else int(self._flights.slots)

    def submit(self, planes: Array) -> Callable[[], Restored]:
        """Begin a picture; return a function that waits for the result and returns it.

        Parameters
        ----------
        planes : (rows, columns), or (M, rows, columns) where M is more than 1
            As prepared. Not read after this call.

        Returns
        -------
        callable
            It returns what `snellen.deblur` does, but for the history.
        """
        if self._work is None:
            raise InputError("this object is not prepared", advice="call prepare before submit")
        if self._flights is not None:
            return self._begun(self._work, planes)
        with arrays.working(None, self.device):
            samples.refuse(samples.wrong(planes, 1.0), 1.0)
            found = restored_array(planes, self._work)
        return lambda: found

    def close(self) -> None:
        """Release buffers; `prepare` may follow again."""
        self._work = None
        flights, self._flights = self._flights, None
        restorer, self._restorer = self._restorer, None
        for part in (flights, restorer):
            if part is not None:
                part.close()

    def _begun(self, work: Work, planes: Array) -> Callable[[], Restored]:
        """Begin a picture in flight."""
        pending, blurs, tiles = self._flights.submit(planes), self._blurs, work.tiles
        axes = psf_axes(work.axes, tiles)

        def result() -> Restored:
            plane, psfs, fit, flat = pending()
            psfs[flat], fit[flat] = blurs[flat], 0  # which say nothing of their blur
            psfs = psfs.reshape(*axes, *psfs.shape[-2:])
            return Restored(plane, psfs, float(fit.mean()), work.method.how.iterations)

        return result

    def _make_flights(self, work: Work, codes: tuple[Codes, Codes] | None) -> None:
        """Make what keeps pictures in flight on the current GPU."""
        from snellen.mia.cuda.tiled import TilesInFlight

        assert work.tiles is not None
        method, tiles, how = work.method, work.tiles, work.method.how
        count = prod(tiles.grid)
        cutter = tiles.on_gpu("float32", *(codes or (None, None)))
        format = Format(tiles.shape[1], tiles.shape[0], 0)
        prepared = replace(method.prepared, format=format, counts=(count, self._frames))
        self._restorer = restorer = Restorer(prepared)
        self._blurs = batches.starts(method, work.blurs, count, self._frames)
        parts: Any = (restorer.frames, restorer.backend)
        self._flights = TilesInFlight(
            self.device, tiles.picture, restorer.pictures.whole, prepared.side, cutter, codes,
            parts, restorer.spread(self._blurs), how.iterations, how.recentre,
        )  # fmt: skip

    def _fits_in_flight(self, work: Work) -> bool:
        """Return whether nothing waits for the host, and all tiles fit into the GPU's memory."""
        prepared, tiles = work.method.prepared, work.tiles
        if self.device == "cpu" or work.method.how.tolerance or prepared.dtype != "float32":
            return False
        assert tiles is not None
        period = edges.period(tiles.shape, prepared.side, prepared.edges)
        count = prod(tiles.grid) * self._frames
        return set(period) <= set(SIDES) and count * prod(period) <= batches.available(self.device)
