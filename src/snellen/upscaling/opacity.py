"""Opacity is enlarged by bicubic, as chroma is: of films in a step, and of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from snellen.frames.bicubic import bicubic
from snellen.frames.frame import Format, Frame
from snellen.frames.quantise import recode
from snellen.frames.step import Step
from snellen.gpu.profile import stage
from snellen.upscaling.sample_values import store


class OpacityUpscaler(Step):
    """Enlarge frames of one plane, whose samples are opacity. Several threads may call `run`."""

    def __init__(self, scale: int) -> None:
        self.scale = scale

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        return format.scaled(self.scale)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Return the format of the results, which lie in main memory."""
        self._target = target = format.scaled(self.scale, bits)
        self._depth = recode(format, target, chroma=False)
        return target

    def run(self, frame: Frame) -> Frame:
        """Return the enlarged frame."""
        out = np.empty(self._target.shapes[0], self._target.dtype)
        with stage("opacity"):
            bicubic(frame.planes[0], self.scale, out, depth=self._depth, bits=self._target.bits)
        return replace(frame, planes=(out,))


def enlarged_alpha(alpha: Any, scale: int, bits: int, out: Any) -> None:
    """Enlarge (H, W, 1 or none) by bicubic into `out`."""
    for channel in range(alpha.shape[-1]):
        large = np.empty(out.shape[:2], np.float32)
        bicubic(np.ascontiguousarray(alpha[..., channel], np.float32), scale, large)
        store(large, bits, out[..., channel])
