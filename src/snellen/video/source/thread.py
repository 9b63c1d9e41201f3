"""Sources that are read ahead in a thread, and those whose frames have gone through a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from snellen.frames.step import Step
from snellen.video.channel import PATIENCE, Channel, Stopped, Thread, depth, join
from snellen.video.clip import Clip
from snellen.video.media import Item, MediaInfo
from snellen.video.source.decode import Source
from snellen.video.steps.chain import through

T = TypeVar("T")


class SourceThread(Generic[T]):
    """A thread that runs the iterator which `items` returns; iterating gives what it reads.

    Its `channel` carries the items; whoever stops that ends the thread.
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


class SteppedSource(Source):
    """An open input, and a step that its frames go through.

    `make` returns the step, and the description of its results, from that of the input.
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
