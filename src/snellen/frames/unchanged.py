"""A step that leaves frames as they are: for the alpha channel of films, and for chroma."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.quantise import quantise, recode
from snellen.frames.step import Step


class Unchanged(Step):
    """Give frames as they are, perhaps at another depth."""

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        if on_device:
            raise InputError("these planes stay in main memory", parameter="on_device")
        self._target = replace(format, bits=format.bits if bits is None else bits)
        self._depths = [recode(format, self._target, chroma=chroma) for chroma in (False, True)]
        return self._target

    def run(self, frame: Frame) -> Frame:
        """Return the frame, with planes of the depth that `prepare` was asked for."""
        planes = (self.plane(one, chroma=at > 0) for at, one in enumerate(frame.planes))
        return replace(frame, planes=tuple(planes))

    def plane(self, plane: Plane, *, chroma: bool) -> Plane:
        """Return one plane of a frame at that depth: itself, if that is its own."""
        depth = self._depths[chroma]
        if plane.dtype == self._target.dtype and depth == (1.0, 0.0):
            return plane
        out: Plane = np.empty(plane.shape, self._target.dtype)
        quantise(np.ascontiguousarray(plane, np.float32), depth, self._target.bits, out)
        return out
