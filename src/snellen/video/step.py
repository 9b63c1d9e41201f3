"""What the road knows of a method: its three verbs, and how many frames at once."""

from __future__ import annotations

from typing import Protocol

from snellen.frames.frame import Format, Frame


class Step(Protocol):
    """What the road knows of a method."""

    scale: int
    """How many times wider and higher the results are. A step of which that is not true has a
    method `outcome(format, frames)`, as the function of this name."""
    lanes: int
    """How many frames `run` may work on at once, each in a thread of the caller's; known after
    `prepare`. 1: one after another, in the thread that called the road."""

    def prepare(self, format: Format, bits: int | None = None) -> Format:
        """Allocate and compile for frames of `format`; return the format of the results.

        `bits` is the depth of the samples wanted; None: as they come.
        """
        ...

    def run(self, frame: Frame) -> Frame:
        """Return the result, times and side data carried over.

        Its planes now belong to the road, which may still read them many frames later: they are
        never written again. Writeable planes whose samples lie side by side go to the encoder as
        they are, others are copied. Planes given are read-only and may have a pitch.
        """
        ...

    def close(self) -> None:
        """Give back what `prepare` took; called once, also after an error before `prepare`.

        No `run` is under way then, unless one hangs.
        """
        ...


def outcome(step: Step, format: Format, frames: int) -> Format:
    """Return what the results of frames of `format` will be, but for their depth, before `prepare`.

    `frames`: so many will come, at least. InputError where the step cannot do these.
    """
    own = getattr(step, "outcome", None)
    found: Format = own(format, frames) if own else format.scaled(step.scale)
    return found


def lanes(step: Step) -> int:
    """Return how many frames a prepared step takes at once."""
    return max(1, getattr(step, "lanes", 1))


def device(step: object) -> str:
    """Return what a prepared step calls the device that it runs on."""
    return str(getattr(step, "device_name", "cpu"))
