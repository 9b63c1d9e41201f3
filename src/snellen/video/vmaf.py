"""VMAF, which FFmpeg's filter libvmaf computes where the FFmpeg in PyAV has it."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.filter import Graph, filters_available

from snellen.cpu.threads import available
from snellen.errors import InputError
from snellen.frames import temporary
from snellen.frames.frame import Format, Plane
from snellen.video import pixels

FILTER = "libvmaf"
_DEPTHS = (8, 10, 12, 16)
"""Bits that the filter takes."""
_LARGE = 2560 * 1440
"""Pixels from which on a picture is taken for one on a 4K screen."""


def is_there() -> bool:
    """Return whether VMAF can be computed here."""
    return FILTER in filters_available


def refused(parameter: str = "metrics") -> InputError:
    """Return the error that says why there is no VMAF, where a parameter asks for it."""
    if is_there():  # a score: it is not yet among the metrics of a table
        return InputError(
            f"`{parameter}` asks for vmaf, but the FFmpeg in PyAV {av.__version__} has the filter "
            f"{FILTER}, which Snellen does not use yet",
            parameter=parameter,
            advice="leave vmaf out; a program ffmpeg with this filter computes it: "
            f"ffmpeg -i DIST -i REF -lavfi {FILTER} -f null -",
        )
    advice = (
        "leave vmaf out; a program ffmpeg with this filter computes it: "
        f"ffmpeg -i DIST -i REF -lavfi {FILTER} -f null -"
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


def scores(pairs: Iterable[tuple[Plane, Plane]], format: Format) -> list[float]:
    """Return VMAF of consecutive frames: luma of the reference, and of what is scored.

    The first score lacks motion, which VMAF takes from the frame before: it is too low.
    """
    depth = next((bits for bits in _DEPTHS if bits >= format.bits), 16)
    layout = pixels.planar(depth, (1, 1))
    with temporary.folder() as folder:
        _run(pairs, format, depth, layout, folder / "vmaf.json")
        gc.collect()  # the graph and its filters refer to each other; the log is written at its end
        text = (folder / "vmaf.json").read_text()
    return [float(one["metrics"]["vmaf"]) for one in json.loads(text)["frames"]]


def _run(
    pairs: Iterable[tuple[Plane, Plane]], format: Format, depth: int, layout: str, log: Path
) -> None:
    """Write VMAF's log, which is complete only when the graph is gone."""
    graph = Graph()
    size = f"video_size={format.width}x{format.height}:pix_fmt={layout}:time_base=1/25"
    scored, reference = (graph.add("buffer", f"{size}:pixel_aspect=1/1") for _ in range(2))
    name = str(log).replace("\\", "\\\\").replace(":", "\\:").replace("'", "\\'")
    options = f"log_fmt=json:n_threads={available()}:model=version={model(format)}:log_path={name}"
    compared = graph.add(FILTER, options)
    sink = graph.add("buffersink")
    scored.link_to(compared, 0, 0)
    reference.link_to(compared, 0, 1)
    compared.link_to(sink)
    graph.configure()
    shape = (-(-format.height // 2), -(-format.width // 2))
    chroma = np.full(shape, 1 << (depth - 1), _kind(depth))

    def drain() -> None:
        with suppress(av.BlockingIOError, av.EOFError):
            while True:
                sink.pull()

    for number, pair in enumerate(pairs):
        # The filter takes the film that is scored first.
        for node, plane in zip((reference, scored), pair, strict=True):
            luma: Plane = np.left_shift(plane.astype(_kind(depth)), depth - format.bits)
            frame = pixels.picture((luma, chroma, chroma), layout)
            frame.pts, frame.time_base = number, Fraction(1, 25)
            node.push(frame)
        drain()
    for node in (scored, reference):
        node.push(None)
    drain()


def _kind(depth: int) -> type[np.uint8 | np.uint16]:
    return np.uint8 if depth == 8 else np.uint16


class Vmaf:
    """VMAF as a `quality.values.Measure`."""

    most: int | None = None

    def scores(self, pairs: Iterable[tuple[Plane, Plane]], format: Format) -> list[float]:
        """Return the scores of consecutive frames, of two or more without the first."""
        found = scores(pairs, format)
        return found[1:] or found

    def close(self) -> None:
        """Nothing is kept."""
