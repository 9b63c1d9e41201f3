"""Preparations of a conversion: input and step are opened and prepared, and all is checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.files.remote import Remote
from snellen.frames.brief import Brief
from snellen.frames.frame import Format
from snellen.frames.step import Step
from snellen.video.clip import Clip
from snellen.video.losses import from_rgb, full_chroma, known_losses, without_alpha
from snellen.video.media import MediaInfo
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import video_tags
from snellen.video.side_data import scaled_matrix
from snellen.video.sink import hardware, numbers, pictures
from snellen.video.sink.colour import stated
from snellen.video.sink.encode import Plan
from snellen.video.sink.encoders import choose
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.goals import check_output
from snellen.video.sink.output import PICTURES, Output
from snellen.video.source.decode import Source
from snellen.video.source.pictures import Pictures
from snellen.video.steps.alpha import WithAlpha, with_alpha
from snellen.video.steps.chain import described


@dataclass(frozen=True, slots=True)
class Inspected:
    """An input that is open, and the output that is to be made of it; nothing is written yet."""

    source: Source
    output: Output
    began: float
    """When work began, as `time.monotonic` has it."""

    @property
    def info(self) -> MediaInfo:
        """Facts of the input that a step needs before it is made."""
        return self.source.info


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Stated(Brief):
    """A conversion says this of itself: a dry run prints it, and the summary of a run quotes it."""

    width: int
    height: int
    """Size of the output's frames."""
    device: str
    """Name of the device that runs the step."""
    decoder: str
    """"cpu" or "nvdec"."""
    encoder: str
    pixel_format: str
    """Encoder and pixel format of the output; FFmpeg's names."""
    chain: tuple[str, ...] = ()
    """Formats of the frames and names of the steps between them, from the input's to the result's;
    of a run only where there are several steps."""
    dropped: tuple[str, ...] = ()
    """Losses of the output: streams, tags, chapters, rotation, HDR, alpha …, with names of
    parameters in backticks."""
    warnings: tuple[str, ...] = ()
    """These, and what else is said; of a run also what was said of it."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A conversion that is checked and prepared, and of which nothing is written yet."""

    source: Source
    """Open."""
    output: Output
    began: float
    """When work began."""
    info: MediaInfo
    """Facts of the input, as its output is to state them."""
    step: Step
    """Prepared."""
    copier: Copier
    """The copier of streams."""
    plan: Plan
    """The plan of the video stream."""
    encoding: Encoding
    """As asked for; `plan` has what came of it."""
    quality: int | None
    strict: bool
    """As of `readied`."""
    losses: tuple[str, ...]
    """Losses of the output."""
    warnings: tuple[str, ...]
    """These, and what else is said before work starts."""
    warn: Callable[[str], None]
    """Takes further warnings."""

    @property
    def frames(self) -> int | None:
        """How many results to expect; None: unknown."""
        frames = self.info.frames
        return None if frames is None else ceil(frames * self.step.traits.rate)

    def warned(self, warnings: Sequence[str]) -> Ready:
        """Say further warnings; return the conversion with them."""
        for warning in warnings:
            self.warn(warning)
        return replace(self, warnings=(*self.warnings, *warnings))

    @property
    def stated(self) -> Stated:
        """Return what is to be said of it."""
        plan, info = self.plan, self.info
        return Stated(
            width=plan.format.width,
            height=plan.format.height,
            device=self.step.traits.device_name,
            decoder=info.decoder,
            encoder=plan.encoder.codec,
            pixel_format=(
                pictures.pixel_format(plan.format, plan.alpha)
                if self.output.is_rgb
                else plan.encoder.pixels.name
            ),
            chain=described(self.step, info.picture.format, info.made_progressive),
            dropped=self.losses,
            warnings=self.warnings,
        )


@contextmanager
def inspected(
    source: Path | BinaryIO | Pictures,
    target: Path | BinaryIO,
    *,
    clip: Clip | None = None,
    decoder: str = "auto",
    overwrite: bool = False,
) -> Iterator[Inspected]:
    """Check the output's name and open the input, which is closed at the end of the block.

    Parameters
    ----------
    source : Path, BinaryIO or Pictures
        A video file, a binary stream of y4m, or image files.
    target : Path or BinaryIO
        A file, a pattern of pictures (film-%05d.png), or a binary stream for y4m.
    clip : Clip, optional
        Which part; None: all of it.
    decoder : str
        "auto" and "cpu": FFmpeg's decoders; "nvdec": NVIDIA's, or where that does not work the
        CPU's and a warning.
    overwrite : bool
        Whether an existing file `target` is replaced.

    Raises
    ------
    InputError
        Wrong use or an unusable input.
    """
    began = time.monotonic()
    try:
        output = Output(target, None if isinstance(source, Pictures) else source, overwrite)
    except InputError:
        if isinstance(source, Remote):  # nobody has asked yet whether it is there
            Source(source, clip or Clip(), decoder).close()
        raise
    with closing(Source(source, clip or Clip(), decoder)) as opened:
        yield Inspected(opened, output, began)


