"""Encodes audio anew, as AAC or Opus, where the user asks for it: late and long to the sample."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from io import BytesIO
from typing import Any, cast

import av
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream

from snellen.video.logs import logs
from snellen.video.logs.complaints import Complaints
from snellen.video.messages import counted
from snellen.video.timestamps import fraction

ENCODERS = {"aac": "aac", "opus": "libopus"}
"""FFmpeg's encoder for each kind of audio that is made here."""
_FORMATS = {"aac": "fltp", "opus": "flt"}
_BIT_RATES = {"aac": 96_000, "opus": 80_000}
"""Bits a second of each channel: nearly without audible loss, as of the pictures."""
_LAYOUTS = {1: "mono", 2: "stereo", 3: "3.0", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}
"""The usual layout of so many channels, where encoders do not take that of the input."""
_SLACK = Fraction(1, 100)
"""Seconds by which stated times may be off what the samples so far make: containers round them."""
_LONGEST = 3600
"""Seconds of silence at most that stand for missing audio."""
_LEAD = Fraction(1, 2)
"""Seconds before a clip's start from which on audio is decoded."""
_LOUDEST = 8.0
"""Samples beyond this, or not finite, as damaged float audio has them, are cut to it."""
_CUT = ("mpegts", "mpeg")
"""Containers that may begin in the middle: what is wrong before the first samples is no damage."""


