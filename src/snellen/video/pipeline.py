"""The road: decode → step → encode, each in its own thread, bounded queues between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import av

from snellen.errors import InputError, OutputError
from snellen.frame import Format, Frame
from snellen.video import pixels
from snellen.video.channel import Channel, Stopped, join
from snellen.video.clip import Clip
from snellen.video.decode import Parcel, Source
from snellen.video.encode import Plan, Sink
from snellen.video.encoders import Encoding, choose
from snellen.video.hdr import scaled
from snellen.video.pipes import Outgoing
from snellen.video.place import Place
from snellen.video.progress import Meter, Progress
from snellen.video.source import reason
from snellen.video.streams import Copier
from snellen.video.tags import lost_time_code, video_tags
from snellen.video.trial import lost_by

_DEPTH = 4
"""Frames that wait between two threads: enough to smooth, few enough for 4K."""
_PATIENCE = 10.0
"""Seconds to wait, after an error, for a thread that may be inside a stream of somebody's."""

__all__ = ["Clip", "Encoding", "Progress", "Step", "Summary", "convert"]


class Step(Protocol):
    """What the road knows of a method."""

    scale: int
    """How many times wider and higher the results are."""

    def prepare(self, format: Format, bits: int | None = None) -> Format:
        """Allocate and compile for frames of `format`; return the format of the results.

        `bits` is the depth of the samples wanted; None: as they come.
        """
        ...

    def run(self, frame: Frame) -> Frame:
        """Return the result, times and side data carried over.

        Its planes now belong to the road, which may still read them many frames later: they are
        never written again. Planes given are read-only and may have a pitch.
        """
        ...

    def close(self) -> None:
        """Give back what `prepare` took; called once, also after an error before `prepare`."""
        ...


@dataclass(frozen=True, slots=True)
class Summary:
    """What was done."""

    frames: int
    seconds: float
    """Of work."""
    width: int
    height: int
    encoder: str
    pixel_format: str
    """Of the output; FFmpeg's names."""
    source: str
    """The input's pictures, e.g. '1920×1080 4:2:0 8 bit'."""
    result: str
    """The output's."""
    warnings: tuple[str, ...]
    """What was changed or could not be carried."""
    lost: tuple[str, ...]
    """What was damaged or missing in the input; empty when it was whole."""
    dropped: tuple[str, ...]
    """What the output cannot hold: streams, tags, chapters, rotation, HDR, alpha …"""


def convert(
    source: Path | BinaryIO,
    target: Path | BinaryIO,
    step: Step,
    *,
    clip: Clip | None = None,
    encoding: Encoding | None = None,
    strict: bool = False,
    overwrite: bool = False,
    on_warning: Callable[[str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Summary:
    """Send every frame of `source` through `step` into `target`; copy all the rest.

    Parameters
    ----------
    source : a video file, or a binary stream of y4m
    target : a file (.mp4, .mkv, .mov, .y4m), or a binary stream for y4m
    step : prepared, run for each frame and closed by this function
    clip : which part; None: all of it
    encoding : None: libx264, or libx265 above 10 bit, with nearly no visible loss
    strict : whether anything that cannot be carried is an error, before work starts
    overwrite : whether a file called `target` is replaced
    on_warning : called with each of `Summary.warnings`, most of them before work starts
    on_progress : called after each frame, in the calling thread

    Returns
    -------
    Summary
        `lost` is empty unless the input was damaged; then all that could be decoded is written.

    Raises
    ------
    InputError
        Wrong use or an unusable input.
    OutputError
        The result could not be written. After any error there is no output, and a file that was
        there before is as it was.
    """
    began = time.monotonic()
    tell = on_warning or (lambda text: None)
    with ExitStack() as stack:
        stack.callback(step.close)
        place = Place(target, source, overwrite)
        road = stack.enter_context(closing(Source(source, clip or Clip())))
        scale = step.scale
        plan, copier, losses, notes = _plan(road, place, encoding or Encoding(), strict, scale)
        warnings = (*losses, *notes)
        for warning in warnings:
            tell(warning)
        plan = _prepared(plan, step)
        meter = Meter(road.total(), on_progress)
        with place.writing() as file:
            out = file if isinstance(file, Path) else Outgoing(file)
            frames = _travel(road, plan, copier, step, place, out, meter)
        late = _time_notes(road, place.muxer)
        for warning in late:
            tell(warning)
        return Summary(
            frames=frames,
            seconds=time.monotonic() - began,
            width=plan.format.width,
            height=plan.format.height,
            encoder=plan.encoder.codec,
            pixel_format=plan.encoder.pixels.name,
            source=pixels.words(road.look.format),
            result=pixels.words(plan.format),
            warnings=(*warnings, *late),
            lost=road.damage.words(),
            dropped=losses,
        )


def _plan(
    road: Source, place: Place, encoding: Encoding, strict: bool, scale: int
) -> tuple[Plan, Copier, tuple[str, ...], tuple[str, ...]]:
    """Decide how everything is written, and what that costs: losses, then notes.

    The encoder is asked about pictures `scale` times larger, before the step does any work.
    """
    look, stream = road.look, road.stream
    encoder = choose(look, place.muxer, encoding)
    copier = Copier(road, place.muxer, place.suffix)
    numbered = place.muxer == "yuv4mpegpipe"
    base = 1 / road.rate if numbered else road.time_base
    metadata = video_tags(road, place.muxer)
    plan = Plan(encoder, look.format, look, base, numbered, road.rate, metadata,
                stream.disposition, stream.index)  # fmt: skip
    large = replace(plan, format=look.format.scaled(scale))
    lost = lost_by(large, road, place.muxer, place.suffix)
    losses = (*look.losses, *encoder.losses, *copier.losses, *lost, *lost_time_code(road))
    if strict and losses:
        raise InputError(f"{road.name}: strict, and this would be lost: " + "; ".join(losses))
    return plan, copier, losses, tuple(copier.notes)


def _prepared(plan: Plan, step: Step) -> Plan:
    """Let the step prepare; return the plan for the size that comes out."""
    came = plan.format
    out = step.prepare(came, plan.encoder.bits)
    if out.bits == 0:
        raise InputError("the step gives float frames, but files hold 8 to 16 bit samples")
    look = plan.look
    if look.matrix is not None:
        across, down = Fraction(out.width, came.width), Fraction(out.height, came.height)
        look = replace(look, matrix=scaled(look.matrix, across, down))
    return replace(plan, format=out, look=look)


def _travel(
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
        for parcel in decoded:
            if parcel.frame is None:
                stepped.put(parcel)
                continue
            stepped.put(replace(parcel, frame=step.run(parcel.frame)))
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


def _time_notes(road: Source, muxer: str) -> list[str]:
    said = []
    if road.clock.moved:
        said.append(f"{road.clock.moved} frame times did not rise and were moved")
    if muxer == "yuv4mpegpipe" and road.variable:
        said.append("y4m holds no times: the variable frame rate is lost")
    return said
