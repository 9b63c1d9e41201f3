"""Base of what changes the luma of frames: see `region`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from snellen.frames.luma import Codes
from snellen.frames.step import Traits

Float32 = npt.NDArray[np.float32]


class LumaOperation:
    """Changes planes of luma: `prepare`, `submit` for each, `close`.

    With a GPU as the device of its traits it takes CuPy planes there, too, and returns such for
    these: its work on them is queued on CuPy's current stream, or is done when it returns.
    """

    traits = Traits()
    """`slots`: how many planes may be in flight; known after `prepare`, as of steps."""

    def prepare(self, height: int, width: int) -> None:
        """Allocate and compile for planes of this shape."""
        raise NotImplementedError

    def prepare_codes(self, height: int, width: int, given: Codes, made: Codes) -> bool:
        """Prepare for code values instead of floats, where it can; return whether it can.

        Then it takes luma as it is, and returns it as it is to be: it converts samples as `samples`
        does, and results as `quantise`.
        """
        return False

    def run(self, plane: Float32) -> Float32:
        """Return a changed plane: 0 is black, 1 is white; both planes may exceed 1."""
        raise NotImplementedError

    def submit(self, plane: Float32) -> Callable[[], Float32]:
        """Begin a plane; return a function that waits for the changed one, as of `run`."""
        found = self.run(plane)
        return lambda: found

    def restart(self) -> None:
        """Forget the frames so far, as of steps."""

    def notes(self, first: int, count: int) -> bytes:
        """Return what was found in so many frames, as of steps."""
        return b""

    def close(self) -> None:
        """Release what `prepare` took; called once, also without it."""
