"""Protocol of what compares two videos, pair by pair: see `compare`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from snellen.frames.frame import Format
from snellen.metrics.colours import Picture

T_co = TypeVar("T_co", covariant=True)


class Comparison(Protocol[T_co]):
    """Compares the luma of two videos."""

    depths: tuple[int, int]
    """Bits of the samples of reference and distorted video; set before `prepare`."""
    colours: str
    """Names of metrics that look at colours, which are of SDR; empty: none does."""
    fitted_to_sdr: str
    """Names of metrics that take HDR, but were fitted to SDR; empty: none was."""
    whole: bool
    """True: `submit` gets pictures, too."""
    rate: Fraction
    """Frames a second of the reference; set before `prepare`."""
    reach: int
    """How many pairs before and after each that is compared are given to `see`."""

    @property
    def slots(self) -> int:
        """How many pairs may be in flight; known after `prepare`."""
        ...

    @property
    def device_name(self) -> str:
        """Name of the device that does the work, for messages."""
        ...

    def prepare(self, format: Format) -> Format:
        """Allocate and compile for pairs of luma planes of `format`; return `format`.

        With `format.bits` 0 the planes are float64, and `format.white` is the value of white.
        """
        ...

    def submit(
        self,
        reference: npt.NDArray[Any],
        distorted: npt.NDArray[Any],
        *pictures: Picture,
    ) -> Callable[[], T_co]:
        """Begin a pair; return a function that waits for its result and returns it.

        Planes are read-only and may have a pitch; with `whole` the two frames follow, with their
        chroma. The caller keeps at most `slots` pairs in flight,
        keeps both planes unchanged until the function has returned, and calls the functions in the
        order of the pairs, in the thread that calls `submit`.
        """
        ...

    def see(
        self,
        reference: npt.NDArray[Any],
        distorted: npt.NDArray[Any],
        *pictures: Picture,
    ) -> None:
        """Take a pair that is not compared, in its place among those that are."""
        ...

    def close(self) -> None:
        """Release what `prepare` took; called once, also after an error before `prepare`.

        Pairs may still be in flight then, after an error: wait for their work first.
        """
        ...
