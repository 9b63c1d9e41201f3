"""FFmpeg filter graphs between the decoder and the pipeline, such as those against interlacing."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import av
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.video import logs
from snellen.video.source.stream_info import rate_of
from snellen.video.timestamps import fraction

_TOP_FIRST = (2, 4)
"""AV_FIELD_TT and AV_FIELD_TB."""
_BOTTOM_FIRST = (3, 5)
"""AV_FIELD_BB and AV_FIELD_BT."""

CYCLE = 5
"""Frames of which telecine has made one more than there were."""


@dataclass(frozen=True, slots=True)
class Filters:
    """FFmpeg filters, applied one after another: each with one input and one output."""

    chain: tuple[tuple[str, Mapping[str, str]], ...]
    """FFmpeg's name of each filter, and its options."""


def deinterlacing(
    stream: VideoStream, frame: VideoFrame, first: str | None = None, per_field: bool = False
) -> Filters:
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
    return Filters((*_order(stream, frame, first), ("bwdif", how)))


def inverse_telecine(stream: VideoStream, frame: VideoFrame, first: str | None = None) -> Filters:
    """Return the filters that take film out of telecined frames; parameters: as `deinterlacing`.

    What finds no matching field, where video was cut between film, is deinterlaced.
    """
    return Filters(
        (
            *_order(stream, frame, first),
            ("fieldmatch", {"combmatch": "full"}),
            ("bwdif", {"mode": "send_frame", "deint": "interlaced"}),
            ("decimate", {"cycle": str(CYCLE)}),
        )
    )


def _order(
    stream: VideoStream, frame: VideoFrame, first: str | None
) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return the filter that states which field is first, where the frames do not."""
    if first is None:
        order = int(stream.codec_context.field_order)
        if frame.interlaced_frame or order not in _TOP_FIRST + _BOTTOM_FIRST:
            return ()
        first = "top" if order in _TOP_FIRST else "bottom"
    return (("setfield", {"mode": "tff" if first == "top" else "bff"}),)


class FilterGraph:
    """A configured graph of filters for frames like the first one.

    Parameters
    ----------
    filters : Filters
    stream : VideoStream
        Of the frames.
    frame : VideoFrame
        The first frame to be pushed. Its size, pixel format and colour, and the stream's sample
        aspect ratio, are stated to the graph, which otherwise would assume square pixels and
        unspecified colour.
    time_base : Fraction
        Seconds of a tick of the frames' times.
    result_base : Fraction, optional
        Seconds of a tick of the results' times; None: the same.

    Raises
    ------
    InputError
        FFmpeg does not know a filter or one of its options, or cannot connect them.
    """

    def __init__(
        self,
        filters: Filters,
        stream: VideoStream,
        frame: VideoFrame,
        time_base: Fraction,
        result_base: Fraction | None = None,
    ) -> None:
        self._time_base = time_base
        self._result_base = result_base or time_base
        self._done = False
        source = _properties(stream, frame, time_base)
        try:
            self._graph = _configured(source, filters)
        except (av.FFmpegError, ValueError) as error:
            raise InputError(_failure(source, filters, error)) from None

    def push(self, frame: VideoFrame | None) -> list[tuple[VideoFrame, int | None]]:
        """Take a frame (None: there are no more); return the frames that are ready.

        Each comes with its time in ticks of the results' time base; None: it has no time.
        """
        if self._done:
            return []
        self._done = frame is None
        if frame is not None:
            frame.time_base = self._time_base
        self._graph.vpush(frame)
        out: list[tuple[VideoFrame, int | None]] = []
        while True:
            try:
                ready = self._graph.vpull()
            except (av.BlockingIOError, av.EOFError):
                return out
            out.append((ready, self._ticks(ready)))

    def _ticks(self, frame: VideoFrame) -> int | None:
        if frame.pts is None:
            return None
        base = fraction(frame.time_base) or self._time_base  # bwdif halves it
        return round(frame.pts * base / self._result_base)


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


def _configured(source: Mapping[str, str], filters: Filters) -> Graph:
    graph = Graph()
    nodes = [graph.add("buffer", _arguments(source))]
    nodes += [graph.add(name, _arguments(options) or None) for name, options in filters.chain]
    nodes.append(graph.add("buffersink"))
    graph.link_nodes(*nodes).configure()
    return graph


def _failure(source: Mapping[str, str], filters: Filters, error: Exception) -> str:
    """Set the graph up once more to hear what FFmpeg logs: its error names no filter or option."""
    with logs.listening() as messages, suppress(av.FFmpegError, ValueError):
        _configured(source, filters)
    details = "; ".join(dict.fromkeys(text.strip() for _, _, text in messages)) or str(error)
    names = ", ".join(name for name, _ in filters.chain)
    return f"FFmpeg cannot set up the filters {names}: {details}"


def _arguments(options: Mapping[str, str]) -> str:
    """Return options as FFmpeg reads them, special characters escaped (ffmpeg-utils, Quoting)."""
    return ":".join(f"{key}={_escaped(value)}" for key, value in options.items())


def _escaped(value: str) -> str:
    return "".join(f"\\{c}" if c in "\\':" else c for c in value)
