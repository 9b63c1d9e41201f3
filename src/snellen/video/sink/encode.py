"""Frame → container: encodes, and muxes with what is copied."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
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

from snellen.errors import InputError
from snellen.frames.frame import Format, Frame, Plane
from snellen.video import logs, pixels
from snellen.video.passthrough.streams import Copier
from snellen.video.passthrough.tags import chapters, film_tags
from snellen.video.sink.encoders import Encoder
from snellen.video.sink.output import Whole
from snellen.video.source.decode import Parcel, Source
from snellen.video.source.open import BYTES_AS_THEY_ARE, Look, reason

_FINEST = 1_000_000
"""Ticks a second up to which mp4's own clock follows the video's."""


_REFUSALS = (av.ArgumentError, av.InvalidDataError, av.PatchWelcomeError)
"""What muxers say to packets that are not as they should be; never to a full disk."""
_TOO_MANY = 50
"""Refused packets from which on it is not the input's fault."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about the video stream to be written."""

    encoder: Encoder
    format: Format
    """Of the frames to come."""
    look: Look
    """Of the input's pictures, to be said again."""
    time_base: Fraction
    numbered: bool
    """Whether the time base is a frame's duration and frames are just counted (y4m)."""
    rate: Fraction
    metadata: dict[str, str]
    disposition: Disposition
    index: int
    """Of the stream in the input."""


def open_container(file: Path | BinaryIO, muxer: str, time_base: Fraction) -> OutputContainer:
    """Open an output container of FFmpeg's type `muxer` for video with that time base."""
    place: Any = str(file) if isinstance(file, Path) else file
    options = {}
    if muxer == "yuv4mpegpipe":
        # More than 8 bits is no standard of y4m, but everybody reads it.
        options["strict"] = "-1"
        place = Whole(place) if not isinstance(place, str) else place
    elif muxer in ("mp4", "mov") and time_base.denominator <= _FINEST:
        # Delays of a stream are written in this unit: by default they are cut to 1 ms.
        options["movie_timescale"] = str(max(1000, time_base.denominator))
    elif muxer == "matroska":
        # Priming of an audio codec lies before 0, and its packet may say so: else FFmpeg would
        # move all streams, and no picture would keep its time.
        options["avoid_negative_ts"] = "disabled"
    out: OutputContainer = av.open(
        place, "w", format=muxer, container_options=options, **BYTES_AS_THEY_ARE
    )
    return out


def other_choice(suffix: str) -> str:
    """Return the advice for a container that does not take a codec."""
    return "choose another codec" + ("" if suffix == ".mkv" else ", or .mkv, that holds nearly all")


def encoder_base(plan: Plan) -> Fraction:
    """Return the unit of times on the encoder's side: some know only a frame's duration."""
    return 1 / plan.rate.limit_denominator(1001) if plan.encoder.counts else plan.time_base


def describe(picture: VideoFrame, look: Look) -> None:
    """Say of the picture what it means: some encoders ask the frame, not their context."""
    picture.color_range, picture.colorspace = look.range, look.space
    picture.color_primaries, picture.color_trc = look.primaries, look.transfer


def add_video(out: OutputContainer, plan: Plan, suffix: str, threads: int = 0) -> VideoStream:
    """Add the video stream and open its encoder; InputError says why it does not open.

    `threads` is how many the encoder may have; 0: what it takes by itself.
    """
    encoder, look = plan.encoder, plan.look
    os.environ.setdefault("SVT_LOG", "1")  # SVT-AV1 talks on standard error
    rate = plan.rate.limit_denominator(1_000_000)
    try:
        stream: VideoStream = out.add_stream(encoder.codec, rate=rate, options=encoder.options)  # type: ignore[assignment]
    except ValueError:
        raise InputError(
            f"{suffix} cannot hold video of {encoder.codec}: {other_choice(suffix)}"
        ) from None
    context = stream.codec_context
    context.width, context.height = plan.format.width, plan.format.height
    context.pix_fmt = encoder.pixels.name
    stream.time_base, context.time_base = plan.time_base, encoder_base(plan)
    context.color_range, context.colorspace = look.range, look.space
    context.color_primaries, context.color_trc = look.primaries, look.transfer
    if look.aspect is not None:
        context.sample_aspect_ratio = look.aspect
    if look.matrix is not None:
        stream.set_display_matrix(look.matrix)
    if context.codec.canonical_name == "hevc" and out.format.name in ("mp4", "mov"):
        context.codec_tag = "hvc1"  # the only one that Apple's players take
    context.thread_type = "AUTO"  # slices alone would cost libx264 quality
    context.thread_count = threads
    stream.metadata.update(plan.metadata)
    stream.disposition = plan.disposition
    _open(stream, plan)
    return stream


def _open(stream: VideoStream, plan: Plan) -> None:
    encoder, format = plan.encoder, plan.format
    with logs.listening() as messages:
        try:
            stream.codec_context.open()
            failed = None
        except (av.FFmpegError, OSError, ValueError) as error:
            failed = error
    # By name: threads of a decoder may be speaking too.
    texts = list(dict.fromkeys(t.strip() for _, who, t in messages if who == encoder.codec))
    said = "; ".join(texts)
    if failed is not None:
        if isinstance(failed, MemoryError):
            raise failed
        advice = ""
        if encoder.pixels.subsampling not in (None, (0, 0)) and (format.width | format.height) % 2:
            advice = (
                "; an odd size needs 4:4:4 (e.g. pixel format yuv444p) or another codec (ffv1); of "
                "a region take an even width and height"
            )
        raise InputError(
            f"{encoder.codec} does not open for {pixels.words(format)} as {encoder.pixels.name} "
            f"({said or reason(failed)}){advice}"
        )
    unknown = [key for key in stream.codec_context.options if key in encoder.options]
    if unknown:
        raise InputError(f"{encoder.codec} knows no option {', '.join(map(repr, unknown))}")
    wrong = [text for text in texts if "arsing option" in text or "nknown option" in text]
    if wrong:
        raise InputError(f"{encoder.codec}: {'; '.join(wrong)}")


