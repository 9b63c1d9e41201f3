"""What a method gives: luma of one format, enlarged on the CPU or on a GPU."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol

from snellen.aplus import model as aplus
from snellen.cnn.definition import radius
from snellen.cpu.pool import Pool
from snellen.frames.frame import Format, Plane
from snellen.upscaling.models import Model


class LumaOnCpu(Protocol):
    """Enlarges luma planes of one format and any size on the CPU; the result is threads' alike."""

    def tasks(self, pool: Pool, plane: Plane, out: Plane) -> list[Future[None]]:
        """Let threads fill `out` (s·H, s·W) from `plane` (H, W); return the tasks."""
        ...

    def close(self) -> None:
        """Give back all that is held; no task is at work."""
        ...


class LumaOnGpu(Protocol):
    """Enlarges luma planes of one format on the current GPU, one at a time. Owns its buffers."""

    def __call__(self, plane: Any, out: Any) -> None:
        """Fill `out` (s·H, s·W) from `plane` (H, W), CuPy arrays, on CuPy's current stream."""
        ...


def format_of(size: tuple[int, int], colour: bool, bits: int, white: float | None = None) -> Format:
    """Return the format of the planes of a picture in an array; of colour they are float32.

    Parameters
    ----------
    size : (int, int)
        Rows and columns.
    colour : bool
        Whether there are planes of chroma.
    bits : int
        Significant bits of integer samples, whose range is full; 0: floats.
    white : float, optional
        The sample value of white; None: the greatest of integers, 1 of floats.
    """
    height, width = size
    most = float((1 << bits) - 1) if bits else 1.0
    if not colour:
        white = None if white == most else white
        return Format(width, height, bits, full_range=bits > 0, white=white)
    if white is None and bits:
        white = most
    return Format(width, height, 0, (0, 0), full_range=bits > 0, white=white)


_FILTERS = 6
"""Rows that A+ sees beside windows and patches: bicubic 2, differences 2, and some to spare."""


def reach(model: Model) -> int:
    """Return how many rows above and below a result depends on at most; chroma's are fewer."""
    if isinstance(model, aplus.Model):
        return _FILTERS + 2 * (model.window // 2)  # a window, and patches that overlap
    return radius(model.layers)


def tile(model: Model, device: str) -> int:
    """Return the rows of tiles whose place in the picture decides how results are rounded."""
    if device == "cpu" or not isinstance(model, aplus.Model):
        return 1
    from snellen.aplus.cuda.features import TILE

    return TILE  # it subtracts a level of its own from each tile


def luma_on_cpu(model: Model, source: Format, target: Format) -> LumaOnCpu:
    """Return what enlarges luma planes of a format on the CPU."""
    if isinstance(model, aplus.Model):
        from snellen.aplus import cpu as of_aplus

        return of_aplus.Luma(model, source, target)
    from snellen.cnn import cpu as of_cnn

    return of_cnn.Luma(model, source, target)


def luma_on_gpu(
    model: Model, source: Format, target: Format, memory: int | None = None
) -> LumaOnGpu:
    """Return what enlarges luma planes of a format on the current GPU.

    Parameters
    ----------
    model : Model
    source, target : Format
        Of the frames to come and of the results.
    memory : int, optional
        Bytes for scratch that grows with the plane; None: what the GPU has.

    Raises
    ------
    DeviceError
        The memory does not suffice, or the model is too large for a GPU.
    """
    if isinstance(model, aplus.Model):
        from snellen.aplus.cuda import luma as of_aplus

        return of_aplus.Luma(model, source, target, memory)
    from snellen.cnn.cuda import luma as of_cnn

    return of_cnn.Luma(model, source, target, memory)


def writes_once(model: Model) -> bool:
    """Return whether luma on a GPU is one kernel, which writes each sample once."""
    return not isinstance(model, aplus.Model)


def host_bytes(model: Model) -> int:
    """Return the bytes that a model takes in main memory as the CPU wants it."""
    return 4 * model.projections.size if isinstance(model, aplus.Model) else 1 << 20
