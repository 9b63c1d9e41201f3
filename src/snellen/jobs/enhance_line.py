"""Steps of an enhancement in a row, and what the pictures are at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.video.filtering.crop import Area
    from snellen.video.filtering.side_files import SideFiles
    from snellen.video.media import MediaInfo, PictureInfo
    from snellen.video.step import RateStep, Step


class Line:
    """Steps that follow one another, and what the pictures are that the last one gives.

    Parameters
    ----------
    info : MediaInfo
        Of the input.
    say : callable
        Takes what users may want to know.
    device : str
        "cpu" or "cuda:N", where the work is to be done.
    area : callable, optional
        Returns the part of the pictures inside black bars; None: there are none.
    files : SideFiles, optional
        Takes what filters write into files; None: nobody does, as in a dry run.

    Attributes
    ----------
    info : MediaInfo
        As if the results of the last step were the input.
    film : MediaInfo
        Of the input, as it was given.
    steps : list of Step or RateStep
    """

    def __init__(
        self,
        info: MediaInfo,
        say: Callable[[str], None],
        device: str = "cpu",
        area: Callable[[], Area | None] | None = None,
        files: SideFiles | None = None,
    ) -> None:
        self.info = self.film = info
        self.say, self.device, self.area, self.files = say, device, area, files
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
