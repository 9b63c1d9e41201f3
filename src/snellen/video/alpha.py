"""Opacity beside the pictures: a step for these, and one for the alpha channel, as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import cast

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.video.chain import Chain, reach_of, restart, results_of, steps_of
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


class LateWithAlpha(WithAlpha):
    """A step that gives each frame some frames later, for frames with alpha: a `RateStep`."""

    slots = 1

    def __init__(self, step: RateStep, alpha: Step) -> None:
        super().__init__(cast("Step", step), alpha)
        self._late = step
        self._waiting: dict[int, Plane] = {}

    @property
    def rate(self) -> Fraction:
        """Frames out for each frame in."""
        return self._late.rate

    @property
    def ticks(self) -> int:
        """Into how many ticks the times of results divide a tick."""
        return self._late.ticks

    def restart(self) -> None:
        """Have both steps forget the frames so far: those to come do not follow them."""
        super().restart()
        self._waiting.clear()

    def push(self, frame: Frame | None) -> list[Frame]:
        """Take the next frame (None: there are no more); return the results that are ready."""
        return list(self.results(frame))

    def results(self, frame: Frame | None) -> Iterator[Frame]:
        """Yield what `push` returns, made when it is needed; the next frame comes after all."""
        if frame is not None:
            assert frame.alpha is not None
            (alpha,) = self._alpha.run(Frame((frame.alpha,))).planes
            self._waiting[frame.pts * self.ticks] = alpha
            frame = replace(frame, alpha=None)
        for one in results_of(self._late, frame):
            if (plane := self._waiting.pop(one.pts, None)) is None:
                raise InputError("a filter gives a frame at another time than those of its input")
            yield replace(one, alpha=plane)
        if frame is None:
            self._waiting.clear()


def with_alpha(step: Step | RateStep) -> WithAlpha | None:
    """Return a step that also takes care of the alpha channel; None: it cannot."""
    steps = steps_of(step)
    found = [one.alpha() if isinstance(one, AlphaStep) else None for one in steps]
    made = [one for one in found if one is not None]
    if len(made) < len(steps):
        for one in made:
            one.close()
        return None
    alpha = made[0] if len(made) == 1 else Chain(*made)
    if any(isinstance(one, RateStep) for one in steps):
        return LateWithAlpha(cast("RateStep", step), alpha)
    return WithAlpha(cast("Step", step), alpha)
