"""FFmpeg's filters between the decoder and the pipeline, such as those against interlacing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video.filtering.graph import Filter, FilterGraph
from snellen.video.source.stream_info import rate_of
from snellen.video.timestamps import fraction

_TOP_FIRST = (2, 4)
"""AV_FIELD_TT and AV_FIELD_TB."""
_BOTTOM_FIRST = (3, 5)
"""AV_FIELD_BB and AV_FIELD_BT."""

CYCLE = 5
"""Frames of which telecine has made one more than there were."""


def deinterlacing(
    stream: VideoStream, frame: VideoFrame, first: str | None = None, per_field: bool = False
) -> tuple[Filter, ...]:
    """Return the filters that make progressive frames of interlaced ones.

    Where frames carry the flag, bwdif asks each frame. Where only the container states it (FFV1 and
    ProRes in old files), or the user, it holds for all frames.

    Parameters
    ----------
    stream : VideoStream
    frame : VideoFrame
        The first that is interlaced.
    first : str, optional
        The field that comes first, "top" or "bottom"; None: as frame or container say.
    per_field : bool
        Whether each field becomes a frame; else each frame does.
    """
    flagged = first is None and frame.interlaced_frame
    how = {
        "mode": "send_field" if per_field else "send_frame",
        "deint": "interlaced" if flagged else "all",
    }
    return (*_order(stream, frame, first), Filter.of("bwdif", **how))


def inverse_telecine(
    stream: VideoStream, frame: VideoFrame, first: str | None = None
) -> tuple[Filter, ...]:
    """Return the filters that take film out of telecined frames; parameters: as `deinterlacing`.

    What finds no matching field, where video was cut between film, is deinterlaced.
    """
    return (
        *_order(stream, frame, first),
        Filter.of("fieldmatch", combmatch="full"),
        Filter.of("bwdif", mode="send_frame", deint="interlaced"),
        Filter.of("decimate", cycle=CYCLE),
    )


def _order(stream: VideoStream, frame: VideoFrame, first: str | None) -> tuple[Filter, ...]:
    """Return the filter that states which field is first, where the frames do not."""
    if first is None:
        order = int(stream.codec_context.field_order)
        if frame.interlaced_frame or order not in _TOP_FIRST + _BOTTOM_FIRST:
            return ()
        first = "top" if order in _TOP_FIRST else "bottom"
    return (Filter.of("setfield", mode="tff" if first == "top" else "bff"),)


def graph_of(
    filters: Sequence[Filter],
    stream: VideoStream,
    frame: VideoFrame,
    time_base: Fraction,
    result_base: Fraction | None = None,
) -> FilterGraph:
    """Return a graph of filters for the frames of a stream.

    Parameters
    ----------
    filters : sequence of Filter
    stream : VideoStream
        Of the frames.
    frame : VideoFrame
        The first frame to be pushed.
    time_base, result_base : Fraction
        As of `FilterGraph`.
    """
    return FilterGraph(filters, _properties(stream, frame, time_base), time_base, result_base)


def _properties(stream: VideoStream, frame: VideoFrame, time_base: Fraction) -> dict[str, str]:
    """Return the options of FFmpeg's buffer source for frames like this one."""
    aspect = fraction(stream.sample_aspect_ratio) or Fraction(1)
    rate = rate_of(stream)
    return {
        "video_size": f"{frame.width}x{frame.height}",
        "pix_fmt": frame.format.name,
        "time_base": f"{time_base.numerator}/{time_base.denominator}",
        "pixel_aspect": f"{aspect.numerator}/{aspect.denominator}",
        "colorspace": str(int(frame.colorspace)),
        "range": str(int(frame.color_range)),
        "frame_rate": f"{rate.numerator}/{rate.denominator}",  # which decimate asks for
    }
