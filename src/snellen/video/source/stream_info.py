"""Describes an open container: its streams, tags and chapters, and the video's pictures."""

from __future__ import annotations

from fractions import Fraction

from av.container import InputContainer
from av.stream import Discard, Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.frames.frame import CENTRE, LEFT, Format
from snellen.video import pixels, side_data
from snellen.video.ffmpeg import FULL_RANGE, chroma_location
from snellen.video.media import ChapterInfo, PictureInfo, StreamInfo
from snellen.video.side_data import SideData
from snellen.video.source.watcher import colours_of
from snellen.video.timestamps import fraction

_CENTRED = ("mjpeg", "mpeg1video")
"""Codecs whose chroma is centred where nothing is stated (JFIF; ISO/IEC 11172-2)."""

TOP_FIRST, BOTTOM_FIRST = (2, 4), (3, 5)
"""AV_FIELD_TT and AV_FIELD_TB, AV_FIELD_BB and AV_FIELD_BT."""
CODED_ONLY = ("mpegts", "mpeg", "h264", "hevc", "mpegvideo", "m4v")
"""Containers, or none at all, that state no aspect ratio: FFmpeg's description of the stream has
one that it found in it, not always that of the first frame."""
OWN_TIMES = ("mpegvideo", "m4v")
"""Raw streams whose times are those of their own headers, where FFmpeg calls 25 the average."""


def rate_of(stream: VideoStream) -> Fraction:
    """Return frames a second: the average, FFmpeg's guess, or 25 where nothing is known."""
    values = [stream.average_rate, stream.guessed_rate, stream.base_rate]
    if stream.container.format.name in OWN_TIMES:
        values.pop(0)
    for value in values:
        rate = fraction(value)
        if rate is not None and rate > 0:
            return rate
    return Fraction(25)


def stream_info(stream: Stream) -> StreamInfo:
    """Describe a stream of whatever type."""
    context = stream.codec_context
    return StreamInfo(
        index=stream.index,
        type=stream.type,
        codec=context.codec.canonical_name or "" if context else "",
        name=getattr(stream, "name", None),
        time_base=fraction(stream.time_base),
        tags=dict(stream.metadata),
        disposition=stream.disposition,
        discarded=stream.discard == Discard.all,
    )


def chapters_of(container: InputContainer) -> tuple[ChapterInfo, ...]:
    """Describe the container's chapters."""
    found = []
    for chapter in container.chapters():
        base = fraction(chapter["time_base"]) or Fraction(1, 1000)
        start, end = chapter["start"] * base, chapter["end"] * base
        found.append(ChapterInfo(chapter["id"], start, end, dict(chapter["metadata"])))
    return tuple(found)


def picture_info(
    container: InputContainer, stream: VideoStream, frame: VideoFrame, data: SideData
) -> PictureInfo:
    """Describe the pictures of `stream`, of which `frame` is the first, with its side data."""
    layout = pixels.parse(frame.format.name)
    context = stream.codec_context
    colours = colours_of(stream, frame)
    location = None
    if layout.subsampling not in (None, (0, 0)):
        location = chroma_location(container, stream)
    codec = context.codec.canonical_name
    if location is None and codec in _CENTRED:
        location = "center"
    coded = fraction(context.sample_aspect_ratio)
    unstated = container.format.name in CODED_ONLY
    planar = pixels.parse(layout.planar)
    format = Format(
        frame.width,
        frame.height,
        planar.bits,
        planar.subsampling,
        _siting(location, codec, layout.subsampling),
        colours.range == FULL_RANGE,
    )
    return PictureInfo(
        format=format,
        chroma_location=location,
        color_range=colours.range,
        colorspace=colours.matrix,
        color_primaries=colours.primaries,
        color_trc=colours.transfer,
        sample_aspect_ratio=(coded if unstated else None) or fraction(stream.sample_aspect_ratio),
        display_matrix=side_data.display_matrix(data),
        light=side_data.light(data, context),
        losses=side_data.losses(data),
        pixel_format=frame.format.name,
        coded_aspect_ratio=coded,
        alpha=layout.alpha,
        opaque=not layout.alpha or pixels.is_opaque(frame),
    )


def _siting(
    location: str | None, codec: str, subsampling: tuple[int, int] | None
) -> tuple[float, float]:
    if location is not None:
        return pixels.siting(location, subsampling)
    return CENTRE if codec in _CENTRED else pixels.siting("left", subsampling) or LEFT


def is_interlaced(stream: VideoStream, frame: VideoFrame) -> bool:
    """Return whether the frame, or its stream as a whole, is marked as interlaced."""
    return (
        frame.interlaced_frame or int(stream.codec_context.field_order) in TOP_FIRST + BOTTOM_FIRST
    )
