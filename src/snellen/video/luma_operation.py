"""Protocols of what changes the luma of frames: see `region`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from snellen.frames.luma import Codes

Float32 = npt.NDArray[np.float32]


class LumaOperation(Protocol):
    """Changes planes of luma."""

    @property
    def device_name(self) -> str:
        """Name of the device that does the work."""
        ...

    def prepare(self, height: int, width: int) -> None:
        """Allocate and compile for planes of this shape."""
        ...

    def run(self, plane: Float32) -> Float32:
        """Return a changed plane: 0 is black, 1 is white; both planes may exceed 1."""
        ...

    def close(self) -> None:
        """Release what `prepare` took; called once, also without it."""
        ...


class PipelinedOperation(LumaOperation, Protocol):
    """An operation that begins planes before earlier ones are done."""

    @property
    def slots(self) -> int:
        """How many planes may be in flight; known after `prepare`."""
        ...

    def submit(self, plane: Float32) -> Callable[[], Float32]:
        """Begin a plane; return a function that waits for the changed one, as of `run`."""
        ...


class DeviceOperation(LumaOperation, Protocol):
    """An operation on a GPU that takes CuPy planes there, too, and returns CuPy planes for these.

    Its work on them is queued on CuPy's current stream, or is done when it returns.
    """

    @property
    def device(self) -> str:
        """The GPU, "cuda:N"; "cpu": it takes planes in host memory only."""
        ...


class CodeOperation(PipelinedOperation, Protocol):
    """An operation that also takes luma as it is, and returns it as it is to be.

    Then it converts samples as `samples` does, and results as `quantise`.
    """

    def prepare_codes(self, height: int, width: int, given: Codes, made: Codes) -> bool:
        """Prepare for code values instead of floats, where it can; return whether it can."""
        ...
