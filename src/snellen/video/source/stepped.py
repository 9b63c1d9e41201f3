"""A source whose frames have gone through a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from snellen.frames.step import Step
from snellen.video.channel import PATIENCE
from snellen.video.clip import Clip
from snellen.video.media import Item, MediaInfo
from snellen.video.source.decode import Source
from snellen.video.steps.chain import through


class SteppedSource(Source):
    """An open input, and a step that its frames go through.

    Parameters
    ----------
    source : Path
        A video file.
    clip : Clip
        Which part of it.
    decoder : str
        As of `Source`.
    make : callable
        Returns the step, and the description of its results; called with that of the input.
    """

    def __init__(
        self,
        source: Path,
        clip: Clip,
        decoder: str,
        make: Callable[[MediaInfo], tuple[Step, MediaInfo]],
    ) -> None:
        self._step: Step | None = None
        super().__init__(source, clip, decoder)
        try:
            given = self.info.picture.format
            self._step, info = make(self.info)
            format = self._step.prepare(given)
            self.info = replace(info, picture=replace(info.picture, format=format))
        except BaseException:
            self.close()
            raise

    def items(self, alpha: bool = False) -> Iterator[Item]:
        """Yield the step's results, as `Source.items`; without an alpha channel."""
        assert self._step is not None
        with through(self._step, super().items(), self.stop, PATIENCE) as flow:
            yield from flow

    def close(self) -> None:
        """Close the step and the container; the planes of frames stay valid."""
        if not self.busy and self._step is not None:
            self._step.close()
        super().close()
