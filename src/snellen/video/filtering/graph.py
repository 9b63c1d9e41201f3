"""FFmpeg's filter graphs: filters one after another, each with one input and one output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from itertools import count
from typing import Any

import av
import av.filter
from av.filter import Graph, filters_available
from av.video.frame import VideoFrame

from snellen.cpu.threads import chosen
from snellen.errors import InputError, quoted
from snellen.frames import limits
from snellen.video.logs import logs
from snellen.video.messages import counted
from snellen.video.timestamps import fraction

_DYNAMIC_INPUTS = 1
"""AVFILTER_FLAG_DYNAMIC_INPUTS."""
_INSTEAD = {
    "boxblur": "avgblur", "colormatrix": "colorspace", "delogo": "removelogo",
    "eq": "lutyuv, huesaturation", "fspp": "deblock", "hqdn3d": "atadenoise, fftdnoiz, nlmeans",
    "kerndeint": "bwdif", "mpdecimate": "decimate", "nnedi": "bwdif",
    "owdenoise": "nlmeans", "pp": "deblock", "smartblur": "bilateral", "spp": "deblock",
    "vaguedenoiser": "nlmeans", "zscale": "scale, colorspace",
}  # fmt: skip
"""Filters that FFmpeg lacks under the LGPL, or without zimg, and what is like them there."""
_MOST = 20_000
"""Frames that filters may give for one: some never end."""
_AHEAD = 1 << 28
"""Most bytes of frames that are taken from a graph at once, or 1/32 of the memory."""
_CHECKED = 16
"""After so many frames it is checked how much memory a graph holds."""


Timed = tuple[VideoFrame, int | None]
"""A result, and its time in ticks of the results' time base; None: it has no time."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One of FFmpeg's filters, with its options."""

    name: str
    arguments: str = ""
    """Its options as FFmpeg reads them, separated by colons."""
    instance: str | None = None
    """Its name in messages and for other filters; None: as FFmpeg likes."""

    @classmethod
    def of(cls, name: str, **options: object) -> Filter:
        """Return a filter with options that are Python's values."""
        return cls(name, arguments(options))

    def __str__(self) -> str:
        return f"{self.name}={self.arguments}" if self.arguments else self.name


