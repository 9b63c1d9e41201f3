"""Converts a video: source → step → sink, each in a thread, with bounded queues between them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError
from snellen.frames.brief import Brief
from snellen.frames.step import Step
from snellen.video import pixels
from snellen.video.chain import described
from snellen.video.clip import Clip
from snellen.video.losses import damage, late_losses, late_notes
from snellen.video.pipes import Outgoing
from snellen.video.progress import Meter, Progress
from snellen.video.quality.hunt import hunting
from snellen.video.quality.values import Aim, Reached
from snellen.video.ready import LateStep, expected, readied
from snellen.video.segments.begin import begun
from snellen.video.segments.film import Segments
from snellen.video.sink import pictures
from snellen.video.sink.encoding import Encoding
from snellen.video.source.decode import Source
from snellen.video.source.pictures import Pictures
from snellen.video.threads import run_dry, run_pipeline

__all__ = [
    "Aim", "Clip", "Encoding", "LateStep", "Progress", "Segments", "Step", "Summary", "convert",
    "drain",
]  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Brief):
    """What was done."""

    frames: int
    """Frames written."""
    seconds: float
    """Duration of the work."""
    width: int
    height: int
    """Size of the output's frames."""
    device: str
    """Name of the device that ran the step."""
    decoder: str
    """"cpu" or "nvdec"."""
    encoder: str
    pixel_format: str
    """Of the output; FFmpeg's names."""
    source: str
    """Format of the input's frames, e.g. '1920×1080 4:2:0 8 bit'."""
    result: str
    """Format of the step's results."""
    warnings: tuple[str, ...]
    """What was changed or could not be carried, with names of parameters in backticks."""
    lost: tuple[str, ...]
    """What was damaged or missing in the input; empty: it was whole."""
    dropped: tuple[str, ...]
    """What the output cannot hold: streams, tags, chapters, rotation, HDR, alpha …"""
    chain: tuple[str, ...] = ()
    """Formats of the frames and names of the steps between them, from the input's to the result's,
    where there are several steps."""
    reached: Reached | None = None
    """The target quality, what was chosen for it, and the score of the result; None: no target."""


