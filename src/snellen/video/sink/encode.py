"""Opens the output container and the encoder of its video stream."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import av
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.cpu.threads import chosen
from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.animations import loop
from snellen.video.ffmpeg import TAGS_AS_BYTES, reason
from snellen.video.logs import logs
from snellen.video.media import PictureInfo
from snellen.video.sink import aspect
from snellen.video.sink.encoders import formats
from snellen.video.sink.encoding import Encoder
from snellen.video.sink.numbers import added
from snellen.video.sink.output import CompleteWriter
from snellen.video.sink.registry import LOSSLESS, parameter_options

_FINEST = 1_000_000
"""Ticks a second up to which mp4's movie time scale follows the video's time base."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about the video stream to be written."""

    encoder: Encoder
    format: Format
    """The format of the frames to come."""
    picture: PictureInfo
    """The input's pictures; the stream states their colour, aspect ratio and rotation again."""
    time_base: Fraction
    numbered: bool
    """True: the time base is a frame's duration and times are frame numbers (y4m)."""
    rate: Fraction
    """Frames a second, on average."""
    tags: dict[str, str]
    disposition: Disposition
    index: int
    """The number of the video stream in the input."""
    alpha: bool = False
    """True: frames come with an alpha channel, which is encoded."""


def open_container(
    file: Path | BinaryIO,
    muxer: str,
    time_base: Fraction,
    suffix: str = "",
    plays: int | None = None,
) -> OutputContainer:
    """Open an output container of FFmpeg's type `muxer` for video with that time base.

    The `suffix` distinguishes Blu-ray's transport streams; `plays` as of `MediaInfo`.
    """
    target: Any = str(file) if isinstance(file, Path) else file
    options = {}
    if muxer == Y4M:
        # More than 8 bits is not in the y4m standard, but every reader takes it.
        options["strict"] = "-1"
        target = CompleteWriter(target) if not isinstance(target, str) else target
    elif muxer in ("mp4", "mov") and time_base.denominator <= _FINEST:
        # Delays of a stream are written in this unit; the default rounds them to 1 ms.
        options["movie_timescale"] = str(max(1000, time_base.denominator))
    elif muxer == "avif":
        options["loop"] = loop(plays, muxer)
    elif muxer == "mpegts":
        options["mpegts_m2ts_mode"] = str(int(suffix == ".m2ts"))
    elif muxer in aspect.MATROSKA:
        # Priming of an audio codec lies before 0, and its packets may state that. By default FFmpeg
        # would shift all streams, and no frame would keep its time.
        options["avoid_negative_ts"] = "disabled"
    out: OutputContainer = av.open(
        target, "w", format=muxer, container_options=options, **TAGS_AS_BYTES
    )
    return out


def other_choice(suffix: str) -> str:
    """Return the advice for a container that does not take a codec."""
    return "choose another codec" + ("" if suffix == ".mkv" else ", or .mkv, that holds nearly all")


def encoder_base(plan: Plan) -> Fraction:
    """Return the encoder's time base: some encoders take only a frame's duration."""
    if plan.encoder.traits.frame_clock:
        return 1 / plan.rate.limit_denominator(1001)
    return plan.time_base


def set_colour(frame: VideoFrame, picture: PictureInfo) -> None:
    """State the colour properties in the frame: some encoders read them there only."""
    frame.color_range, frame.colorspace = picture.color_range, picture.colorspace
    frame.color_primaries, frame.color_trc = picture.color_primaries, picture.color_trc


def add_video(out: OutputContainer, plan: Plan, suffix: str, threads: int = 0) -> VideoStream:
    """Add the video stream and open its encoder; InputError says why it does not open.

    `threads` is the number of the encoder's threads; 0: as many as the run may have, else the
    encoder's own default.
    """
    encoder, picture = plan.encoder, plan.picture
    os.environ.setdefault("SVT_LOG", "1")  # SVT-AV1 logs on standard error
    rate = plan.rate.limit_denominator(1_000_000)
    options = dict(encoder.options)
    known, (width, height) = encoder.traits, (plan.format.width, plan.format.height)
    for limit, side in ((known.narrow, width), (known.small, min(width, height))):
        if limit is not None and side < limit[0]:
            options = added(options, {known.parameters[0]: limit[1]})
    try:
        stream: VideoStream = out.add_stream(encoder.codec, rate=rate, options=options)  # type: ignore[assignment]
    except ValueError:
        raise InputError(
            f"{suffix} cannot hold video of {encoder.codec}: {other_choice(suffix)}"
        ) from None
    context = stream.codec_context
    context.width, context.height = plan.format.width, plan.format.height
    context.pix_fmt = encoder.pixels.name
    stream.time_base, context.time_base = plan.time_base, encoder_base(plan)
    context.color_range = picture.color_range
    for name in ("colorspace", "color_primaries", "color_trc"):
        if (number := getattr(picture, name)) not in known.unstated.get(name, ()):
            setattr(context, name, number)
    if picture.sample_aspect_ratio is not None:
        context.sample_aspect_ratio = picture.sample_aspect_ratio
    if picture.display_matrix is not None:
        stream.set_display_matrix(picture.display_matrix)
    if context.codec.canonical_name == "hevc" and out.format.name in ("mp4", "mov"):
        context.codec_tag = "hvc1"  # the only tag that Apple's players take
    context.thread_type = "AUTO"  # slices alone would cost x264 quality
    context.thread_count = threads or chosen() or 0
    room = aspect.in_track(out.format.name, picture.sample_aspect_ratio)
    stream.metadata.update(aspect.with_room(plan.tags) if room else plan.tags)
    stream.disposition = plan.disposition
    _open_encoder(stream, plan)
    return stream


