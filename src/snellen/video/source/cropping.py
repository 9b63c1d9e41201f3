"""The edges that a container hides of all pictures (Matroska's PixelCrop, clap of mp4 and mov)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.video import pixels
from snellen.video.filtering.graph import Filter, FilterGraph
from snellen.video.logs import logs
from snellen.video.source.filters import graph_of

_STREAM = re.compile(r"^\s*Stream #0:(\d+)")
_CROPPING = re.compile(r"^\s*Frame Cropping: (\d+)/(\d+)/(\d+)/(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Edges:
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
            edges = Edges(*(int(one) for one in found.groups()))
            return edges if edges != Edges(0, 0, 0, 0) else None
    return None


class Cropper:
    """Cuts the hidden edges off, as FFmpeg's program does: by its filter `crop`, without a copy.

    That filter begins at whole chroma samples, and ends so.

    Parameters
    ----------
    container : InputContainer
    stream : VideoStream
    time_base : Fraction
        Seconds of a tick of the frames' times.

    Attributes
    ----------
    notice : str or None
        What is done; known after the first frame. None: there is nothing to cut.
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
