"""What is done to a film's frames before and after they are enlarged: options, and their steps.

The order is fixed::

    decoder → crop → vf → deblock → denoise → deblur → upscaling → sharpen → deband → lut
            → post_vf → grain → encoder

`steps_before` and `steps_after` make the steps, each option's in one place there.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from snellen.frames.brief import Brief
from snellen.jobs.fields import check_types
from snellen.jobs.serial import chosen

if TYPE_CHECKING:
    from snellen.video.convert import LateStep
    from snellen.video.media import MediaInfo, PictureInfo
    from snellen.video.step import RateStep, Step

    Making = Callable[[MediaInfo], tuple[Step | RateStep, MediaInfo]]


@dataclass(frozen=True, slots=True, repr=False)
class Enhancement(Brief):
    """What is done to a film's frames beside enlarging them; the default is nothing.

    Raises
    ------
    InputError
        Values that do not exist; `error.parameter` names one.
    """

    crop: str | None = None
    """The part of each picture that is worked on, W:H:X:Y in pixels; None: all of it."""

    def __post_init__(self) -> None:
        from snellen.video.filtering.crop import area

        check_types(self)
        if self.crop is not None:
            area(self.crop, "crop")

    def named(self) -> tuple[str, ...]:
        """Return the parameters that differ from their defaults."""
        return tuple(chosen(self))

    def __bool__(self) -> bool:
        """Return whether there is anything to do."""
        return self != Enhancement()


class Line:
    """Steps that follow one another, and what the pictures are that the last one gives.

    Parameters
    ----------
    info : MediaInfo
        Of the input.
    say : callable
        Takes what users may want to know.

    Attributes
    ----------
    info : MediaInfo
        As if the results of the last step were the input.
    steps : list of Step or RateStep
    """

    def __init__(self, info: MediaInfo, say: Callable[[str], None]) -> None:
        self.info, self.say = info, say
        self.steps: list[Step | RateStep] = []

    def add(self, step: Step | RateStep, picture: PictureInfo | None = None) -> None:
        """Append a step.

        Parameters
        ----------
        step : Step or RateStep
        picture : PictureInfo, optional
            What its results state of themselves, whatever their format; None: what they did before.
        """
        from snellen.video.chain import rate_of, ticks_of

        self.steps.append(step)
        info = self.info
        format = step.outcome(info.picture.format, info.least_frames)
        self.info = replace(
            info,
            picture=replace(picture or info.picture, format=format),
            time_base=info.time_base / ticks_of(step),
            rate=info.rate * rate_of(step),
            frames=None if info.frames is None else int(info.frames * rate_of(step)),
            least_frames=int(info.least_frames * rate_of(step)),
        )


def steps_before(options: Enhancement, line: Line) -> None:
    """Add the steps before the frames are enlarged."""
    from snellen.video.filtering.crop import Crop, area

    if options.crop is not None:
        line.add(Crop(area(options.crop, "crop")))


def steps_after(options: Enhancement, line: Line) -> None:
    """Add the steps after the frames have been enlarged."""


def enhanced(options: Enhancement, enlarging: Making, say: Callable[[str], None]) -> LateStep:
    """Return the step that enhances and enlarges a film.

    Parameters
    ----------
    options : Enhancement
    enlarging : callable
        As `LateStep.make`: makes the step that enlarges.
    say : callable
        Takes what users may want to know.
    """
    from snellen.video.chain import Chain
    from snellen.video.convert import LateStep

    def make(info: MediaInfo) -> tuple[Step | RateStep, MediaInfo]:
        line = Line(info, say)
        with ExitStack() as stack:
            stack.callback(lambda: [step.close() for step in reversed(line.steps)])
            steps_before(options, line)
            step, stated = enlarging(line.info)
            line.add(step, stated.picture)
            steps_after(options, line)
            stack.pop_all()
        picture = replace(line.info.picture, format=info.picture.format)
        return Chain(*line.steps), replace(info, picture=picture)

    return LateStep(make)
