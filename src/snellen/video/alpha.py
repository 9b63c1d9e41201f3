"""Opacity beside the pictures: a step for these, and one for the alpha channel, as one."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from snellen.frames.frame import Format, Frame
from snellen.video.chain import Chain, reach_of, restart, steps_of
from snellen.video.step import AlphaStep, RateStep, Step


class WithAlpha:
    """A step that takes frames with alpha, and gives such.

    Parameters
    ----------
    step : Step
        For the planes; whoever made it closes it.
    alpha : Step
        For the alpha channel, as frames of one plane of full range.

    Attributes
    ----------
    step : Step
        That for the planes.
    """

    device = "cpu"

    def __init__(self, step: Step, alpha: Step) -> None:
        self.step, self._alpha = step, alpha

    @property
    def slots(self) -> int:
        """How many frames it works on at once."""
        return self.step.slots

    @property
    def device_name(self) -> str:
        """Name of the device that does the work on the planes."""
        return self.step.device_name

    @property
    def reach(self) -> int | None:
        """On how many frames on each side of a frame its results depend; None: on all."""
        planes, alpha = reach_of(self.step), reach_of(self._alpha)
        return None if planes is None or alpha is None else max(planes, alpha)

    def restart(self) -> None:
        """Have both steps forget the frames so far: those to come do not follow them."""
        restart(self.step)
        restart(self._alpha)

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth."""
        return self.step.outcome(format, frames)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare both steps; return the format of the results, which lie in main memory."""
        grey = Format(format.width, format.height, format.bits, full_range=True)
        self._alpha.prepare(grey, bits)
        return self.step.prepare(format, bits)

    def run(self, frame: Frame) -> Frame:
        """Return the result of a frame, with its alpha channel."""
        assert frame.alpha is not None
        large = self.step.run(replace(frame, alpha=None))
        (alpha,) = self._alpha.run(Frame((frame.alpha,))).planes
        return replace(large, alpha=alpha)

    def close(self) -> None:
        """Close the step for the alpha channel."""
        self._alpha.close()


def with_alpha(step: Step | RateStep) -> WithAlpha | None:
    """Return a step that also takes care of the alpha channel; None: it cannot."""
    found = [one.alpha() for one in steps_of(step) if isinstance(one, AlphaStep)]
    if len(found) < len(steps_of(step)):
        for one in found:
            one.close()
        return None
    return WithAlpha(cast("Step", step), found[0] if len(found) == 1 else Chain(*found))
