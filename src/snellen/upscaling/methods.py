"""The methods, one entry each: their models, and how their packages enlarge luma of one format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from snellen.aplus import model as aplus
from snellen.cnn import model as cnn
from snellen.cnn.definition import radius
from snellen.cpu.pool import Pool
from snellen.frames.frame import Format, Plane

Model = aplus.Model | cnn.Model


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """All that enlarging needs of a method. Its package is imported where it first computes."""

    model: type[Any]
    """The class of its models."""
    formats: Mapping[str, Callable[[Path, Mapping[str, str], Mapping[str, Any]], Any]]
    """`format` in a file's header → the function that makes the model."""
    reach: Callable[[Any], int]
    """Rows above and below that a result of a model depends on at most; chroma's are fewer."""
    on_cpu: Callable[[Any, Format, Format], LumaOnCpu]
    """Make what enlarges luma planes by a model, from one format to another one."""
    on_gpu: Callable[[Any, Format, Format, int | None], LumaOnGpu]
    """Likewise on the current GPU, where scratch that grows with the plane has so many bytes; None:
    what the GPU has. DeviceError: the memory does not suffice, or the model is too large."""
    tile: Callable[[], int] = lambda: 1
    """Rows of tiles of a GPU, whose place in the picture decides how results are rounded."""
    writes_once: bool = True
    """Luma on a GPU is one kernel, which writes each sample once."""
    host_bytes: Callable[[Any], int] = lambda _: 1 << 20
    """Bytes that a model takes in main memory as the CPU wants it."""


_FILTERS = 6
"""Rows that A+ sees beside windows and patches: bicubic 2, differences 2, and some to spare."""


def _aplus_on_cpu(model: aplus.Model, source: Format, target: Format) -> LumaOnCpu:
    from snellen.aplus.cpu import Luma

    return Luma(model, source, target)


def _aplus_on_gpu(
    model: aplus.Model, source: Format, target: Format, memory: int | None
) -> LumaOnGpu:
    from snellen.aplus.cuda.luma import Luma

    return Luma(model, source, target, memory)


def _aplus_tile() -> int:
    from snellen.aplus.cuda.features import TILE

    return TILE  # it subtracts a level of its own from each tile


def _cnn_on_cpu(model: cnn.Model, source: Format, target: Format) -> LumaOnCpu:
    from snellen.cnn.cpu import Luma

    return Luma(model, source, target)


def _cnn_on_gpu(model: cnn.Model, source: Format, target: Format, memory: int | None) -> LumaOnGpu:
    from snellen.cnn.cuda.luma import Luma

    return Luma(model, source, target, memory)


METHODS: dict[str, Method] = {
    "aplus": Method(
        model=aplus.Model,
        formats={aplus.FORMAT: aplus.parsed, aplus.FORMAT_2: aplus.parsed},
        reach=lambda model: _FILTERS + 2 * (model.window // 2),  # and patches overlap
        on_cpu=_aplus_on_cpu,
        on_gpu=_aplus_on_gpu,
        tile=_aplus_tile,
        writes_once=False,
        host_bytes=lambda model: 4 * model.projections.size,
    ),
    "cnn": Method(
        model=cnn.Model,
        formats={cnn.FORMAT: cnn.parsed},
        reach=lambda model: radius(model.layers),
        on_cpu=_cnn_on_cpu,
        on_gpu=_cnn_on_gpu,
    ),
}
"""By the names of their packages. What they are called and which models they have: shipped.py."""


def name_of(model: object) -> str | None:
    """Return the name of a model's method; None: it is no model."""
    return next((name for name, one in METHODS.items() if isinstance(model, one.model)), None)


def method_of(model: Model) -> Method:
    """Return the method of a model."""
    name = name_of(model)
    assert name is not None
    return METHODS[name]


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
