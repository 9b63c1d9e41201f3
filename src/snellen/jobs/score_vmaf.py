"""VMAF of the films of a scoring job, beside the other scores of each frame."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.jobs.score_step import ScoreStep
from snellen.mad.result import Score
from snellen.video import vmaf
from snellen.video.luma_reader import WHITE

Array = npt.NDArray[Any]


class VmafStep:
    """A comparison that gives the scores of a step, and takes the same frames for VMAF.

    Motion, by which VMAF counts, comes from the frames around each: all scores are there at the
    end, within the `with` block that the step is for.

    Parameters
    ----------
    step : ScoreStep
        For the other scores.

    Attributes
    ----------
    depths : (int, int)
        Bits of both films, set before `prepare`.
    """

    def __init__(self, step: ScoreStep) -> None:
        self._step = step
        self.depths = (8, 8)
        self._bits = 0
        self._stream: vmaf.Stream | None = None

    def __enter__(self) -> VmafStep:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._stream is not None:
            self._stream.close()

    @property
    def slots(self) -> int:
        """How many pairs `submit` keeps in flight."""
        return self._step.slots

    @property
    def device_name(self) -> str:
        """What the device calls itself."""
        return self._step.device_name

    def prepare(self, format: Format) -> Format:
        """Get ready for planes of a format, with VMAF in the depth of the deeper film."""
        self._bits = max(self.depths)
        prepared = self._step.prepare(format)
        try:
            self._stream = vmaf.Stream(Format(format.width, format.height, self._bits))
        except InputError as error:
            raise error.about(self._step.subject) from None
        return prepared

    def run(self, reference: Array, distorted: Array) -> Score:
        """Return the other scores of a pair."""
        score = self._step.run(reference, distorted)
        self._push(reference, distorted)
        return score

    def submit(self, reference: Array, distorted: Array) -> Callable[[], Score]:
        """Begin a pair; return a function that waits for its other scores."""
        wait = self._step.submit(reference, distorted)

        def score() -> Score:
            found = wait()
            self._push(reference, distorted)
            return found

        return score

    def _push(self, *planes: Array) -> None:
        assert self._stream is not None
        if planes[0].dtype.kind == "f":  # of different depths, and grey as `luma_reader` has it
            planes = tuple(
                np.rint(plane * (((1 << own) - 1) / WHITE)).astype(np.uint16) << (self._bits - own)
                for plane, own in zip(planes, self.depths, strict=True)
            )
        self._stream.push(*planes)

    def close(self) -> None:
        """End the other step."""
        self._step.close()

    def scores(self) -> list[float]:
        """Return VMAF of all pairs."""
        assert self._stream is not None
        return self._stream.finish()
