"""All planes of a frame on the GPU: luma by the method, chroma by bicubic."""

from __future__ import annotations

from typing import Any

from snellen.frames.frame import Format
from snellen.upscaling.chroma import Chroma
from snellen.upscaling.methods import method_of
from snellen.upscaling.models import Model


class Planes:
    """Enlarges frames of one format on the current GPU and CuPy's stream. Owns its buffers.

    Parameters
    ----------
    model : Model
    source, target : Format
        Formats of the frames and of the results.
    memory : int, optional
        Bytes for luma's scratch: see `Method.on_gpu`.

    Raises
    ------
    DeviceError
        The memory does not suffice.
    """

    def __init__(self, model: Model, source: Format, target: Format, memory: int | None = None):
        self.target = target
        self.luma = method_of(model).on_gpu(model, source, target, memory)
        self.chroma = Chroma(source, target)

    def __call__(self, planes: tuple[Any, ...], out: tuple[Any, ...]) -> None:
        """Enlarge luma, or luma and chroma.

        Parameters
        ----------
        planes : tuple of CuPy arrays
            Planes of the source's dtype and shapes; rows may have a pitch.
        out : tuple of CuPy arrays
            Output: as many planes of the target's dtype and shapes; rows may have a pitch.
        """
        self.luma(planes[0], out[0])
        for plane, large in zip(planes[1:], out[1:], strict=True):
            self.chroma(plane, large)

    def new(self, planes: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return enlarged planes as new arrays."""
        import cupy

        shapes = self.target.shapes[: len(planes)]
        out = tuple(cupy.empty(shape, self.target.dtype) for shape in shapes)
        self(planes, out)
        return out
