"""The threads of the road: decoding and encoding beside the step, and how they end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

import av

from snellen.errors import OutputError
from snellen.video.channel import Channel, Stopped, join
from snellen.video.passthrough.streams import Copier
from snellen.video.pipes import Outgoing
from snellen.video.progress import Meter
from snellen.video.sink.encode import Plan, Sink
from snellen.video.sink.output import Place
from snellen.video.source.decode import Parcel, Source
from snellen.video.source.open import reason
from snellen.video.step import Step
from snellen.video.workers import Lanes

_DEPTH = 4
"""Frames that wait between two threads: enough to smooth, few enough for 4K."""
_PATIENCE = 10.0
"""Seconds to wait, after an error, for a thread that may be inside a stream of somebody's."""


def travel(
    road: Source,
    plan: Plan,
    copier: Copier,
    step: Step,
    place: Place,
    file: Path | Outgoing,
    meter: Meter,
) -> int:
    """Run the three stages until the last frame is written; return how many there were."""
    sink = _opened(file, place, plan, road, copier)
    decoded: Channel[Parcel] = Channel(_DEPTH)
    stepped: Channel[Parcel] = Channel(_DEPTH)
    stages = [
        threading.Thread(target=_decode, args=(road, decoded), daemon=True, name="decode"),
        threading.Thread(
            target=_encode, args=(sink, stepped, decoded, place), daemon=True, name="encode"
        ),
    ]
    try:
        for stage in stages:
            stage.start()
        with _stepping(step, decoded) as parcels:
            for parcel in parcels:
                stepped.put(parcel)
                if parcel.frame is not None:
                    meter.count()
        stepped.close()
        join(stages)
        stepped.check()
    except BaseException:
        decoded.stop()
        stepped.stop()
        _give_up(road, sink, file, stages)
        raise
    return sink.written


def run_dry(road: Source, step: Step, meter: Meter) -> int:
    """Run decoder and step, let go of each result; return how many there were."""
    decoded: Channel[Parcel] = Channel(_DEPTH)
    stage = threading.Thread(target=_decode, args=(road, decoded), daemon=True, name="decode")
    frames = 0
    try:
        stage.start()
        with _stepping(step, decoded) as parcels:
            for parcel in parcels:
                if parcel.frame is not None:
                    frames += 1
                    meter.count()
        join([stage])
    except BaseException:
        decoded.stop()
        road.stop()
        road.busy = not join([stage], _PATIENCE)
        raise
    return frames


@contextmanager
def _stepping(step: Step, decoded: Channel[Parcel]) -> Iterator[Iterator[Parcel]]:
    """Yield what comes out of the step, in order; afterwards none of it is under way."""
    count = step.slots
    if count == 1:  # here, in the calling thread: that is where Ctrl-C arrives
        yield (
            parcel if parcel.frame is None else replace(parcel, frame=step.run(parcel.frame))
            for parcel in decoded
        )
        return
    with Lanes(step.run, count, decoded, _PATIENCE) as parcels:
        yield iter(parcels)


def _opened(file: Path | Outgoing, place: Place, plan: Plan, road: Source, copier: Copier) -> Sink:
    try:
        return Sink(cast("Path | BinaryIO", file), place.muxer, plan, road, copier)
    except (av.FFmpegError, OSError) as error:
        if isinstance(file, Outgoing):
            file.check()
        raise _unwritable(place, error) from error


def _give_up(
    road: Source, sink: Sink, file: Path | Outgoing, stages: list[threading.Thread]
) -> None:
    """End the threads, or leave those alone that hang in a stream; two at one would crash."""
    road.stop()
    if isinstance(file, Outgoing):
        file.stop()
    road.busy = not join(stages[:1], _PATIENCE)
    # With a file the encoder does end, however long its last frames take.
    if join(stages[1:], None if isinstance(file, Path) else _PATIENCE):
        sink.abandon()
    else:
        road.busy = True  # what is copied comes from there


def _unwritable(place: Place, error: Exception) -> OutputError:
    return OutputError(f"{place.name} could not be written: {reason(error)}")


def _decode(road: Source, out: Channel[Parcel]) -> None:
    try:
        for parcel in road.parcels():
            out.put(parcel)
        out.close()
    except Stopped:
        pass
    except BaseException as error:
        out.stop(error)


def _encode(sink: Sink, parcels: Channel[Parcel], decoded: Channel[Parcel], place: Place) -> None:
    """Write what comes; an error ends the work at once, even where it waits for the decoder."""
    try:
        for parcel in parcels:
            sink.write(parcel)
        sink.finish()
    except Stopped:
        pass
    except (av.FFmpegError, OSError) as error:
        told = _unwritable(place, error)
        told.__cause__ = error
        parcels.stop(told)
        decoded.stop(told)
    except BaseException as error:
        parcels.stop(error)
        decoded.stop(error)
