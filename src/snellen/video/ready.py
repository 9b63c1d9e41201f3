"""What comes before a conversion: input and step are opened and prepared, and all is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import BinaryIO

from snellen.errors import InputError
from snellen.files.remote import Remote
from snellen.frames.frame import Format
from snellen.frames.step import Step
from snellen.video.alpha import WithAlpha, with_alpha
from snellen.video.clip import Clip
from snellen.video.hdr import scaled_matrix
from snellen.video.losses import from_rgb, full_chroma, known_losses, without_alpha
from snellen.video.media import MediaInfo
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import video_tags
from snellen.video.sink import hardware, numbers, pictures
from snellen.video.sink.colour import stated
from snellen.video.sink.encode import Plan
from snellen.video.sink.encoders import choose
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.goals import check_output
from snellen.video.sink.output import PICTURES, Output
from snellen.video.source.decode import Source
from snellen.video.source.pictures import Pictures


@dataclass(frozen=True, slots=True)
class LateStep:
    """A step that can be made only when the input is known."""

    make: Callable[[MediaInfo], tuple[Step, MediaInfo]]
    """Returns the step, and the input's description as the output is to state it: other colours or
    another aspect ratio; the format stays that of the input's pictures."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A conversion that is checked and prepared, and of which nothing is written yet."""

    source: Source
    """Open."""
    info: MediaInfo
    """Of the input, as its output is to state it."""
    step: Step
    """Prepared."""
    output: Output
    copier: Copier
    """Of the streams that are copied."""
    plan: Plan
    """Of the video stream."""
    losses: tuple[str, ...]
    """What the output cannot hold."""
    warnings: tuple[str, ...]
    """These, and what else is said before work starts."""

    @property
    def frames(self) -> int | None:
        """How many results to expect; None: unknown."""
        return expected(self.info, self.step)


@contextmanager
def readied(
    source: Path | BinaryIO | Pictures,
    target: Path | BinaryIO,
    step: Step | LateStep,
    *,
    clip: Clip | None,
    encoding: Encoding | None,
    decoder: str,
    audio: str,
    quality: int | None,
    strict: bool,
    overwrite: bool,
    on_warning: Callable[[str], None],
) -> Iterator[Ready]:
    """Open the input, check all that can be checked before work, and prepare the step.

    Parameters and errors are those of `convert`. At the end of the block, input and step are
    closed. Nothing is written.
    """
    with ExitStack() as stack:
        if not isinstance(step, LateStep):
            stack.callback(step.close)
        try:
            output = Output(target, None if isinstance(source, Pictures) else source, overwrite)
        except InputError:
            if isinstance(source, Remote):  # nobody has asked yet whether it is there
                Source(source, clip or Clip(), decoder).close()
            raise
        opened = stack.enter_context(closing(Source(source, clip or Clip(), decoder)))
        info = opened.info
        if isinstance(step, LateStep):
            step, info = step.make(info)
            stack.callback(step.close)
        encoding = encoding or Encoding()
        result = step.outcome(info.picture.format, info.least_frames)
        coloured = None
        if not output.is_rgb:
            picture, coloured = stated(info.picture, encoding.colour, result, output.muxer)
            info = replace(info, picture=picture)
        if output.is_rgb or output.muxer == "yuv4mpegpipe":
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
        copier = Copier(info, opened.templates, output.muxer, output.suffix, audio)
        plan = _plan(info, encoder, output, step)
        losses = known_losses(info, replace(plan, format=result), copier, output, strict, quality)
        full = full_chroma(info.picture.pixel_format, encoder, encoding)
        rgb = from_rgb(info.picture)
        untimed = None
        if output.muxer in ("yuv4mpegpipe", PICTURES) and not step.traits.steady:
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
            on_warning(warning)
        plan = _prepare(plan, step)
        yield Ready(opened, info, step, output, copier, plan, losses, warnings)


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
    numbered = output.muxer == "yuv4mpegpipe"
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


def expected(info: MediaInfo, step: Step) -> int | None:
    """Return how many results to expect; None: unknown."""
    return None if info.frames is None else ceil(info.frames * step.traits.rate)
