"""A step for the alpha channel of films whose pictures are only coloured or textured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.quantise import quantise, recode


class Unchanged:
    """Give frames of luma only as they are, perhaps at another depth."""

    slots = 1
    device = device_name = "cpu"

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        if on_device:
            raise InputError("opacity stays in main memory", parameter="on_device")
        self._target = replace(format, bits=format.bits if bits is None else bits)
        self._depth = recode(format, self._target, chroma=False)
        return self._target

    def run(self, frame: Frame) -> Frame:
        """Return the frame, with planes of the depth that `prepare` was asked for."""
        return replace(frame, planes=tuple(map(self._recoded, frame.planes)))

    def _recoded(self, plane: Plane) -> Plane:
        if plane.dtype == self._target.dtype and self._depth == (1.0, 0.0):
            return plane
        out: Plane = np.empty(plane.shape, self._target.dtype)
        quantise(np.ascontiguousarray(plane, np.float32), self._depth, self._target.bits, out)
        return out

    def close(self) -> None:
        """Give back what `prepare` took: nothing."""
