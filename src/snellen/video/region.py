"""A step that changes luma, of whole frames or of a region of each; it knows no method either.

What changes it gets luma as floats, black 0 and white 1, and a region always at the same size. The
region becomes the picture, or is put back into its frame. Chroma stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor
from typing import Protocol

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.quantise import quantise, recode

Float32 = npt.NDArray[np.float32]

BLACK, WHITE = 16, 235  # luma of limited range at 8 bits; ITU-R BT.601, BT.709, BT.2020


class Work(Protocol):
    """What changes luma."""

    device_name: str
    """What the device calls itself."""

    def prepare(self, height: int, width: int) -> None:
        """Get ready for planes of this shape."""
        ...

    def run(self, plane: Float32) -> Float32:
        """Return a plane, changed: 0 is black, 1 is white, more than 1 may come and go."""
        ...

    def close(self) -> None:
        """Give back what `prepare` took; called once, also without it."""
        ...


@dataclass(frozen=True, slots=True)
class Track:
    """Where the region lies in each frame."""

    width: int
    height: int
    places: tuple[tuple[int, int], ...]
    """Column and row of its top left sample: one a frame, or a single one for all of them."""
    file: str | None = None
    """Whose lines they are; None: they are of no file, and there is one."""
    lines: tuple[int, ...] = ()
    """Their numbers in the file."""

    def check(self, width: int, height: int, frames: int = 1) -> None:
        """Refuse (InputError) a frame too small for the region, and too few places.

        Parameters
        ----------
        width, height : of the frames
        frames : so many will come, at least
        """
        size = f"{self.width}×{self.height}"
        if self.width > width or self.height > height:
            raise InputError(
                f"a region of {size} came for frames of {width}×{height}: take a smaller one"
            )
        for number, (x, y) in enumerate(self.places):
            if not (0 <= x <= width - self.width and 0 <= y <= height - self.height):
                raise InputError(
                    f"{self._said(number)} leaves the frame: {x},{y} with a region of {size} in "
                    f"{width}×{height}; columns go from 0 to {width - self.width}, rows to "
                    f"{height - self.height}"
                )
        if self.file is not None and len(self.places) < frames:
            raise self._short(f"{frames} frames or more will come")

    def at(self, number: int) -> tuple[int, int]:
        """Return the place in a frame, counted from 0 (InputError: there is none)."""
        if self.file is None:
            return self.places[0]
        if number >= len(self.places):
            raise self._short("more frames came")
        return self.places[number]

    def _said(self, number: int) -> str:
        return f"{self.file} line {self.lines[number]}" if self.file else "the region"

    def _short(self, but: str) -> InputError:
        count = len(self.places)
        return InputError(
            f"{self.file} has {count} position{'s' * (count != 1)}, but {but}: write a line for "
            f"each, or take fewer (--frames {count})"
        )


class Regions:
    """The step.

    Parameters
    ----------
    work : Work
        Closed by `close`.
    track : Track or None
        None: whole frames.
    back : bool
        Whether the region is put back into its frame, which then is the result.
    """

    scale = 1
    slots = 1
    device = "cpu"

    def __init__(self, work: Work, track: Track | None = None, back: bool = False) -> None:
        self._work = work
        self._track = track
        self._back = back
        self._number = 0

    @property
    def device_name(self) -> str:
        """What the device calls itself."""
        return self._work.device_name

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results of so many frames, at least, before `prepare`.

        Raises
        ------
        InputError
            The region is not inside each of the frames.
        """
        if self._track is None:
            return format
        self._track.check(format.width, format.height, frames)
        if self._back:
            return format
        return replace(format, width=self._track.width, height=self._track.height)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        if on_device:
            raise InputError("a region's results are planes in host memory, not on the GPU")
        self._number = 0
        self._came = format
        result = self.outcome(format, 0)
        self._result = replace(result, bits=format.bits if bits is None else bits)
        part = self._track or result
        self._work.prepare(part.height, part.width)
        return self._result

    def run(self, frame: Frame) -> Frame:
        """Return a frame whose luma is changed in the region, times carried over."""
        luma = frame.planes[0]
        x, y = (0, 0) if self._track is None else self._track.at(self._number)
        self._number += 1
        part = self._track or self._came
        there = slice(y, y + part.height), slice(x, x + part.width)
        done = self._coded(self._work.run(samples(luma[there], self._came)))
        if self._track is None or not self._back:
            return replace(frame, planes=(done, *self._chroma(frame.planes[1:], x, y)))
        whole = self._recoded(luma, False).copy()
        whole[there] = done
        return replace(frame, planes=(whole, *self._chroma(frame.planes[1:], 0, 0)))

    def close(self) -> None:
        """Give back what the work took."""
        self._work.close()

    def _coded(self, plane: Float32) -> Plane:
        """Return 0 … 1 as the result's code values."""
        black, white = levels(self._result)
        out: Plane = np.empty(plane.shape, self._result.dtype)
        quantise(np.ascontiguousarray(plane), (white - black, black), self._result.bits, out)
        return out

    def _chroma(self, planes: tuple[Plane, ...], x: int, y: int) -> tuple[Plane, ...]:
        """Return chroma at a place of luma, at the result's depth."""
        across, down = self._came.subsampling or (0, 0)
        place = y / (1 << down), x / (1 << across)
        return tuple(
            self._recoded(cut(plane, place, shape), True)
            for plane, shape in zip(planes, self._result.shapes[1:], strict=True)
        )

    def _recoded(self, plane: Plane, chroma: bool) -> Plane:
        """Return a plane at the result's depth; the plane itself where that is its own."""
        if self._result.bits == self._came.bits:
            return plane
        out: Plane = np.empty(plane.shape, self._result.dtype)
        depth = recode(self._came, self._result, chroma)
        quantise(plane.astype(np.float32), depth, self._result.bits, out)
        return out


def levels(format: Format) -> tuple[float, float]:
    """Return the code values of black and white of luma."""
    if format.full_range:
        return 0.0, float((1 << format.bits) - 1)
    return float(BLACK << (format.bits - 8)), float(WHITE << (format.bits - 8))


def samples(luma: Plane, format: Format) -> Float32:
    """Return luma as floats: black 0, white 1; what is below black becomes black."""
    black, white = levels(format)
    above = luma.astype(np.float32) - np.float32(black)
    floats: Float32 = np.maximum(above / np.float32(white - black), 0)
    return floats


def cut(plane: Plane, place: tuple[float, float], shape: tuple[int, int]) -> Plane:
    """Return the part of a plane that begins at `place` (row, column), linear between samples.

    Beyond the plane's last sample that one is repeated.
    """
    whole = tuple(floor(at) for at in place)
    if whole == place:
        return plane[whole[0] : whole[0] + shape[0], whole[1] : whole[1] + shape[1]]
    found: npt.NDArray[np.float64] = plane.astype(np.float64)
    for axis, (at, size) in enumerate(zip(place, shape, strict=True)):
        first = np.minimum(np.arange(size) + floor(at), plane.shape[axis] - 1)
        second = np.minimum(first + 1, plane.shape[axis] - 1)
        share = at - floor(at)
        found = (1 - share) * found.take(first, axis) + share * found.take(second, axis)
    rounded: Plane = np.rint(found).astype(plane.dtype)
    return rounded
