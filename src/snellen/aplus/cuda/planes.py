"""All planes of a frame on the GPU: luma by all seven steps, chroma by bicubic."""

from __future__ import annotations

from typing import Any

from snellen.aplus.chroma import Chroma
from snellen.aplus.cuda.luma import Luma
from snellen.aplus.model import Model
from snellen.frames.frame import Format


class Planes:
    """A+ for frames of one format on the current GPU and CuPy's current stream. Owns the buffers.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    memory : int, optional
        Bytes for luma's scratch: see `Luma`.

    Raises
    ------
    DeviceError
        The memory does not suffice.
    """

    def __init__(self, model: Model, source: Format, target: Format, memory: int | None = None):
        self.target = target
        self.luma = Luma(model, source, target, memory)
        self.chroma = Chroma(source, target)

    def __call__(self, planes: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        """Enlarge.

        Parameters
        ----------
        planes : luma, or luma and chroma; CuPy arrays of the source's dtype and shapes, rows may
            have a pitch
        out : as many, of the target's dtype and shapes, likewise
        """
        self.luma(planes[0], out[0])
        for plane, large in zip(planes[1:], out[1:], strict=True):
            self.chroma(plane, large)

    def new(self, planes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return enlarged planes, all new."""
        import cupy

        shapes = self.target.shapes[: len(planes)]
        out = tuple(cupy.empty(shape, self.target.dtype) for shape in shapes)
        self(planes, out)
        return out