class AudioConversion:
    """Decodes one stream of the input and encodes it anew, as a kind: "aac" or "opus".

    Its first sample has time 0 of the output, which is `zero` seconds of the input's clock. Silence
    stands for what is missing before it and in it, so that the rest keeps its time; all is cut at
    the clip's end, `end` on that clock (None: nowhere, or not known yet). The output has `rate`
    samples a second and FFmpeg's channel layout `layout`; `note` is what a listener may notice.
    ValueError: there is no decoder for it, or its channels cannot be encoded.
    """

    def __init__(self, template: Stream, kind: str, what: str, zero: Fraction) -> None:
        # Nobody else decodes this stream: the reader hands its packets on.
        self._decoder = cast("AudioCodecContext | None", template.codec_context)
        if self._decoder is None or not self._decoder.sample_rate:
            raise ValueError("no decoder")
        self.kind, self._what, self._zero = kind, what, zero
        self.end: Fraction | None = None
        self.rate = _rate(kind, self._decoder.sample_rate)
        given = self._decoder.layout
        self.layout = _layout(kind, self.rate, given.name, given.nb_channels)
        self.note = None
        if self.layout != given.name and not given.name.endswith("channels"):
            self.note = f"{what}: its channels ({given.name}) become {self.layout}"
        self._lenient = template.container.format.name in _CUT
        names = {self._decoder.codec.name, self._decoder.codec.canonical_name}
        self._names = names
        self._complaints = Complaints("", names)
        self._log: logs.Listener | None = None
        self._stream: AudioStream | None = None
        self._undecodable = 0
        self._absurd = 0
        self._heard = False
        self._resampler: AudioResampler | None = None
        self._shape: tuple[str, str, int] | None = None
        self._read = 0
        self._next = Fraction(0)  # where the samples so far end, in seconds of the output
        self._skip = 0  # samples of the output to leave out
        self._written = 0

    def add(self, out: OutputContainer) -> AudioStream:
        """Add the stream to an output, whose header is not written yet; packets are for this."""
        stream = out.add_stream(ENCODERS[self.kind], rate=self.rate)
        assert isinstance(stream, AudioStream)
        _set(stream.codec_context, self.kind, self.layout)
        self._stream = stream
        return stream

    def trial(self, first: Packet[Any] | None, stream: Stream) -> list[Packet[Any]]:
        """Return the packets of some silence, for an output that is thrown away."""
        frame = self._silence(self.rate // 10)
        frame.pts, frame.time_base = 0, Fraction(1, self.rate)
        return [*self._encode(frame), *self._encode(None)]

    def converted(self, packet: Packet[Any]) -> Iterator[Packet[Any]]:
        """Yield what a packet of the input becomes, with times of the output."""
        base = fraction(packet.time_base) or Fraction(1, 1000)
        early = False
        if packet.pts is not None:
            last = (packet.pts + (packet.duration or 0)) * base
            if last < self._zero - _LEAD:
                return
            early = last <= self._zero
        for frame in self._decoded(packet, early):
            at = None
            if frame.pts is not None:
                at = frame.pts * (fraction(frame.time_base) or base) - self._zero
            yield from self._placed(frame, at)

    def finish(self) -> Iterator[Packet[Any]]:
        """Yield what decoder and encoder still hold."""
        for frame in self._decoded(None, early=False):
            yield from self._placed(frame, None)
        yield from self._end_run()
        yield from self._encode(None)

    def close(self) -> None:
        """Listen to FFmpeg no more."""
        if self._log is not None:
            self._log.close()

    def damage(self) -> tuple[str, ...]:
        """Return a sentence for each kind of damage that was found so far."""
        found = []
        if self._undecodable:
            packets = counted(self._undecodable, "packet")
            found.append(f"{self._what}: {packets} could not be decoded, and are silence")
        if self._absurd:
            packets = counted(self._absurd, "packet")
            found.append(f"{self._what}: {packets} left out, as their times are hours away")
        return (*found, *(f"{self._what}: {text}" for text in self._complaints.sentences()))

    @contextmanager
    def _listening(self) -> Iterator[logs.Listener]:
        if self._log is None:
            self._log = logs.Listener()
        with self._log.here():
            yield self._log

    def _decoded(self, packet: Packet[Any] | None, early: bool) -> list[AudioFrame]:
        """Decode; count errors of what is not before the clip."""
        assert self._decoder is not None
        failed = False
        with self._listening() as log:
            try:
                frames = self._decoder.decode(packet)
            except EOFError:
                frames = []
            except (av.FFmpegError, ValueError):
                frames, failed = [], True
        messages = [one for one in log.take() if one[1] in self._names]
        if early or (self._lenient and not self._heard and not frames):
            return frames
        if failed:
            self._undecodable += 1
        elif self._heard or not self._lenient:
            self._complaints.hear(messages)
        self._heard |= bool(frames)
        return frames

    def _placed(self, frame: AudioFrame, at: Fraction | None) -> Iterator[Packet[Any]]:
        """Encode a frame that begins at `at` seconds of the output; None: behind the one before."""
        frame = _named(frame)
        shape = (frame.format.name, frame.layout.name, frame.sample_rate)
        moved = at is not None and abs(at - self._next) > _SLACK
        if at is not None and at > self._next + _LONGEST:
            self._absurd += 1
            return
        if self._resampler is None or shape != self._shape or moved:
            yield from self._end_run()
            self._resampler = AudioResampler(_FORMATS[self.kind], self.layout, self.rate)
            self._shape, self._read = shape, 0
            if at is not None and (moved or not self._written):
                self._next = at
            place = round(self._next * self.rate)
            yield from self._quiet(place - self._written)
            self._skip = max(0, self._written - place)
        self._next += Fraction(frame.samples, frame.sample_rate)
        frame.pts, frame.time_base = self._read, Fraction(1, frame.sample_rate)
        self._read += frame.samples
        with self._listening():
            parts = self._resampler.resample(frame)
        for part in parts:
            yield from self._encoded(part)

    def _end_run(self) -> Iterator[Packet[Any]]:
        """Encode what the resampler holds: what follows is not its continuation."""
        if self._resampler is None:
            return
        with self._listening():
            parts = self._resampler.resample(None)
        self._resampler = None
        for part in parts:
            if part is not None:
                yield from self._encoded(part)

    def _quiet(self, samples: int) -> Iterator[Packet[Any]]:
        """Encode so many samples of silence, a second at a time."""
        self._skip = 0
        while samples > 0:
            part = self._silence(min(samples, self.rate))
            samples -= part.samples
            yield from self._encoded(part)

    def _encoded(self, part: AudioFrame) -> Iterator[Packet[Any]]:
        """Encode what of a part of the output is neither before nor behind the clip."""
        first = min(self._skip, part.samples)
        self._skip -= first
        keep = part.samples - first
        if self.end is not None:
            keep = min(keep, round((self.end - self._zero) * self.rate) - self._written)
        if keep <= 0:
            return
        part = _cut(part, first, keep)
        part.pts, part.time_base = self._written, Fraction(1, self.rate)
        self._written += keep
        yield from self._encode(part)

    def _encode(self, frame: AudioFrame | None) -> list[Packet[Any]]:
        assert self._stream is not None  # `add` made it
        with self._listening():
            return list(self._stream.encode(frame))

    def _silence(self, samples: int) -> AudioFrame:
        channels = av.AudioLayout(self.layout).nb_channels
        planar = av.AudioFormat(_FORMATS[self.kind]).is_planar
        shape = (channels, samples) if planar else (1, samples * channels)
        frame = AudioFrame.from_ndarray(
            np.zeros(shape, np.float32), format=_FORMATS[self.kind], layout=self.layout
        )
        frame.sample_rate = self.rate
        return frame


def convertible_audio(
    template: Stream, kind: str, what: str, zero: Fraction
) -> AudioConversion | None:
    """Return what encodes a stream anew; None: it cannot be decoded, or not be encoded so."""
    try:
        return AudioConversion(template, kind, what, zero)
    except (av.FFmpegError, ValueError):
        return None


@cache
def takes(muxer: str, kind: str) -> bool:
    """Return whether a container takes such audio."""
    try:
        with av.open(BytesIO(), "w", format=muxer) as out:
            stream = out.add_stream(ENCODERS[kind], rate=48000)
            assert isinstance(stream, AudioStream)
            _set(stream.codec_context, kind, "stereo")
            out.start_encoding()
    except (av.FFmpegError, ValueError):
        return False
    return True


def _rate(kind: str, given: int) -> int:
    """Return the encoder's sample rate that loses nothing, or least."""
    if kind == "opus":
        return 48000  # its others are for narrow bands
    offered = av.Codec(ENCODERS[kind], "w").audio_rates or [48000]
    return min((one for one in offered if one >= given), default=max(offered))


def _layout(kind: str, rate: int, name: str, channels: int) -> str:
    """Return the layout of the channels that the encoder takes; ValueError: it takes none."""
    for layout in (name, _LAYOUTS.get(channels)):
        if layout is None or layout.endswith("channels"):
            continue
        context = cast("AudioCodecContext", av.CodecContext.create(ENCODERS[kind], "w"))
        context.sample_rate = rate
        try:
            _set(context, kind, layout)
            context.open()
        except (av.FFmpegError, ValueError):
            continue
        return layout
    raise ValueError("no layout")


def _set(context: AudioCodecContext, kind: str, layout: str) -> None:
    context.format, context.layout = _FORMATS[kind], layout
    context.bit_rate = _BIT_RATES[kind] * context.layout.nb_channels
    context.time_base = Fraction(1, context.sample_rate)


def _named(frame: AudioFrame) -> AudioFrame:
    """Return the frame with the usual layout where it states only how many channels there are."""
    layout = _LAYOUTS.get(frame.layout.nb_channels)
    if layout is None or not frame.layout.name.endswith("channels"):
        return frame
    found = AudioFrame.from_ndarray(frame.to_ndarray(), format=frame.format.name, layout=layout)
    found.sample_rate = frame.sample_rate
    return found


def _cut(part: AudioFrame, first: int, keep: int) -> AudioFrame:
    """Return some samples of a frame, all of them finite; itself where it is all of it."""
    samples: Any = part.to_ndarray()
    wild = not np.abs(samples).max(initial=0) <= _LOUDEST  # true of NaN
    if keep == part.samples and not wild:
        return part
    width = 1 if part.format.is_planar else part.layout.nb_channels
    samples = samples[:, first * width : (first + keep) * width]
    if wild:
        samples = np.clip(np.nan_to_num(samples), -_LOUDEST, _LOUDEST)
    found = AudioFrame.from_ndarray(
        np.ascontiguousarray(samples), format=part.format.name, layout=part.layout.name
    )
    found.sample_rate = part.sample_rate
    return found
