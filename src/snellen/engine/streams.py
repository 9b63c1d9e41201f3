"""The streams of engines on one GPU: see `engine`."""

from __future__ import annotations

import threading
from contextlib import suppress


class Streams:
    """Three streams of the current GPU, and the lock under which a frame is queued on them.

    Engines that share scratch arrays share their streams: give the streams of one to the other.
    `unused` makes them, not the class itself.

    Attributes
    ----------
    up, compute, down : cupy.cuda.Stream
        For uploads, for kernels and for downloads. None waits for the default stream.
    lock : RLock
        Held by the thread that queues a frame, or anything else that uses the scratch arrays.
    """

    def __init__(self) -> None:
        import cupy

        self.up, self.compute, self.down = (cupy.cuda.Stream(non_blocking=True) for _ in range(3))
        self.lock = threading.RLock()  # an engine that the garbage collector finds closes itself
        self._free: list[Streams] = []

    @classmethod
    def unused(cls, ordinal: int) -> Streams:
        """Return streams of this GPU that were given back, as by a closed engine, or new ones.

        What was allocated on the compute stream stays in CuPy's free list of that stream: a later
        engine finds it there only where it has the same stream.
        """
        free = _unused.setdefault(ordinal, [])
        try:
            streams = free.pop()
        except IndexError:
            streams = cls()
        streams._free = free
        _lent.add(streams)
        return streams

    def give_back(self) -> None:
        """Let a later engine of this GPU have the streams; called once."""
        self._free.append(self)
        _lent.discard(self)

    def apart(self) -> list[Streams]:
        """Return one for each of these streams, for engines that share no scratch arrays.

        Frames of one engine are then uploaded, computed and downloaded on one stream, beside those
        of the others: more streams than a GPU has queues would wait for each other.
        """
        found = []
        for stream in (self.up, self.compute, self.down):
            one = Streams.__new__(Streams)
            one.up = one.compute = one.down = stream
            one.lock, one._free = threading.RLock(), []
            found.append(one)
        return found

    def settle(self) -> None:
        """Wait until all that is queued is done, whatever went wrong."""
        for stream in (self.up, self.compute, self.down):
            with suppress(Exception):
                stream.synchronize()


_unused: dict[int, list[Streams]] = {}
"""Streams that were given back, by the GPU: never more than were in use at once."""
_lent: set[Streams] = set()
"""Streams in use. CuPy destroys a stream in its `__del__`, and the garbage collector calls that for
all objects of a cycle, in any order: were they only the engine's, it would use them after that."""