def be_ordinary() -> None:
    """Take the real-time priority back that SVT-AV1 gives to this process where root runs it.

    All other processes, and those that this one starts, would wait for what computes.
    """
    if sys.platform != "linux":
        return
    for thread in map(int, os.listdir("/proc/self/task")):  # noqa: PTH208  # numbers
        with suppress(OSError):  # one that has ended
            if os.sched_getscheduler(thread) == os.SCHED_FIFO:
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _open_encoder(stream: VideoStream, plan: Plan) -> None:
    encoder, format, known = plan.encoder, plan.format, plan.encoder.traits
    across, down = encoder.pixels.subsampling or (0, 0)
    odd = bool(format.width % (1 << across) or format.height % (1 << down))
    with logs.listening() as messages:
        try:
            if odd and known.even:
                raise ValueError("odd width or height")
            if known.most_rate is not None and plan.rate > known.most_rate:
                raise ValueError(f"more than {known.most_rate} frames a second")
            stream.codec_context.open()
            if known.real_time:
                be_ordinary()
            failed = None
        except (av.FFmpegError, OSError, ValueError) as error:
            failed = error
    # Only the encoder's own messages: threads of a decoder may be logging too.
    texts = list(dict.fromkeys(t.strip() for _, name, t in messages if name == encoder.codec))
    if failed is not None:
        if isinstance(failed, MemoryError):
            raise failed
        raise InputError(
            f"{encoder.codec} does not open for {pixels.describe(format)} as {encoder.pixels.name} "
            f"({'; '.join(texts) or reason(failed)})",
            advice=_advice(encoder, odd),
        )
    unknown = [key for key in stream.codec_context.options if key in encoder.options]
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise InputError(f"{encoder.codec} has no option {names}", parameter="encoder_options")
    wrong = [text for text in texts if "arsing option" in text or "nknown option" in text]
    if wrong:
        raise InputError(f"{encoder.codec}: {'; '.join(wrong)}")


def _advice(encoder: Encoder, odd: bool) -> str:
    """Return what helps where an encoder does not open for pictures, of an odd size or not."""
    if not odd:
        return "choose another `codec` or `pix_fmt`"
    full = pixels.planar(encoder.bits, (0, 0))
    other = f", or 4:4:4 (`pix_fmt`={full})" if full in formats(encoder.codec) else ""
    return f"take an even width and height{other}, or another `codec` ({LOSSLESS} in .mkv)"


def set_decoding_times(packets: list[Packet[Any]], step: Fraction) -> None:
    """Set the decoding times of a whole stream, given in decoding order, `step` ticks a frame.

    x265 leaves them unset when the stream has fewer frames than its delay (one or two).
    """
    shown = [packet.pts for packet in packets if packet.pts is not None]
    if len(shown) < len(packets):
        return
    rising = sorted(shown)
    for delay in range(len(shown)):
        early = [rising[0] - round((delay - i) * max(step, Fraction(1))) for i in range(delay)]
        times = (early + rising)[: len(shown)]
        if all(dts <= pts for dts, pts in zip(times, shown, strict=True)):
            for packet, dts in zip(packets, times, strict=True):
                packet.dts = dts
            return


_STATISTICS = frozenset(("stats", "passlogfile", "x265-stats"))
"""Options, and parameters in others, that name the file which the first pass writes."""
_DUMPS = frozenset(("dump-yuv", "csv", "recon", "analysis-save", "analysis-reuse-file"))
"""Parameters that name files which are written in any pass."""
_FIRST = re.compile(r"pass=[13]")
"""Passes that write statistics; 2 only reads them."""
_FLAG = re.compile(r"[+-]?\bpass1\b")
_PASSES = re.compile(r"\bpass[12]\b")


def silent(options: Mapping[str, str]) -> dict[str, str]:
    """Return an encoder's options without those by which it writes files beside the film.

    It empties them when it is opened. That of the film itself may: encoders that are opened for
    checks, estimates, probes and previews get options without them.
    """
    inner = _parameters(options)
    first = any(_FIRST.fullmatch(word) for words in inner.values() for word in words)
    first = first or _FLAG.search(options.get("flags", "")) is not None
    found: dict[str, str] = {}
    for key, value in options.items():
        text = value
        if key in inner:
            text = ":".join(word for word in inner[key] if not _writes(word, first))
        elif key == "flags":
            text = _FLAG.sub("", value)
        elif key in _STATISTICS and first:
            text = ""
        if text or not value:
            found[key] = text
    return found


def of_whole_film(options: Mapping[str, str]) -> bool:
    """Return whether an encoder reads or writes files about the whole film: passes, statistics."""
    words = [*options, *(word for words in _parameters(options).values() for word in words)]
    flags = _PASSES.search(options.get("flags", "")) is not None
    return flags or any(_writes(word, first=True) for word in words)


def _parameters(options: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the options that hold an encoder's own parameters, and these, key=value each."""
    own = options.keys() & set(parameter_options())
    return {key: re.split(r"(?<!\\):", options[key]) for key in own}


def _writes(word: str, first: bool) -> bool:
    """Return whether a parameter makes an encoder write a file."""
    name = word.partition("=")[0].replace("_", "-")
    return name in _DUMPS or (first and name in ("pass", *_STATISTICS))


def rehearsed(plan: Plan) -> Plan:
    """Return a plan whose encoder writes no file beside the film."""
    return replace(plan, encoder=replace(plan.encoder, options=silent(plan.encoder.options)))