class FilterGraph:
    """A configured graph of filters for frames of one kind.

    `source` has options of FFmpeg's buffer source. Size, pixel format, colour and sample aspect
    ratio of the frames are stated by them; FFmpeg would assume square pixels and unspecified
    colour. Times of frames have ticks of `time_base` seconds, those of results ticks of
    `result_base` (None: the same). InputError, about `parameter`: FFmpeg does not know a filter or
    one of its options, or cannot connect them.
    """

    def __init__(
        self,
        filters: Sequence[Filter],
        source: Mapping[str, str],
        time_base: Fraction,
        result_base: Fraction | None = None,
        parameter: str | None = None,
    ) -> None:
        self._time_base = time_base
        self._result_base = result_base or time_base
        self._done, self._parameter = False, parameter
        self._fed = self._given = 0
        self._before = limits.resident()
        self._graph, _ = configured(filters, source, parameter)

    def push(self, frame: VideoFrame | None) -> list[Timed]:
        """Take a frame (None: there are no more); return the frames that are ready.

        Each comes with its time in ticks of the results' time base; None: it has no time.
        """
        return list(self.results(frame))

    def results(self, frame: VideoFrame | None) -> Iterator[Timed]:
        """Yield what `push` returns, made when it is needed; the next frame comes after all of it.

        A part is taken ahead: filters that never end are known at once, as far as they repeat few
        frames.
        """
        if self._done:
            return
        self._done = frame is None
        if frame is not None:
            frame.time_base = self._time_base
            self._check_held()
        try:
            self._graph.vpush(frame)
        except av.EOFError:  # a filter wants no more, as trim behind its end
            self._done = True
        most = min(_AHEAD, limits.memory() // 32)
        taken, memory = deque[Timed](), set[int]()
        for found in self._pulled():
            taken.append(found)
            memory.add(int(found[0].planes[0].buffer_ptr))
            if len(memory) * frame_bytes(found[0]) > most:
                while taken:
                    yield taken.popleft()
                memory.clear()
        yield from taken

    def _pulled(self) -> Iterator[Timed]:
        for number in count():
            try:
                ready = self._graph.vpull()
            except (av.BlockingIOError, av.EOFError):
                return
            if number == _MOST:
                raise InputError(
                    f"these filters give more than {_MOST} frames at once, or never end",
                    parameter=self._parameter,
                )
            self._given += 1
            yield ready, self._ticks(ready)

    def _check_held(self) -> None:
        """Refuse (InputError) filters that keep so many frames that the memory would be full."""
        # Those that drop frames keep none of them, and the process does not grow.
        self._fed += 1
        kept = self._fed - self._given
        if self._fed % _CHECKED or self._before is None or kept <= self._fed // 2:
            return
        grown = (limits.resident() or 0) - self._before
        if grown > limits.memory() // 4 * 3:
            raise InputError(
                f"these filters keep {kept} frames in memory, {grown / 1e9:.1f} GB so far, and "
                "would fill it",
                parameter=self._parameter,
                advice="give them a part of the film (`duration`, `frames`)",
            )

    def _ticks(self, frame: VideoFrame) -> int | None:
        if frame.pts is None:
            return None
        base = fraction(frame.time_base) or self._time_base  # bwdif halves it
        return round(frame.pts * base / self._result_base)


def frame_bytes(frame: VideoFrame) -> int:
    """Return the bytes of a frame's samples."""
    return sum(plane.buffer_size for plane in frame.planes)


def configured(
    filters: Sequence[Filter], source: Mapping[str, str], parameter: str | None = None
) -> tuple[Graph, list[logs.Message]]:
    """Return a configured graph, and what FFmpeg logged of the connections.

    Parameters and errors are those of `FilterGraph`.
    """
    failed: Exception | None = None
    graph = Graph()
    graph.threads = chosen() or 0
    with logs.listening(av.logging.VERBOSE) as messages:
        try:
            nodes = [graph.add("buffer", arguments(source))]
            nodes += [_added(graph, one, parameter) for one in filters]
            nodes.append(graph.add("buffersink"))
            graph.link_nodes(*nodes).configure()
        except (av.FFmpegError, ValueError) as error:
            failed = error
    if failed is None:
        return graph, messages
    texts = dict.fromkeys(
        f"{name}: {text.strip()}" if name else text.strip()
        for level, name, text in messages
        if level <= av.logging.WARNING
    )
    what = "the filters " + ", ".join(one.name for one in filters)
    if parameter is not None:
        what = f"`{parameter}`"
    raise InputError(
        f"FFmpeg cannot set up {what}: {'; '.join(texts) or failed}", parameter=parameter
    )


def _added(graph: Graph, one: Filter, parameter: str | None) -> Any:
    """Add a filter to a graph (InputError: there is none, or it is no link of a chain)."""
    try:
        kind: Any = av.filter.Filter(one.name)
    except ValueError:
        instead = _INSTEAD.get(one.name)
        near = ", ".join(get_close_matches(one.name, sorted(filters_available), 3))
        alike = f"these have similar names: {near}" if near else None
        raise InputError(
            f"this FFmpeg has no filter {quoted(one.name)}",
            parameter=parameter,
            advice=alike if instead is None else f"it has {instead}",
        ) from None
    if not (kind.inputs or kind.flags & _DYNAMIC_INPUTS):  # before it opens a file
        raise InputError(f"{one.name} makes pictures of its own", parameter=parameter)
    name = {} if one.instance is None else {"name": one.instance}
    node: Any = graph.add(one.name, one.arguments or None, **name)
    if (given := len(node.inputs), out := len(node.outputs)) != (1, 1):
        raise InputError(
            f"{one.name} has {counted(given, 'input')} and {counted(out, 'output')}; expected "
            "filters with one of each",
            parameter=parameter,
        )
    return node


def arguments(options: Mapping[str, object]) -> str:
    """Return options as FFmpeg reads them, special characters escaped (ffmpeg-utils, Quoting)."""
    return ":".join(f"{key}={escaped(str(value))}" for key, value in options.items())


def escaped(value: str) -> str:
    """Return an option's value as FFmpeg reads it."""
    return "".join(f"\\{c}" if c in "\\':" else c for c in value)
