"""Chroma planes, enlarged by bicubic as in the papers, at the positions that their siting says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

from snellen.frames.bicubic import bicubic, kernel
from snellen.frames.frame import Format, Plane
from snellen.frames.quantise import recode
from snellen.gpu import device as devices
from snellen.gpu.profile import stage

ROWS = 256  # rows of the result that a task makes


class Chroma:
    """Enlarges chroma planes of one format, each where it lies: on the CPU or on a GPU."""

    def __init__(self, source: Format, target: Format):
        across, down = source.subsampling or (0, 0)
        self.scale = target.width // source.width
        self.bits = target.bits
        self.depth = recode(source, target, chroma=True)
        self.phase = (
            source.siting[0] if across else 0.5,
            source.siting[1] if down else 0.5,
        )
        if (
            len(source.shapes) > 1 and devices.current() != "cpu"
        ):  # it compiles beside the kernels of luma
            kernel(self.scale, self.phase, source.dtype.name, target.dtype.name)

    def __call__(self, plane: Any, out: Any, first: int = 0) -> None:
        """Fill `out` (h, scale·W) with rows from `first` on of the enlarged `plane` (H, W)."""
        with stage("chroma"):
            bicubic(
                plane, self.scale, out, phase=self.phase, origin=(first, 0), depth=self.depth,
                bits=self.bits,
            )  # fmt: skip

    def tasks(
        self, pool: Executor, planes: tuple[Plane, ...], out: tuple[Plane, ...]
    ) -> Iterator[Future[None]]:
        """Let threads fill `out` from `planes`, both a frame's chroma planes; yield each task."""
        for plane, large in zip(planes, out, strict=True):
            for first in range(0, len(large), ROWS):
                yield pool.submit(self, plane, large[first : first + ROWS], first)