def convert(
    source: Path | BinaryIO | Pictures,
    target: Path | BinaryIO,
    step: Step | LateStep,
    *,
    clip: Clip | None = None,
    encoding: Encoding | None = None,
    decoder: str = "auto",
    audio: str = "copy",
    quality: int | None = None,
    strict: bool = False,
    overwrite: bool = False,
    segments: Callable[[], Segments | None] | None = None,
    aim: Aim | None = None,
    before: Callable[[], object] | None = None,
    on_warning: Callable[[str], None] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_chain: Callable[[tuple[str, ...]], None] | None = None,
) -> Summary:
    """Run `step` on every frame of `source`, write the results into `target`, and copy all else.

    Parameters
    ----------
    source : Path, BinaryIO or Pictures
        A video file, a binary stream of y4m, or image files.
    target : Path or BinaryIO
        A file (.mp4, .mkv, .mov, .webm, .ts, .m2ts, .y4m; .gif, .webp, .avif), a pattern of
        pictures (film-%05d.png), or a binary stream for y4m.
    step : Step or LateStep
        A step or a chain of steps; prepared, run for each frame and closed by this function.
    clip : Clip, optional
        Which part; None: all of it.
    encoding : Encoding, optional
        None: as `Encoding` says, with nearly no visible loss.
    decoder : str
        "auto" and "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, or where that does not work the
        CPU's and a warning.
    audio : str
        What becomes of audio: "copy", "aac" or "opus" (what is not so yet is encoded), "none".
    quality : int, optional
        Of pictures, where the target is a pattern of them, and of .webp.
    strict : bool
        Whether it is an error if anything cannot be carried or an encoder of NVIDIA's does not
        work: before work starts, or without an output where only reading tells it.
    overwrite : bool
        Whether an existing file `target` is replaced.
    segments : callable, optional
        Returns how a long film is cut, so that a run that is killed can go on; called when the step
        is prepared. None: it is not cut.
    aim : Aim, optional
        What the target of `encoding` needs, if it has one.
    before : callable, optional
        Called when the output is complete, before it gets its name: writes what goes with it.
    on_warning : callable, optional
        Called with each of `Summary.warnings`, most of them before work starts.
    on_progress : callable, optional
        Called after each frame, in the calling thread.
    on_chain : callable, optional
        Called with `Summary.chain`, if there are several steps, before work starts.

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
        there before is unchanged.
    """
    began = time.monotonic()
    warn = on_warning or (lambda text: None)
    with ExitStack() as stack:
        hold = stack.enter_context
        ready = hold(
            readied(
                source, target, step, clip=clip, encoding=encoding, decoder=decoder, audio=audio,
                quality=quality, strict=strict, overwrite=overwrite, on_warning=warn,
            )
        )  # fmt: skip
        opened, info, step, output = ready.source, ready.info, ready.step, ready.output
        copier, plan, warnings = ready.copier, ready.plan, ready.warnings
        names = described(step, info.picture.format, info.made_progressive)
        if names and on_chain is not None:
            on_chain(names)
        how = None if segments is None else segments()
        hunt = hold(hunting(aim, ready, target, encoding, strict, on_progress))
        film = None if how is None else begun(how, info, step, plan, output, hunt)
        if hunt is not None:
            plan = hunt.settle(None if film is None else film.choice)
            for warning in hunt.warnings:
                warn(warning)
        meter = Meter(ready.frames, on_progress)
        if film is not None:
            hold(film).encode(step, meter, opened.info)
        with output.writing() as file:
            out = file if isinstance(file, Path) else hold(closing(Outgoing(file)))
            if film is not None and isinstance(file, Path):
                written = film.join(file, copier)
            else:
                written = run_pipeline(opened, step, plan, copier, output, out, meter, quality)
            if not written.frames:
                raise InputError(f"{info.name}: the filters leave no frame", parameter="vf")
            lost = late_losses(written.report, output.muxer)
            if strict and lost:
                raise InputError(f"{info.name}: strict, and this was lost: " + "; ".join(lost))
            reached, missed = None, list[str]()
            if hunt is not None and isinstance(file, Path):
                reached, missed = hunt.check(file)
            if before is not None:
                before()
        noted = [] if film is None else film.notes
        late = [*output.notes, *noted, *lost, *late_notes(written.report), *missed]
        if info.fields_notice is None and written.report.fields_notice is not None:
            late.append(written.report.fields_notice)
        for warning in late:
            warn(warning)
        return Summary(
            frames=written.frames,
            seconds=time.monotonic() - began,
            width=plan.format.width,
            height=plan.format.height,
            device=step.traits.device_name,
            decoder=info.decoder,
            encoder=plan.encoder.codec,
            pixel_format=(
                pictures.pixel_format(plan.format, plan.alpha)
                if output.is_rgb
                else plan.encoder.pixels.name
            ),
            source=pixels.describe(info.picture.format),
            result=pixels.describe(plan.format),
            warnings=(*warnings, *([] if hunt is None else hunt.warnings), *late),
            lost=damage(written),
            dropped=ready.losses,
            chain=names,
            reached=reached,
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
    """Run `step` on every frame of `source`, and drop the results.

    This is `convert` without an encoder, for measuring: the arguments are the same, and the last
    `Progress.elapsed` is the time since the first frame began, without `prepare`.

    Returns
    -------
    int
        How many frames the step gave.

    Raises
    ------
    InputError
        Wrong use or an unusable input.
    """
    with ExitStack() as stack:
        stack.callback(step.close)
        opened = stack.enter_context(closing(Source(source, clip or Clip(), decoder)))
        info = opened.info
        if info.decoder_notice and on_warning:
            on_warning(info.decoder_notice)
        step.prepare(info.picture.format)
        return run_dry(opened, step, Meter(expected(info, step), on_progress))
