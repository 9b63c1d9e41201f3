"""Pictures in tiles in flight on a GPU: up as planes, down as planes, and tiles in between only.

It serves periods whose iterations are one launch (see `fused`): nothing waits for the GPU from the
upload to the download, and all work of a picture is one CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.engine.engine import Engine
from snellen.frames.luma import Codes
from snellen.gpu.memory import lasting
from snellen.gpu.profile import stage
from snellen.gpu.reserved import Reserved
from snellen.mia import samples
from snellen.mia.cuda.in_flight import How, Parts
from snellen.mia.cuda.tiles import Cutter

Array = npt.NDArray[Any]
Results = tuple[Array, Array, Array, Array]
"""A picture (rows, columns); of its tiles the PSFs (T, M, K, K), the data fidelity (T,), and
which of them have one value only (T,)."""


class TilesInFlight:
    """Restores pictures of one shape tile by tile, several in flight.

    Parameters
    ----------
    device : str
        "cuda:N".
    picture : (rows, columns)
    tiles : tuple of int
        (T, M, rows, columns) of the tiles of a picture of M frames.
    side : int
        K, of the PSFs.
    cutter : Cutter
        Of float32.
    codes : (Codes, Codes) or None
        Those of the cutter.
    parts : (Frames, Backend)
        For tiles; both are used by this object alone.
    how : How
    slots : int
        Pictures in flight.

    Raises
    ------
    DeviceError
        The GPU's memory does not suffice.
    """

    def __init__(
        self, device: str, picture: tuple[int, int], tiles: tuple[int, int, int, int], side: int,
        cutter: Cutter, codes: tuple[Codes, Codes] | None, parts: Parts, how: How, slots: int,
    ):  # fmt: skip
        import cupy

        count, frames = tiles[:2]
        self._cutter, self._parts, self._how = cutter, parts, how
        self._shape, self._psfs = (1, frames, *picture), (count, frames, side, side)
        self._pixels, psf = count * prod(tiles[2:]), prod(self._psfs)
        self.slots = slots
        with lasting():
            self._cut = cupy.empty(tiles, np.float32)
            self._results = cupy.empty(self._pixels + psf + 1, np.float32)
            # The first value of each tile and of the picture, and whether there are others.
            self._values = cupy.empty(count + 1, np.float32), cupy.empty(count + 1, np.int32)
        given, made = (one.dtype for one in codes) if codes else ("float32", "float32")
        self._temporary = Reserved(device)
        self._engine = Engine(
            device,
            inputs=[(self._shape, given)],
            outputs=[
                ((1, *picture), made),
                ((psf + 1,), np.float32),
                ((count,), np.float64),
                ((count + 1,), np.int32),
            ],
            work=self._restore,
            slots=slots,
        )

    def submit(self, planes: Array) -> Callable[[], Results]:
        """Begin a picture, of M frames; return a function that waits for it.

        The function raises InputError where samples are negative, not finite or far beyond white.
        """
        pending = self._engine.submit((planes.reshape(self._shape),))

        def result() -> Results:
            plane, found, fit, differs = pending.result()
            samples.refuse(int(found[-1]), 1.0)
            # Copies: whoever keeps PSFs is to keep no page-locked memory.
            psfs = found[:-1].reshape(self._psfs).copy()
            return plane[0], psfs, fit.copy(), differs[:-1] == 0

        return result

    def close(self) -> None:
        """Wait for what is in flight, and release the buffers."""
        self._engine.close()
        self._temporary.close()

    def _restore(self, inputs: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        """Queue the restoration of a picture on CuPy's current stream."""
        with self._temporary.allocating():
            with stage("place on the period"):
                self._cutter.cut(inputs[0], self._cut, self._values)
            sharp, _ = self._how.queue(self._parts, self._cut, 1.0, self._results, outputs[2])
            with stage("centre and cut"):
                self._cutter.blend(sharp, outputs[0], self._values)
                outputs[1][...] = self._results[self._pixels :]
                outputs[3][...] = self._values[1]