def put_in_order(packets: list[Packet[Any]], step: Fraction) -> None:
    """Set the decoding times of a whole film, given in decoding order, `step` ticks a frame.

    libx265 leaves them to chance when the film has fewer frames than its delay (one or two).
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


class Sink:
    """An open output: takes parcels, from one thread at a time."""

    def __init__(
        self, file: Path | BinaryIO, muxer: str, plan: Plan, source: Source, copier: Copier
    ) -> None:
        self._plan = plan
        self._copier = copier
        self._damage = source.damage
        self._durations: dict[int, int] = {}
        self._times: list[int] = []  # of each frame, for encoders that count them
        self._neutral: dict[tuple[int, int], Plane] = {}
        self._begun = False
        self.written = 0
        """Frames given to the encoder."""
        self._out = open_container(file, muxer, plan.time_base)
        try:
            self._stream = add_video(self._out, plan, copier.suffix)
            copier.attach(self._out)
            self._out.metadata.update(film_tags(source))
            total = source.total() if source.clip.frames is not None else None
            until = source.end
            if until is None and total is not None:
                until = source.zero + total / source.rate
            found = chapters(source, until)
            if found:
                self._out.set_chapters(found)
            self._out.start_encoding()
            self._mux(copier.start())
        except BaseException:
            self.abandon()
            raise

    def write(self, parcel: Parcel) -> None:
        """Encode the parcel's frame, keep its packets until their time."""
        for packet in parcel.packets:
            self._copier.offer(packet)
        if parcel.frame is None:
            return
        frame = self._picture(parcel.frame)
        pts, duration = parcel.frame.pts, parcel.frame.duration
        if self._plan.numbered:
            pts, duration = self.written, 1
        frame.pts, frame.duration = pts, duration
        if self._plan.encoder.counts:
            self._times.append(pts)
            frame.pts, frame.duration = self.written, 1
        frame.time_base = encoder_base(self._plan)
        self._durations[pts] = duration
        self._encoded(self._stream.encode(frame))
        self.written += 1

    def finish(self) -> None:
        """Write what encoder and copier still hold, and close the container."""
        rest = self._stream.encode(None)
        if not self._begun:
            put_in_order(rest, 1 / (self._plan.rate * self._plan.time_base))
        self._encoded(rest)
        self._mux(self._copier.due(None))
        self._out.close()

    def abandon(self) -> None:
        """Close without caring for the contents."""
        with contextlib.suppress(Exception):
            self._out.close()

    def _encoded(self, packets: Iterable[Packet[Any]]) -> None:
        base = self._plan.time_base
        for packet in packets:
            self._begun = True
            if self._plan.encoder.counts:
                self._restore(packet)
            if packet.pts is not None:
                # Not every encoder hands durations on.
                packet.duration = self._durations.pop(packet.pts, packet.duration)
            stamp = packet.dts if packet.dts is not None else packet.pts
            if stamp is not None:
                self._mux(self._copier.due(stamp * base))
            self._mux([packet])

    def _restore(self, packet: Packet[Any]) -> None:
        """Give a packet of an encoder that counts frames their real times."""
        step = 1 / (self._plan.rate * self._plan.time_base)

        def time(number: int) -> int:
            early = min(number, 0)  # decoding begins before the first picture is shown
            return self._times[number - early] + round(early * step)

        packet.dts = None if packet.dts is None else time(packet.dts)
        packet.pts = None if packet.pts is None else time(packet.pts)
        packet.time_base = self._plan.time_base

    def _mux(self, packets: Iterable[Packet[Any]]) -> None:
        for packet in packets:
            try:
                self._out.mux(packet)
            except _REFUSALS:
                # Damaged audio, say, which the muxer looks into: it costs that packet only.
                self._damage.refused += 1
                if self._damage.refused > _TOO_MANY or not self._copier.copies:
                    raise

    def _picture(self, frame: Frame) -> VideoFrame:
        """Return the frame as FFmpeg's, its planes shared; converted only where layouts differ."""
        given, taken = self._plan.format, self._plan.encoder.pixels
        planes = frame.planes
        if given.subsampling is None and taken.subsampling is not None:
            # Not through swscale, which would stretch grey of limited range to full.
            given = replace(given, subsampling=taken.subsampling)
            planes += tuple(self._grey(planes[0], shape) for shape in given.shapes[1:])
        layout = pixels.planar(given.bits, given.subsampling)
        picture = pixels.picture(planes, layout)
        if layout != taken.name:
            # The same range on both sides: samples are to be moved, not stretched.
            picture = picture.reformat(format=taken.name, src_color_range=1, dst_color_range=1)
        describe(picture, self._plan.look)
        return picture

    def _grey(self, like: Plane, shape: tuple[int, int]) -> Plane:
        if shape not in self._neutral:
            self._neutral[shape] = pixels.blank(like, shape, self._plan.format.bits)
        return self._neutral[shape]
