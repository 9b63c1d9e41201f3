"""Converts subtitles of text to the kind that the output's container holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

import av
from av.container import OutputContainer
from av.packet import Packet
from av.stream import Stream
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.stream import SubtitleStream
from av.subtitles.subtitle import SubtitleSet

KINDS = {"mp4": "mov_text", "mov": "mov_text", "matroska": "subrip", "webm": "webvtt"}
"""The kind of text that a container holds, FFmpeg's names of codecs, by FFmpeg's muxer."""
_STYLED = ("ass", "ssa")
"""Codecs with styles, positions and effects, which the kinds above do not have."""
_PLAIN = ("subrip", "srt", "webvtt", "mov_text", "text", "microdvd", "subviewer", "sami")
_TICK = Fraction(1, 1000)
_FIELDS = 8
"""Commas before the text of an ASS event, as FFmpeg's decoders give it."""


class TextSubtitles:
    """Converts the packets of one stream of the input to a kind, FFmpeg's name of a codec.

    `styled`: styles and positions are lost; `failed` packets so far could not be decoded.
    """

    def __init__(self, template: Stream, kind: str) -> None:
        codec = template.codec_context
        self.kind = kind
        self.styled = codec.codec.canonical_name in _STYLED
        self.failed = 0
        # A decoder of our own: the input's belongs to the thread that reads it.
        self._decoder = cast("SubtitleCodecContext", av.CodecContext.create(codec.codec.name, "r"))
        self._decoder.extradata = codec.extradata
        self._decoder.open()

    def add(self, out: OutputContainer) -> SubtitleStream:
        """Add the stream to an output, whose header is not written yet."""
        stream = cast("SubtitleStream", out.add_stream(self.kind))
        stream.codec_context.subtitle_header = self._decoder.subtitle_header
        stream.codec_context.time_base = stream.time_base = _TICK
        return stream

    def trial(self, first: Packet[Any] | None, stream: Stream) -> list[Packet[Any]]:
        """Return the first packet, for an output that is thrown away."""
        found = None if first is None else self.converted(first, stream)
        return [] if found is None else [found]

    def converted(self, packet: Packet[Any], stream: Stream) -> Packet[Any] | None:
        """Return the packet for the output's stream, its times unchanged; None: it has no text."""
        try:
            found = self._decoder.decode2(packet)
            events = [] if found is None else [one for one in found.rects if _text(one)]
            if not events:
                return None
            payload = self._encoded(events, cast("SubtitleStream", stream), packet)
        except (av.FFmpegError, ValueError):
            self.failed += 1
            return None
        result: Packet[Any] = Packet(payload)
        result.pts, result.dts, result.duration = packet.pts, packet.dts, packet.duration
        result.time_base = packet.time_base
        result.stream = stream
        return result

    def _encoded(self, events: list[Any], stream: SubtitleStream, packet: Packet[Any]) -> bytes:
        """Return events of one time as one, which is all that the encoders take."""
        text = events[0].ass
        if len(events) > 1:
            head = text.split(b",", _FIELDS)[:_FIELDS]
            text = b",".join([*head, rb"\N".join(_text(one) for one in events)])
        shown = SubtitleSet.create(text=text, start=0, end=int(packet.duration or 0), pts=0)
        return bytes(stream.codec_context.encode_subtitle(shown))


def convertible(template: Stream, muxer: str) -> TextSubtitles | None:
    """Return what converts a stream to text that a container holds; None: it is no text."""
    kind = KINDS.get(muxer)
    codec = template.codec_context
    if kind is None or template.type != "subtitle" or codec is None:
        return None
    name = codec.codec.canonical_name
    if name == kind or name not in (*_STYLED, *_PLAIN):
        return None
    try:
        return TextSubtitles(template, kind)
    except (av.FFmpegError, ValueError):
        return None


def _text(event: Any) -> bytes:
    """Return the text of an event, with ASS's codes in it; empty: of a picture."""
    parts: list[bytes] = getattr(event, "ass", b"").split(b",", _FIELDS)
    return parts[_FIELDS] if len(parts) > _FIELDS else b""
