"""VMAF, which FFmpeg's filter libvmaf computes where the FFmpeg in PyAV has it."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from fractions import Fraction
from typing import Any

import av
import numpy as np
from av.filter import Graph, filters_available

from snellen.cpu.threads import available
from snellen.errors import InputError
from snellen.files import temporary
from snellen.frames.frame import Format, Plane
from snellen.video import pixels

FILTER = "libvmaf"
_DEPTHS = (8, 10, 12, 16)
"""Bits that the filter takes."""
_SMALLEST = 17
"""Pixels of a side: where one has fewer, the filter ends the whole process (FFmpeg 9.0)."""
_LARGE = 2560 * 1440
"""Pixels from which on a picture is taken for one on a 4K screen."""


def is_there() -> bool:
    """Return whether VMAF can be computed here."""
    return FILTER in filters_available


def refused(parameter: str = "metrics") -> InputError:
    """Return the error that says why there is no VMAF, where a parameter asks for it."""
    advice = (
        "leave vmaf out, or take Python 3.12 or later, for which there is PyAV 19"
        if parameter == "metrics"
        else "take Python 3.12 or later, for which there is PyAV 19, or `target_mad`"
    )
    return InputError(
        f"`{parameter}` asks for vmaf, but the FFmpeg in PyAV {av.__version__} was built without "
        f"the filter {FILTER}, as in all wheels before PyAV 19",
        parameter=parameter,
        advice=advice,
    )


def model(format: Format) -> str:
    """Return the version of VMAF's model for pictures of a size: that for 4K screens, or not."""
    return "vmaf_4k_v0.6.1" if format.width * format.height >= _LARGE else "vmaf_v0.6.1"


class Stream:
    """VMAF of frames that come one after another, luma of a format (InputError: too small for it).

    It has a folder for temporary files.
    """

    def __init__(self, format: Format) -> None:
        if min(format.width, format.height) < _SMALLEST:
            raise InputError(
                f"got pictures of {format.width}×{format.height}; expected at least "
                f"{_SMALLEST}×{_SMALLEST} for VMAF"
            )
        self._bits = format.bits
        self._depth = next((bits for bits in _DEPTHS if bits >= format.bits), 16)
        self._layout = pixels.planar(self._depth, (1, 1))
        shape = (-(-format.height // 2), -(-format.width // 2))
        self._chroma = np.full(shape, 1 << (self._depth - 1), _kind(self._depth))
        self._number = 0
        with ExitStack() as stack:
            self._log = stack.enter_context(temporary.folder()) / "vmaf.json"
            self._build(format)
            self._stack = stack.pop_all()

    def _build(self, format: Format) -> None:
        graph = Graph()
        size = f"video_size={format.width}x{format.height}:pix_fmt={self._layout}:time_base=1/25"
        scored, reference = (graph.add("buffer", f"{size}:pixel_aspect=1/1") for _ in range(2))
        name = str(self._log).replace("\\", "\\\\").replace(":", "\\:").replace("'", "\\'")
        which = f"version={model(format)}"
        options = f"log_fmt=json:n_threads={available()}:model={which}:log_path={name}"
        compared = graph.add(FILTER, options)
        sink = graph.add("buffersink")
        scored.link_to(compared, 0, 0)  # the filter takes the film that is scored first
        reference.link_to(compared, 0, 1)
        compared.link_to(sink)
        graph.configure()
        self._graph: Graph | None = graph
        self._inputs: Any = (reference, scored)
        self._sink: Any = sink

    def push(self, reference: Plane, scored: Plane) -> None:
        """Take the luma of the next frame of the reference, and of what is scored."""
        for node, plane in zip(self._inputs, (reference, scored), strict=True):
            luma: Plane = np.left_shift(plane.astype(_kind(self._depth)), self._depth - self._bits)
            frame = pixels.picture((luma, self._chroma, self._chroma), self._layout)
            frame.pts, frame.time_base = self._number, Fraction(1, 25)
            node.push(frame)
        self._number += 1
        self._drain()

    def _drain(self) -> None:
        with suppress(av.BlockingIOError, av.EOFError):
            while True:
                self._sink.pull()

    def finish(self) -> list[float]:
        """Return the scores of all frames; none comes after this."""
        if not self._number:
            return []
        for node in self._inputs:
            node.push(None)
        self._drain()
        del node
        self._forget()
        frames = json.loads(self._log.read_text())["frames"]
        return [float(one["metrics"]["vmaf"]) for one in frames]

    def _forget(self) -> None:
        """Let go of the graph: its end writes the log."""
        if self._graph is not None:
            self._graph = self._sink = None
            self._inputs = ()
            gc.collect()  # the graph and its filters refer to each other

    def close(self) -> None:
        """Give back what it has."""
        self._forget()
        self._stack.close()


def scores(pairs: Iterable[tuple[Plane, Plane]], format: Format) -> list[float]:
    """Return VMAF of consecutive frames: luma of the reference, and of what is scored.

    The first score lacks motion, which VMAF takes from the frame before: it is too low. InputError:
    pictures that are too small for the filter.
    """
    with closing(Stream(format)) as stream:
        for pair in pairs:
            stream.push(*pair)
        return stream.finish()


def _kind(depth: int) -> type[np.uint8 | np.uint16]:
    return np.uint8 if depth == 8 else np.uint16


class Measure:
    """VMAF as a `quality.values.Measure`; errors are about `subject`."""

    colours = ""
    most: int | None = None

    def __init__(self, subject: str) -> None:
        self._subject = subject

    def scores(self, pairs: Iterable[tuple[Plane, Plane]], format: Format) -> list[float]:
        """Return the scores of consecutive frames, of two or more without the first."""
        try:
            found = scores(pairs, format)
        except InputError as error:
            raise error.about(self._subject) from None
        return found[1:] or found

    def close(self) -> None:
        """Nothing is kept."""
