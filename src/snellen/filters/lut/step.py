"""A step that sends the colours of frames through a LUT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

from snellen.engine.prepared import retried
from snellen.errors import InputError
from snellen.filters.lut import cpu, cuda
from snellen.filters.lut.cube import Cube, load
from snellen.filters.lut.planes import Planes
from snellen.frames.coding import Matrix
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Step, Traits, Unchanged
from snellen.gpu import device as devices
from snellen.gpu import profile
from snellen.process import Holder, Home

_SUBSAMPLINGS = ((0, 0), (1, 0), (0, 1), (1, 1))
"""4:4:4, 4:2:2, 4:4:0, 4:2:0."""
_DEPTHS = range(8, 17)


class LutStep(Holder, Step):
    """Send each pixel's colour through a look-up table.

    Red, green and blue are float32 from the code values to the code values: luma and chroma (see
    `planes`) of the film's matrix and range become colours, which the table maps by tetrahedral
    interpolation (linear with a 1D table), and these become luma and chroma of the same matrix and
    range, rounded once.

    Parameters
    ----------
    cube : Cube or Path
        The table, or its file.
    matrix : Matrix
        Of the film, see `frames.coding.matrix_of`.
    device : str
        "cpu" or "cuda:N".
    say : callable, optional
        Called by `close` with a sentence, where colours were clipped.

    Raises
    ------
    InputError
        At once, where the file is no LUT.
    """

    _what = "this LutStep"

    def __init__(
        self,
        cube: Cube | Path,
        matrix: Matrix,
        device: str = "cpu",
        say: Callable[[str], object] | None = None,
    ) -> None:
        self.cube = load(cube) if isinstance(cube, Path) else cube
        self.matrix, self.device = matrix, device
        slots = (cpu.Backend if device == "cpu" else cuda.Backend).slots
        self.traits = Traits(slots, device, devices.name(device), counts=True, label="lut")
        self._say, self._home = say, Home(self._what)
        self._backend: cpu.Backend | cuda.Backend | None = None
        self._frames, self._area = count(), 0
        self._counted = self._taken = (0, 0)

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        if format.subsampling is None:
            raise InputError(
                "got a film of luma only; a LUT expects colours",
                parameter="lut",
                advice="`vf`=format=yuv444p gives it chroma",
            )
        if format.subsampling not in _SUBSAMPLINGS:
            raise InputError(
                "got a film with less chroma than 4:2:0 or 4:2:2; a LUT expects one of these, or "
                "4:4:4",
                parameter="lut",
                advice="`vf`=format=yuv422p gives it more",
            )
        if format.bits not in _DEPTHS:
            raise InputError("got float samples; a LUT expects 8 to 16 bits", parameter="lut")
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        target = replace(self.outcome(format, 0), bits=format.bits if bits is None else bits)
        if target.bits not in _DEPTHS:
            raise InputError("got `bits`=0; a LUT gives 8 to 16 bits", parameter="bits")
        self._release()
        planes = Planes(self.cube, self.matrix, format, target)
        if self.device == "cpu":
            if on_device:
                raise InputError("this LutStep works on the CPU", parameter="on_device")
            self._backend = cpu.Backend(planes)
        else:
            with profile.paused():
                self._backend = retried(
                    self.device, lambda: cuda.Backend(planes, self.device, on_device=on_device)
                )
        self._home, self._frames = Home(self._what), count()
        self._area, self._taken = format.width * format.height, (0, 0)
        return target

    def run(self, frame: Frame) -> Frame:
        """Return the frame with other colours, in new planes."""
        assert self._backend is not None
        self._home.check()
        next(self._frames)
        return self._backend.run(frame)

    def alpha(self) -> Unchanged:
        """Return a step for the alpha channel of such frames, which has no colours."""
        return Unchanged()

    def take_tally(self) -> tuple[int, int]:
        """Return how many pixels had colours that were clipped, of how many, and forget them.

        No frame is under way.
        """
        found, self._counted = _sum(self._counted, self._since()), (0, 0)
        return found

    def add_tally(self, clipped: int, pixels: int) -> None:
        """Count pixels that were taken from here, or from such a step in another process."""
        self._counted = _sum(self._counted, (clipped, pixels))

    def close(self) -> None:
        """Give back threads and buffers, and say what was clipped."""
        self._release()
        (clipped, pixels), self._counted = self._counted, (0, 0)
        if clipped and self._say is not None:
            self._say(
                f"the LUT: colours of {share(clipped / pixels)} of the pixels lie beyond "
                "the ends of its table, or its results beyond the code values, and were clipped"
            )

    def _since(self) -> tuple[int, int]:
        """Return what the backend has counted since the last call."""
        if self._backend is None:
            return 0, 0
        frames = next(self._frames)
        self._frames = count(frames)
        now = self._backend.clipped(), self._area * frames
        before, self._taken = self._taken, now
        return now[0] - before[0], now[1] - before[1]

    def _release(self) -> None:
        """Close the backend."""
        backend = self._backend
        if backend is None or self._home.keep(backend):
            self._backend = None
            return
        self._counted = _sum(self._counted, self._since())
        self._backend = None
        backend.close()


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def share(part: float) -> str:
    """Return a part of 1 in percent, as "3.2 %"."""
    return "less than 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"
