"""Reads a source ahead in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import copy_context
from functools import partial
from typing import Generic, TypeVar

from snellen.video.channel import Channel, Stopped, Thread, depth, join
from snellen.video.source.decode import Source

T = TypeVar("T")


class SourceThread(Generic[T]):
    """A thread that reads a source; iterating gives what it reads.

    Parameters
    ----------
    source : Source
    items : callable
        Returns the iterator that the thread runs.

    Attributes
    ----------
    channel : Channel
        Carries the items; whoever stops it ends the thread.
    """

    def __init__(self, source: Source, items: Callable[[], Iterator[T]]) -> None:
        self._source = source
        self._items = items
        self.channel: Channel[T] = Channel(depth(source.info.picture.format))
        # The limits of pictures belong to the context.
        run = partial(copy_context().run, self._read)
        self._thread = Thread(run, "decode")

    def start(self) -> None:
        """Begin to read."""
        self._source.busy = True  # until the thread has ended for certain
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return iter(self.channel)

    def stop(self) -> None:
        """Read no more; does not wait for the thread."""
        self.channel.stop()
        self._source.stop()

    def join(self, patience: float | None = None) -> None:
        """Wait for the thread; if it hangs for longer than `patience`, the source stays open."""
        started = self._thread.ident is not None
        self._source.busy = started and not join([self._thread], patience)

    def _read(self) -> None:
        try:
            for item in self._items():
                self.channel.put(item)
            self.channel.close()
        except Stopped:
            pass
        except BaseException as error:
            self.channel.stop(error)
        finally:
            del self._items  # it may own this object: its decoder's threads end without a collector
