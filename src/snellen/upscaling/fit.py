"""A step that brings enlarged frames to the size that is wanted, on the CPU.

Luma and chroma are filtered, chroma at the positions that its siting says. Frames from a GPU come
down before, as after any step that the next one does not follow on the same device.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.pool import Pool, results
from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.quantise import recode
from snellen.frames.resample import Axis, axis, resample
from snellen.frames.step import Step, Traits
from snellen.gpu.profile import stage
from snellen.process import Holder, Home
from snellen.upscaling.target import Geometry

_ROWS = 64
"""Rows of the result that a task makes."""


class _Placed:
    """How a plane of the source becomes a part of a plane of the result.

    Parameters
    ----------
    source : (int, int)
        Width and height of the enlarged luma.
    cell : (int, int)
        Luma samples of a sample of this plane, across and down.
    phase : (float, float)
        Siting across and down.
    unit : (int, int)
        Luma samples of a sample of chroma: the picture begins on one.
    """

    def __init__(
        self,
        geometry: Geometry,
        source: tuple[int, int],
        cell: tuple[int, int],
        phase: tuple[float, float],
        unit: tuple[int, int] = (1, 1),
    ) -> None:
        axes: list[Axis] = []
        self.offset = [0, 0]
        whole = (geometry.width, geometry.height)
        for side in (0, 1):
            inner, part, size = geometry.inner[side], float(geometry.part[side]), source[side]
            begin = size * (1 - part) / 2 / cell[side]
            count = -(-inner // cell[side])
            axes.append(axis(count, begin, size * part / inner, phase[side]))
            margin = (whole[side] - inner) // 2 // unit[side] * unit[side]
            self.offset[side] = margin // cell[side]
        self.across, self.down = axes

    def tasks(
        self,
        pool: Pool,
        plane: Plane,
        out: Plane,
        depth: tuple[float, float],
        bits: int,
    ) -> Iterator[Future[None]]:
        """Let threads fill the place in `out`; yield each task."""
        left, top = self.offset
        place = out[top : top + len(self.down.first), left : left + len(self.across.first)]
        for first in range(0, len(place), _ROWS):
            rows = place[first : first + _ROWS]
            yield pool.submit(
                resample, plane, self.down, self.across, rows, depth=depth, bits=bits, first=first
            )


class Fit(Holder, Step):
    """Bring frames to the size of a geometry.

    Parameters
    ----------
    geometry : Geometry
        Made for the source of the frames, before its `scales` enlarged them.
    white_bars : bool
        Whether bars are white, not black.
    """

    def __init__(self, geometry: Geometry, *, white_bars: bool = False) -> None:
        self.geometry = geometry
        self.traits = Traits(label=f"fit {geometry.width}×{geometry.height}")
        self._white_bars = white_bars
        self._home = Home("this step")
        self._pool: Pool | None = None

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        return replace(format, width=self.geometry.width, height=self.geometry.height)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Compute weights and start threads; return the format of the results."""
        if on_device:
            raise InputError("frames of any size are made in main memory", parameter="on_device")
        depth = format.bits if bits is None else bits
        white = format.white if depth == format.bits else None
        target = replace(self.outcome(format, 0), bits=depth, white=white)
        size = (format.width, format.height)
        across, down = format.subsampling or (0, 0)
        self._target = target
        self._depths = [recode(format, target, chroma=chroma) for chroma in (False, True)]
        phase = (format.siting[0] if across else 0.5, format.siting[1] if down else 0.5)
        cell = (1 << across, 1 << down)
        self._placed = [
            _Placed(self.geometry, size, (1, 1), (0.5, 0.5), cell),
            _Placed(self.geometry, size, cell, phase, cell),
        ]
        self._bars = self.geometry.inner != (target.width, target.height)
        self._pool = Pool(threads.available())
        return target

    def run(self, frame: Frame) -> Frame:
        """Return the frame at its size, with new planes."""
        assert self._pool is not None
        target = self._target
        out = tuple(self._plane(shape, number > 0) for number, shape in enumerate(target.shapes))
        with stage("resample"):
            tasks = [
                task
                for number, (plane, result) in enumerate(zip(frame.planes, out, strict=True))
                for task in self._placed[number > 0].tasks(
                    self._pool, plane, result, self._depths[number > 0], target.bits
                )
            ]
            results(tasks)
        return replace(frame, planes=out)

    def _plane(self, shape: tuple[int, int], chroma: bool) -> Plane:
        target = self._target
        plane: Plane = np.empty(shape, target.dtype)
        if self._bars:
            plane[...] = self._bar(chroma)
        return plane

    def _bar(self, chroma: bool) -> float:
        """Return the sample value of bars."""
        bits, full = self._target.bits, self._target.full_range
        if bits == 0:
            return float(self._white_bars and not chroma)
        if chroma:
            return 1 << (bits - 1)
        if self._white_bars:
            return (1 << bits) - 1 if full else 235 << (bits - 8)
        return 0 if full else 16 << (bits - 8)

    def alpha(self) -> Fit:
        """Return a step for the alpha channel of such frames, whose bars are opaque."""
        return Fit(self.geometry, white_bars=True)

    def close(self) -> None:
        """End the threads."""
        if self._home.keep(self.__dict__):
            return
        if self._pool is not None:
            self._pool.shutdown()


def fitted(image: npt.NDArray[Any], geometry: Geometry) -> npt.NDArray[Any]:
    """Return an enlarged picture at the size of its geometry.

    Parameters
    ----------
    image : (H, W) or (H, W, channels) array
        uint8, uint16 or float. Bars are 0 in every channel but the fourth, which is opaque.
    """
    height, width = image.shape[:2]
    placed = _Placed(geometry, (width, height), (1, 1), (0.5, 0.5))
    integer = np.issubdtype(image.dtype, np.integer)
    bits = 8 * image.dtype.itemsize if integer else 0
    out = np.zeros((geometry.height, geometry.width, *image.shape[2:]), image.dtype)
    channels = prod(image.shape[2:])
    planes, results = image.reshape(height, width, -1), out.reshape(*out.shape[:2], -1)
    with Pool(threads.available()) as pool:
        for channel in range(channels):
            kind = image.dtype if integer else np.dtype(np.float32)
            result = np.zeros(out.shape[:2], kind)
            if channel == 3:
                result[...] = (1 << bits) - 1 if integer else 1
            plane = np.ascontiguousarray(planes[..., channel], kind)
            for task in list(placed.tasks(pool, plane, result, (1.0, 0.0), bits)):
                task.result()
            results[..., channel] = result
    return out
