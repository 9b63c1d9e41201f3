"""The CPU backend: luma by the method's tasks and chroma, both in the same threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool, results
from snellen.frames.frame import Format, Frame, Plane
from snellen.upscaling.chroma import Chroma
from snellen.upscaling.methods import method_of
from snellen.upscaling.models import Model


class Backend:
    """Enlarges frames of one format on the CPU. Holds the threads."""

    slots = 1  # one frame takes all threads
    chroma = "cpu"

    def __init__(self, model: Model, source: Format, target: Format):
        self._target = target
        self._luma = method_of(model).on_cpu(model, source, target)
        self._chroma = Chroma(source, target)
        self._pool = Pool(threads.available())
        blank = Format(8, 8, source.bits, source.subsampling)  # compiles
        self._enlarged(tuple(blanks(blank, 0)), blank.scaled(model.scale, target.bits))

    def run(self, frame: Frame) -> Frame:
        """Return an enlarged frame with new planes."""
        return replace(frame, planes=self._enlarged(frame.planes, self._target))

    def close(self) -> None:
        """End the threads, after the frames in work: who waits for a task would never be told."""
        self._pool.shutdown()
        self._luma.close()

    def _enlarged(self, planes: tuple[Plane, ...], target: Format) -> tuple[Plane, ...]:
        out = tuple(np.empty(shape, target.dtype) for shape in target.shapes)
        with single_threaded():
            tasks = [
                *self._luma.tasks(self._pool, planes[0], out[0]),
                *self._chroma.tasks(self._pool, planes[1:], out[1:]),
            ]
            results(tasks)
        return out


def blanks(format: Format, pitch: int) -> Iterator[Plane]:
    """Yield the planes of a blank frame, with so many samples between two rows."""
    for height, width in format.shapes:
        yield np.zeros((height, width + pitch), format.dtype)[:, :width]
