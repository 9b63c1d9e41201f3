"""The pipeline's threads: one reads the source, one writes the output; and how they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import av

from snellen.errors import OutputError
from snellen.frames.frame import Format, Frame
from snellen.frames.step import Step
from snellen.video.channel import PATIENCE, Channel, Stopped, Thread, depth, join
from snellen.video.ffmpeg import reason
from snellen.video.media import Item, SourceReport, Written
from snellen.video.pipes import Outgoing
from snellen.video.progress import Meter
from snellen.video.ready import Ready
from snellen.video.sink.animation import AnimationSink
from snellen.video.sink.output import PICTURES
from snellen.video.sink.pictures import PictureSink
from snellen.video.sink.sink import Sink
from snellen.video.source.decode import Source
from snellen.video.source.thread import SourceThread
from snellen.video.steps.chain import through


class AnySink(Protocol):
    """A sink takes results: an open output, or a segment of one; from one thread at a time."""

    @property
    def written(self) -> int:
        """Frames so far."""
        ...

    @property
    def refused(self) -> int:
        """Packets so far that the container did not take."""
        ...

    @property
    def damage(self) -> tuple[str, ...]:
        """Damage of streams that were encoded anew."""
        ...

    def write(self, item: Item) -> None:
        """Take an item."""
        ...

    def finish(self) -> None:
        """Write what is left, and close the file."""
        ...

    def abandon(self) -> None:
        """Close the file; its contents are incomplete."""
        ...


def run_pipeline(ready: Ready, file: Path | Outgoing, meter: Meter) -> Written:
    """Read, run the step and write until the last frame; the step runs in the calling thread."""
    source, plan = ready.source, ready.plan
    sink = _open_sink(ready, file)
    report = run_between(
        source, partial(source.items, plan.alpha), ready.step, sink, plan.format,
        ready.output.name, file, meter,
    )  # fmt: skip
    return Written(sink.written, sink.refused, sink.damage, report)


def run_between(
    source: Source,
    read: Callable[[], Iterator[Item]],
    step: Step,
    sink: AnySink,
    result: Format,
    name: str,
    file: Path | Outgoing,
    meter: Meter,
    kept: Callable[[Frame], bool] = lambda frame: True,
) -> SourceReport:
    """Run the step on what `read` gives of a source, and write into a sink that is open.

    `result` is the format of the step's results, of which those are written that `kept` says;
    `name` is that of the output, for messages. The report is that of the last item.
    """
    reader = SourceThread(source, read)
    results: Channel[Item] = Channel(depth(result))
    writer = Thread(partial(_write, sink, results, reader.channel, name), "encode")
    try:
        reader.start()
        writer.start()
        report = None
        with through(step, reader, reader.channel.stop, PATIENCE) as items:
            for item in items:
                if item.frame is not None and not kept(item.frame):
                    item = replace(item, frame=None)
                results.put(item)
                report = item.report
                if item.frame is not None:
                    meter.count()
        results.close()
        reader.join()
        join([writer])
        results.check()
    except BaseException:
        results.stop()
        reader.stop()
        if isinstance(file, Outgoing):
            file.stop()
        reader.join(PATIENCE)
        # With a file the encoder does end, however long its last frames take.
        if join([writer], None if isinstance(file, Path) else PATIENCE):
            sink.abandon()
        else:
            source.busy = True  # the writer still uses packets of the source
        raise
    assert report is not None  # the last item has it
    return report


def run_dry(
    source: Source,
    step: Step,
    meter: Meter,
    read: Callable[[], Iterator[Item]] | None = None,
    take: Callable[[Frame], None] | None = None,
) -> int:
    """Read and run the step, write nothing; return how many results there were.

    `read` gives what is read of the source, all by default. `take` is called with each result, in
    the calling thread.
    """
    reader = SourceThread(source, read or source.items)
    frames = 0
    try:
        reader.start()
        with through(step, reader, reader.channel.stop, PATIENCE) as items:
            for item in items:
                if item.frame is not None:
                    frames += 1
                    if take is not None:
                        take(item.frame)
                    meter.count()
        reader.join()
    except BaseException:
        reader.stop()
        reader.join(PATIENCE)
        raise
    return frames


def _open_sink(ready: Ready, file: Path | Outgoing) -> AnySink:
    plan, output, info = ready.plan, ready.output, ready.source.info
    if output.muxer == PICTURES and isinstance(file, Path):
        return PictureSink(file, output.pattern, plan, info, ready.quality)
    try:
        if output.is_rgb and isinstance(file, Path):
            return AnimationSink(file, output.suffix, plan, info, ready.quality)
        return Sink(cast("Path | BinaryIO", file), output.muxer, plan, info, ready.copier)
    except (av.FFmpegError, OSError) as error:
        if isinstance(file, Outgoing):
            file.check()
        raise _unwritable(output.name, error) from error


def _write(
    sink: AnySink,
    items: Channel[Item],
    decoded: Channel[Item],
    name: str,
) -> None:
    """Write all items; an error ends the work at once, even where it waits for the decoder."""
    try:
        for item in items:
            sink.write(item)
        sink.finish()
    except Stopped:
        pass
    except (av.FFmpegError, OSError) as error:
        wrapped = _unwritable(name, error)
        wrapped.__cause__ = error
        items.stop(wrapped)
        decoded.stop(wrapped)
    except BaseException as error:
        items.stop(error)
        decoded.stop(error)


def _unwritable(name: str, error: Exception) -> OutputError:
    return OutputError(f"{name} could not be written: {reason(error)}")
