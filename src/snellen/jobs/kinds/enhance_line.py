"""Steps of an enhancement in a row, and what the pictures are at its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snellen.frames.step import Step
    from snellen.video.filtering.crop import Area
    from snellen.video.filtering.side_files import SideFiles
    from snellen.video.media import MediaInfo, PictureInfo


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
    steps : list of Step
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
        self.steps: list[Step] = []

    def close(self) -> None:
        """Close the steps, the last one first."""
        for step in reversed(self.steps):
            step.close()

    def add(self, step: Step, picture: PictureInfo | None = None) -> None:
        """Append a step.

        Parameters
        ----------
        step : Step
        picture : PictureInfo, optional
            What its results state of themselves, whatever their format; None: what they did before.
        """
        self.steps.append(step)
        info = self.info
        format, traits = step.outcome(info.picture.format, info.least_frames), step.traits
        self.info = replace(
            info,
            picture=replace(picture or info.picture, format=format),
            time_base=info.time_base / traits.ticks,
            rate=info.rate * traits.rate,
            frames=None if info.frames is None else int(info.frames * traits.rate),
            least_frames=int(info.least_frames * traits.rate),
        )
