"""Opacity beside the pictures: a step for these, and one for the alpha channel, as one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.step import Step
from snellen.video.steps.chain import Chain, steps_of


class WithAlpha(Step):
    """A step that takes frames with alpha, and gives such.

    It has a step for the planes, which whoever made it closes, and one for the alpha channel, as
    frames of one plane of full range.
    """

    def __init__(self, step: Step, alpha: Step) -> None:
        self.step, self._alpha = step, alpha
        both = step.traits.reach, alpha.traits.reach
        reach = None if None in both else max(one or 0 for one in both)
        self.traits = replace(step.traits, device="cpu", call="run", reach=reach)

    def restart(self) -> None:
        """Have both steps forget the frames so far: those to come do not follow them."""
        self.step.restart()
        self._alpha.restart()

    def take_tally(self) -> tuple[int, int]:
        """Return how many pixels the step for the planes had to clip, of how many."""
        return self.step.take_tally()

    def add_tally(self, clipped: int, pixels: int) -> None:
        """Have the step for the planes count these."""
        self.step.add_tally(clipped, pixels)

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results before `prepare`, except for their depth."""
        return self.step.outcome(format, frames)

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Prepare both steps; return the format of the results, which lie in main memory."""
        grey = Format(format.width, format.height, format.bits, full_range=True)
        self._alpha.prepare(grey, bits)
        result = self.step.prepare(format, bits)
        self.traits = replace(self.traits, slots=self.step.traits.slots)
        return result

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
    """A step that gives each frame some frames later, for frames with alpha."""

    def __init__(self, step: Step, alpha: Step) -> None:
        super().__init__(step, alpha)
        self.traits = replace(self.traits, call="push")
        self._waiting: dict[int, Plane] = {}

    def restart(self) -> None:
        """Have both steps forget the frames so far: those to come do not follow them."""
        super().restart()
        self._waiting.clear()

    def push(self, frame: Frame | None) -> Iterator[Frame]:
        """Take the next frame (None: there are no more); yield the results that are ready."""
        if frame is not None:
            assert frame.alpha is not None
            (alpha,) = self._alpha.run(Frame((frame.alpha,))).planes
            self._waiting[frame.pts * self.traits.ticks] = alpha
            frame = replace(frame, alpha=None)
        for one in self.step.push(frame):
            if (plane := self._waiting.pop(one.pts, None)) is None:
                raise InputError("a filter gives a frame at another time than those of its input")
            yield replace(one, alpha=plane)
        if frame is None:
            self._waiting.clear()


def with_alpha(step: Step) -> WithAlpha | None:
    """Return a step that also takes care of the alpha channel; None: it cannot."""
    steps = steps_of(step)
    made = [alpha for one in steps if (alpha := one.alpha()) is not None]
    if len(made) < len(steps):
        for one in made:
            one.close()
        return None
    alpha = made[0] if len(made) == 1 else Chain(*made)
    late = any(one.traits.call == "push" for one in steps)
    return (LateWithAlpha if late else WithAlpha)(step, alpha)
