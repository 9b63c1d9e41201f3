"""A filter of FFmpeg that compares the frames of two films, one after another."""

from __future__ import annotations

import gc
from contextlib import suppress
from fractions import Fraction
from typing import Any

import av
import numpy as np
from av.filter import Graph

from snellen.frames.frame import Format, Plane
from snellen.video import pixels

Planes = tuple[Plane, ...]


def depth_of(bits: int, taken: tuple[int, ...]) -> int | None:
    """Return the least depth of those that a filter takes that holds samples; None: none does."""
    return next((depth for depth in taken if depth >= bits), None)


class FilmGraph:
    """A filter with two inputs.

    Parameters
    ----------
    filter, options : str
        FFmpeg's name of the filter, and its options.
    format : Format
        Of the planes to come; where it is luma only, chroma is neutral.
    depth : int
        The depth that the filter gets: samples are shifted to it.
    rate : Fraction
        Frames a second.

    Attributes
    ----------
    found : list of dict
        FFmpeg's metadata of each frame that has come out so far.
    """

    def __init__(
        self, filter: str, options: str, format: Format, depth: int, rate: Fraction
    ) -> None:
        self._shift, self._dtype = depth - format.bits, np.uint8 if depth == 8 else np.uint16
        subsampling = format.subsampling or (1, 1)
        self._layout = pixels.planar(depth, subsampling)
        self._neutral: Planes = ()
        if format.subsampling is None:
            shape = (-(-format.height // 2), -(-format.width // 2))
            self._neutral = (np.full(shape, 1 << (depth - 1), self._dtype),) * 2
        self._base, self._number = 1 / Fraction(rate), 0
        self.found: list[dict[str, str]] = []
        graph = Graph()
        buffer = (
            f"video_size={format.width}x{format.height}:pix_fmt={self._layout}:pixel_aspect=1/1:"
            f"time_base={self._base}:frame_rate={rate}"
        )
        inputs = tuple(graph.add("buffer", buffer) for _ in range(2))
        compared, sink = graph.add(filter, options), graph.add("buffersink")
        for number, node in enumerate(inputs):
            node.link_to(compared, 0, number)
        compared.link_to(sink)
        graph.configure()
        self._graph: Graph | None = graph
        self._inputs: Any = inputs
        self._sink: Any = sink

    def push(self, *both: Planes) -> None:
        """Take the next frame of each input."""
        for node, planes in zip(self._inputs, both, strict=True):
            shifted = (np.left_shift(one.astype(self._dtype), self._shift) for one in planes)
            frame = pixels.picture((*shifted, *self._neutral), self._layout)
            frame.pts, frame.time_base = self._number, self._base
            node.push(frame)
        self._number += 1
        self._drain()

    def _drain(self) -> None:
        with suppress(av.BlockingIOError, av.EOFError):
            while True:
                self.found.append(dict(self._sink.pull().metadata))

    def finish(self) -> None:
        """End both films, and the graph: a filter may write its log then."""
        if self._number:
            for node in self._inputs:
                node.push(None)
            self._drain()
            del node
        self.close()

    def close(self) -> None:
        """Let go of the graph."""
        if self._graph is not None:
            self._graph = self._sink = None
            self._inputs = ()
            gc.collect()  # the graph and its filters refer to each other