@contextmanager
def readied(
    film: Inspected,
    step: Step,
    info: MediaInfo,
    *,
    encoding: Encoding | None = None,
    audio: str = "copy",
    quality: int | None = None,
    strict: bool = False,
    on_warning: Callable[[str], None] | None = None,
) -> Iterator[Ready]:
    """Check all that can be checked before work, and prepare the step; nothing is written.

    Parameters
    ----------
    film : Inspected
    step : Step
        A step or a chain of steps, made for this film; closed at the end of the block.
    info : MediaInfo
        Of the film as the output is to state it: other colours or another aspect ratio; the format
        stays that of the input's pictures.
    encoding : Encoding, optional
        None: as `Encoding` says, with nearly no visible loss.
    audio : str
        What becomes of audio: "copy", "aac" or "opus" (what is not so yet is encoded), "none".
    quality : int, optional
        Of pictures, where the target is a pattern of them, and of .webp.
    strict : bool
        Whether it is an error if anything cannot be carried or an encoder of NVIDIA's does not
        work: before work starts, or without an output where only reading tells it.
    on_warning : callable, optional
        Called with each warning, most of them before work starts.

    Raises
    ------
    InputError
        Wrong use.
    """
    with ExitStack() as stack:
        stack.callback(step.close)
        output, warn = film.output, on_warning or (lambda text: None)
        encoding = encoding or Encoding()
        result = step.outcome(info.picture.format, info.least_frames)
        coloured = None
        if not output.is_rgb:
            picture, coloured = stated(info.picture, encoding.colour, result, output.muxer)
            info = replace(info, picture=picture)
        if output.is_rgb or output.muxer == Y4M:
            check_output(encoding, output.suffix)
        clear = with_alpha(step) if info.picture.alpha else None
        if clear is not None:
            stack.callback(clear.close)
        shape = replace(
            info.picture.format, bits=result.bits, subsampling=result.subsampling,
            full_range=result.full_range,
        )  # fmt: skip
        results = replace(info, picture=replace(info.picture, format=shape))
        encoder, replaced = _encoder(
            results, output, encoding, strict, result, alpha=clear is not None
        )
        if clear is not None and encoder.pixels.alpha:
            step = clear
        else:
            info = without_alpha(info, possible=clear is not None)
        copier = Copier(info, film.source.templates, output.muxer, output.suffix, audio)
        plan = _plan(info, encoder, output, step)
        losses = known_losses(info, replace(plan, format=result), copier, output, strict, quality)
        full = full_chroma(info.picture.pixel_format, encoder, encoding)
        rgb = from_rgb(info.picture)
        untimed = None
        if output.muxer in (Y4M, PICTURES) and not step.traits.steady:
            untimed = f"{output.suffix or 'y4m'} holds no times: those that filters give are lost"
        said = (
            *numbers.notes(encoder, encoding),
            untimed,
            info.decoder_notice,
            *info.notices,
            info.fields_notice,
            rgb,
            coloured,
            replaced,
            full,
        )
        notes = [text for text in said if text is not None]
        warnings = (*losses, *notes, *copier.notes)
        for warning in warnings:
            warn(warning)
        plan = _prepare(plan, step)
        yield Ready(
            film.source, output, film.began, info, step, copier, plan, encoding, quality,
            strict, losses, warnings, warn,
        )  # fmt: skip


def _encoder(
    info: MediaInfo,
    output: Output,
    encoding: Encoding,
    strict: bool,
    result: Format,
    alpha: bool = False,
) -> tuple[Encoder, str | None]:
    """Choose the encoder; replace one of NVIDIA's that does not work, and return a warning."""
    source = info.video.codec
    if output.is_rgb:
        return pictures.encoder(info, encoding, output.suffix, alpha), None
    encoder = choose(info.picture, output.muxer, encoding, source, result, alpha)
    found = hardware.replacement(encoder, result, encoding)
    if found is None:
        return encoder, None
    other, warning = found
    if strict:
        raise InputError(f"{info.name}: strict, but {warning}")
    return choose(info.picture, output.muxer, other, source, result), warning


def _plan(info: MediaInfo, encoder: Encoder, output: Output, step: Step) -> Plan:
    """Return how the video stream is written; the size is that of the input until `_prepare`."""
    numbered = output.muxer == Y4M
    rate = info.rate * step.traits.rate
    return Plan(
        encoder=encoder,
        format=info.picture.format,
        picture=info.picture,
        time_base=1 / rate if numbered else info.time_base / step.traits.ticks,
        numbered=numbered,
        rate=rate,
        tags=video_tags(info, output.muxer),
        disposition=info.video.disposition,
        index=info.video_index,
        alpha=isinstance(step, WithAlpha),
    )


def _prepare(plan: Plan, step: Step) -> Plan:
    """Prepare the step; return the plan for the format of its results."""
    given = plan.format
    result = step.prepare(given, plan.encoder.bits)
    if result.bits == 0:
        raise InputError("the step gives float frames, but files hold 8 to 16 bit samples")
    picture = plan.picture
    if picture.display_matrix is not None:
        across, down = Fraction(result.width, given.width), Fraction(result.height, given.height)
        matrix = scaled_matrix(picture.display_matrix, across, down)
        picture = replace(picture, display_matrix=matrix)
    return replace(plan, format=result, picture=picture)
