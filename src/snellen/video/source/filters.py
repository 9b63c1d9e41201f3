"""FFmpeg's filters behind the decoder: against interlacing, and for edges that are hidden."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video import pixels
from snellen.video.filtering.graph import Filter, FilterGraph
from snellen.video.logs import logs
from snellen.video.source.stream_info import BOTTOM_FIRST, TOP_FIRST, rate_of
from snellen.video.timestamps import fraction

CYCLE = 5
"""Frames of which telecine has made one more than there were."""


def deinterlacing(
    stream: VideoStream, frame: VideoFrame, first: str | None = None, per_field: bool = False
) -> tuple[Filter, ...]:
    """Return the filters that make progressive frames of interlaced ones.

    Where frames carry the flag, bwdif asks each frame. Where only the container states it (FFV1 and
    ProRes in old files), or the user, it holds for all frames. `frame` is the first interlaced one;
    the field `first` is "top", "bottom", or as frame or container say.
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
        if frame.interlaced_frame or order not in TOP_FIRST + BOTTOM_FIRST:
            return ()
        first = "top" if order in TOP_FIRST else "bottom"
    return (Filter.of("setfield", mode="tff" if first == "top" else "bff"),)


def graph_of(
    filters: Sequence[Filter],
    stream: VideoStream,
    frame: VideoFrame,
    time_base: Fraction,
    result_base: Fraction | None = None,
) -> FilterGraph:
    """Return a graph of filters for the frames of a stream, of which `frame` is pushed first."""
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


_STREAM = re.compile(r"^\s*Stream #0:(\d+)")
_CROPPING = re.compile(r"^\s*Frame Cropping: (\d+)/(\d+)/(\d+)/(\d+)", re.IGNORECASE)


class Edges(NamedTuple):
    """Samples of luma at each side."""

    left: int
    right: int
    top: int
    bottom: int


def hidden_edges(container: InputContainer, stream: VideoStream) -> Edges | None:
    """Return the edges that are not to be shown of a stream; None: the container hides none.

    PyAV 18 has no attribute for it, but FFmpeg's own description of the streams contains it.
    """
    index = None
    for line in logs.description(container).splitlines():
        if begin := _STREAM.match(line):
            index = int(begin[1])
        elif index == stream.index and (found := _CROPPING.match(line)):
            edges = Edges(*map(int, found.groups()))
            return edges if any(edges) else None
    return None


class Cropper:
    """Cuts the hidden edges off, as FFmpeg's program does: by its filter `crop`, without a copy.

    That filter begins at whole chroma samples, and ends so. From the first frame on, `notice` says
    what is done; None: there is nothing to cut.
    """

    def __init__(self, container: InputContainer, stream: VideoStream, time_base: Fraction) -> None:
        self._stream, self._time_base = stream, time_base
        self._edges = hidden_edges(container, stream)
        self._graph: FilterGraph | None = None
        self._shape: tuple[int, int, str] | None = None
        self.notice: str | None = None

    def __call__(self, frame: VideoFrame) -> VideoFrame:
        """Return a frame without the hidden edges."""
        if self._edges is None:
            return frame
        shape = frame.width, frame.height, frame.format.name
        if shape != self._shape:
            self._shape, self._graph = shape, self._begun(self._edges, frame)
        if self._graph is None:
            return frame
        ((found, _),) = self._graph.push(frame)
        return found

    def _begun(self, edges: Edges, frame: VideoFrame) -> FilterGraph | None:
        """Return a graph for frames like this one; None: nothing would be left of them."""
        width = frame.width - edges.left - edges.right
        height = frame.height - edges.top - edges.bottom
        across, down = pixels.parse(frame.format.name).subsampling or (0, 0)
        kept = width >> across << across, height >> down << down
        said = f"its container shows {width}×{height} of its {frame.width}×{frame.height} pixels"
        if min(kept) <= 0:
            self.notice = f"{said}, which is no whole chroma sample: they are not cropped"
            return None
        self.notice = f"{said}: the rest is cut off"
        places = edges.left >> across << across, edges.top >> down << down
        if (*kept, *places) != (width, height, edges.left, edges.top):
            self.notice += (
                f", at whole chroma samples: {kept[0]}×{kept[1]} from column {places[0]}, row "
                f"{places[1]}"
            )
        crop = Filter.of("crop", w=kept[0], h=kept[1], x=places[0], y=places[1])
        return graph_of([crop], self._stream, frame, self._time_base)
