"""One film's luma, read ahead in a thread of its own: frames by their number, all of them counted.

Nothing is sought: a frame's number is only sure when all before it have been decoded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.frame import Plane
from snellen.video.channel import Channel, Stopped, join
from snellen.video.source.decode import Source

_DEPTH = 4
"""Frames that wait: enough to smooth, few enough for 4K."""
_PATIENCE = 10.0
"""Seconds to wait, at an end before the end, for a thread that may be inside a stream."""

WHITE = 255.0
"""Of `grey`."""


@dataclass(frozen=True, slots=True)
class Luma:
    """One frame, without its chroma."""

    number: int
    """From 0 at the film's first frame."""
    time: Fraction
    """Seconds from the film's beginning."""
    plane: npt.NDArray[Any]
    """Read-only, may have a pitch."""


class Lumas:
    """Frames `first`, `first` + `every` … of a film; iterating gives them until the film ends.

    Attributes
    ----------
    frames : how many there were so far, whether or not they were handed on
    """

    def __init__(
        self,
        film: Source,
        first: int,
        every: int,
        changed: Callable[[Plane], npt.NDArray[Any]] | None = None,
    ) -> None:
        self.film = film
        self.first = first
        self.frames = 0
        self._every = every
        self._changed = changed
        self._idle = False
        self._channel: Channel[Luma] = Channel(_DEPTH)
        self._thread = threading.Thread(target=self._decode, daemon=True, name="decode")

    def start(self) -> None:
        """Begin to read."""
        self.film.busy = True  # until it is sure that the thread has ended
        self._thread.start()

    def __iter__(self) -> Iterator[Luma]:
        return iter(self._channel)

    def finish(self) -> None:
        """Read to the film's end, only to count its frames and find what is damaged."""
        self._idle = True
        for _ in self._channel:
            pass
        join([self._thread])

    def stop(self) -> None:
        """Read no more; does not wait for the thread."""
        self._channel.stop()
        self.film.stop()

    def wait(self) -> None:
        """Wait for the thread to end; one that hangs in a stream keeps its film."""
        self.film.busy = self._thread.ident is not None and not join([self._thread], _PATIENCE)

    def _decode(self) -> None:
        try:
            for parcel in self.film.parcels():
                if parcel.frame is None:
                    continue
                number, self.frames = self.frames, self.frames + 1
                if self._idle or number < self.first or (number - self.first) % self._every:
                    continue
                plane: npt.NDArray[Any] = parcel.frame.planes[0]
                if self._changed is not None:
                    plane = self._changed(plane)
                self._channel.put(Luma(number, parcel.frame.pts * self.film.time_base, plane))
            self._channel.close()
        except Stopped:
            pass
        except BaseException as error:
            self._channel.stop(error)


def grey(plane: npt.NDArray[Any], bits: int) -> npt.NDArray[np.float64]:
    """Return samples of `bits` as grey 0 … 255, which any depth can be compared on."""
    return plane * (WHITE / ((1 << bits) - 1))
