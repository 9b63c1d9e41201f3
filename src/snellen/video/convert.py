"""The road: decode → step → encode, each in its own thread, bounded queues between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.clip import Clip
from snellen.video.hdr import scaled
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import lost_time_code, video_tags
from snellen.video.pipes import Outgoing
from snellen.video.progress import Meter, Progress
from snellen.video.sink import nvenc
from snellen.video.sink.encode import Plan
from snellen.video.sink.encoders import Encoder, Encoding, choose
from snellen.video.sink.output import Place
from snellen.video.sink.probe import lost_by
from snellen.video.source.decode import Source
from snellen.video.step import Step
from snellen.video.threads import run_dry, travel

__all__ = ["Clip", "Encoding", "Progress", "Step", "Summary", "convert", "drain"]


@dataclass(frozen=True, slots=True)
class Summary:
    """What was done."""

    frames: int
    seconds: float
    """Of work."""
    width: int
    height: int
    device: str
    """What the step ran on."""
    decoder: str
    """"cpu" or "nvdec"."""
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
    decoder: str = "auto",
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
    decoder : "auto" and "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, or where that does not work
        the CPU's and a warning
    strict : whether anything that cannot be carried, or an encoder of NVIDIA's that does not work,
        is an error, before work starts
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
        road = stack.enter_context(closing(Source(source, clip or Clip(), decoder)))
        large = step.outcome(road.look.format, road.least())
        plan, copier, losses, notes = _plan(road, place, encoding or Encoding(), strict, large)
        warnings = (*losses, *notes)
        for warning in warnings:
            tell(warning)
        plan = _prepared(plan, step)
        meter = Meter(road.total(), on_progress)
        with place.writing() as file:
            out = file if isinstance(file, Path) else stack.enter_context(closing(Outgoing(file)))
            frames = travel(road, plan, copier, step, place, out, meter)
        late = _time_notes(road, place.muxer)
        for warning in late:
            tell(warning)
        return Summary(
            frames=frames,
            seconds=time.monotonic() - began,
            width=plan.format.width,
            height=plan.format.height,
            device=step.device_name,
            decoder=road.decoder,
            encoder=plan.encoder.codec,
            pixel_format=plan.encoder.pixels.name,
            source=pixels.words(road.look.format),
            result=pixels.words(plan.format),
            warnings=(*warnings, *late),
            lost=road.damage.words(),
            dropped=losses,
        )


def drain(
    source: Path | BinaryIO,
    step: Step,
    *,
    clip: Clip | None = None,
    decoder: str = "auto",
    on_warning: Callable[[str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> int:
    """Send every frame of `source` through `step` and let go of the results.

    That is `convert` without an encoder, for measuring: the arguments are the same, and the last
    `Progress.elapsed` is the time from the first frame's start on, without `prepare`.

    Returns
    -------
    int
        How many frames there were.

    Raises
    ------
    InputError
        Wrong use or an unusable input.
    """
    with ExitStack() as stack:
        stack.callback(step.close)
        road = stack.enter_context(closing(Source(source, clip or Clip(), decoder)))
        if road.notice and on_warning:
            on_warning(road.notice)
        step.prepare(road.look.format)
        return run_dry(road, step, Meter(road.total(), on_progress))


def _plan(
    road: Source, place: Place, encoding: Encoding, strict: bool, large: Format
) -> tuple[Plan, Copier, tuple[str, ...], tuple[str, ...]]:
    """Decide how everything is written, and what that costs: losses, then notes.

    The encoder is asked about pictures of the results' size, before the step does any work.
    """
    look, stream = road.look, road.stream
    encoder, replaced = _encoder(road, place, encoding, strict, large)
    copier = Copier(road, place.muxer, place.suffix)
    numbered = place.muxer == "yuv4mpegpipe"
    base = 1 / road.rate if numbered else road.time_base
    metadata = video_tags(road, place.muxer)
    plan = Plan(encoder, look.format, look, base, numbered, road.rate, metadata,
                stream.disposition, stream.index)  # fmt: skip
    lost = lost_by(replace(plan, format=large), road, place.muxer, place.suffix)
    losses = (*look.losses, *encoder.losses, *copier.losses, *lost, *lost_time_code(road))
    if strict and losses:
        raise InputError(f"{road.name}: strict, and this would be lost: " + "; ".join(losses))
    notes = [text for text in (road.notice, replaced) if text is not None]
    return plan, copier, losses, (*notes, *copier.notes)


def _encoder(
    road: Source, place: Place, encoding: Encoding, strict: bool, large: Format
) -> tuple[Encoder, str | None]:
    """Choose the encoder; one of NVIDIA's that does not work is replaced, and the line says so."""
    encoder = choose(road.look, place.muxer, encoding)
    found = nvenc.instead(encoder, large, encoding)
    if found is None:
        return encoder, None
    other, line = found
    if strict:
        raise InputError(f"{road.name}: strict, but {line}")
    return choose(road.look, place.muxer, other), line


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


def _time_notes(road: Source, muxer: str) -> list[str]:
    said = []
    if road.clock.moved:
        said.append(f"{road.clock.moved} frame times did not rise and were moved")
    if muxer == "yuv4mpegpipe" and road.variable:
        said.append("y4m holds no times: the variable frame rate is lost")
    return said
