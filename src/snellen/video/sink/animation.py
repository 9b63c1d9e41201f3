"""Films as animated GIF and WebP: RGB frames in one file, without sound."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, cast

import av
import av.filter
import numpy as np
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from snellen.errors import InputError
from snellen.files.containers import container
from snellen.process import Home
from snellen.video.animations import loop, set_end
from snellen.video.media import Item, MediaInfo
from snellen.video.pixels import eight_bits
from snellen.video.sink.encode import Plan
from snellen.video.sink.pictures import matrix_of, rgb
from snellen.video.sink.registry import encoder_of


class _Kind(NamedTuple):
    """A format of animations."""

    ticks: int
    """Ticks of a second, in which times are counted."""
    pixels: str
    """The pixel format that its encoder takes."""
    side: int
    """Most pixels a side."""


_KINDS = {"gif": _Kind(100, "pal8", 65535), "webp": _Kind(1000, "bgra", 16383)}
"""By muxer, whose name is that of the codec."""
_QUALITY = 90
_LOSSLESS = 100
_RATIOS = 64, 15, 255
"""GIF states a sample aspect ratio of (n + 15) / 64, for n of 1 to 255."""
_FASTEST = 50
"""Frames a second of GIF: players show those that state less than 2/100 s for 1/10 s."""
_LONGEST = 65535
"""Most ticks of a picture of a GIF: one that lasts longer is written again."""


def losses(info: MediaInfo, suffix: str, quality: int | None) -> tuple[str, ...]:
    """Return what of a film's pictures an animation does not hold."""
    if suffix == ".gif":
        found = [".gif holds 256 colours a picture: others are dithered"]
        if info.rate > _FASTEST and info.frames != 1:
            found.append(f".gif holds at most {_FASTEST} frames a second: players slow down")
        ratio = info.picture.sample_aspect_ratio or Fraction(1)
        if _held(ratio) != ratio:
            found.append(f"sample aspect ratio {ratio}: .gif states {_held(ratio)}")
        return tuple(found)
    if info.picture.format.subsampling in (None, (1, 1)) or quality == _LOSSLESS:
        return ()
    return (".webp halves the chroma (4:2:0); `quality`=100 is without loss",)


def _held(ratio: Fraction) -> Fraction:
    """Return the sample aspect ratio that GIF states for this one, as FFmpeg rounds it."""
    parts, least, most = _RATIOS
    stated = int(ratio * parts) - least
    return Fraction(stated + least, parts) if 0 < stated <= most else Fraction(1)


class AnimationSink:
    """Writes all frames into one file; takes items from one thread at a time.

    `suffix` is ".gif" or ".webp"; `quality` of WebP is 1 … 100, which is without loss; None: 90.
    `written`, `refused` and `damage` are as of `Sink`: there are no other streams.
    """

    refused = 0
    damage: tuple[str, ...] = ()

    def __init__(
        self, file: Path, suffix: str, plan: Plan, info: MediaInfo, quality: int | None
    ) -> None:
        self._home = Home("this output")
        self._plan, self._matrix = plan, matrix_of(info.picture)
        self._file, self._kind = file, container(suffix).muxer or ""
        kind, known = self._kind, _KINDS[self._kind]
        width, height = plan.format.width, plan.format.height
        if max(width, height) > known.side:
            raise InputError(f"{suffix} holds at most {known.side} pixels a side")
        codec, layout = encoder_of(kind), known.pixels
        options = {}
        if kind == "webp":
            lossless = quality == _LOSSLESS
            options = {"lossless": "1"} if lossless else {"quality": str(quality or _QUALITY)}
        self._tick = Fraction(1, known.ticks)
        self._palette = _Palette(width, height) if kind == "gif" else None
        self._last, self._end = -1, 0  # ticks where the last picture begins and ends
        self.written = 0
        self._out: OutputContainer = av.open(
            str(file), "w", format=kind, container_options={"loop": loop(info.plays, kind)}
        )
        try:
            rate = plan.rate.limit_denominator(1_000_000)
            stream = self._out.add_stream(codec, rate=rate, options=options)
            self._stream = cast("VideoStream", stream)
            self._stream.width, self._stream.height = width, height
            self._stream.pix_fmt = layout
            ratio = info.picture.sample_aspect_ratio
            if kind == "gif" and ratio is not None and _held(ratio) != 1:
                self._stream.codec_context.sample_aspect_ratio = ratio
            self._stream.time_base = self._stream.codec_context.time_base = self._tick
            self._out.start_encoding()
        except BaseException:
            self.abandon()
            raise

    def write(self, item: Item) -> None:
        """Encode the item's frame; packets of other streams are dropped."""
        if item.frame is None:
            return
        samples = rgb(item.frame, self._plan.format, self._matrix)
        if samples.ndim == 2:
            samples = np.repeat(samples[..., None], 3, 2)
        if samples.dtype == np.uint16:
            samples = eight_bits(samples)
        ticks = self._plan.time_base / self._tick
        time = max(round(item.frame.pts * ticks), self._last + 1)
        self._end = max(round((item.frame.pts + item.frame.duration) * ticks), time + 1)
        longest = _LONGEST if self._kind == "gif" else self._end - time
        for start in range(time, self._end, longest):
            self._last = start
            for picture in self._pictures(samples):
                picture.pts, picture.time_base = start, self._tick
                self._out.mux(self._stream.encode(picture))
        self.written += 1

    def finish(self) -> None:
        """Write what the encoder still holds, and close the file."""
        self._out.mux(self._stream.encode(None))
        self._out.close()
        with self._file.open("r+b") as file:
            set_end(file, self._kind, self._end)

    def abandon(self) -> None:
        """Close the file; its contents are incomplete."""
        if self._home.keep(self.__dict__):
            return
        with contextlib.suppress(Exception):
            self._out.close()

    def _pictures(self, samples: np.typing.NDArray[np.uint8]) -> Iterator[VideoFrame]:
        if self._palette is not None:
            yield from self._palette.applied(VideoFrame.from_ndarray(samples, format="rgb24"))
            return
        order = np.full((*samples.shape[:2], 4), 255, np.uint8)
        order[..., :3] = samples[..., 2::-1]
        if samples.shape[2] == 4:
            order[..., 3] = samples[..., 3]
        yield VideoFrame.from_ndarray(order, format="bgra")


class _Palette:
    """Gives each picture 256 colours of its own, and dithers the rest by error diffusion."""

    def __init__(self, width: int, height: int) -> None:
        graph = av.filter.Graph()
        size = f"video_size={width}x{height}:pix_fmt=rgb24:time_base=1/100:pixel_aspect=1/1"
        source, both = graph.add("buffer", size), graph.add("split")
        colours = graph.add("palettegen", "stats_mode=single:reserve_transparent=0")
        use, sink = graph.add("paletteuse", "new=1:dither=sierra2_4a"), graph.add("buffersink")
        source.link_to(both)
        both.link_to(use, 0, 0)
        both.link_to(colours, 1, 0)
        colours.link_to(use, 0, 1)
        use.link_to(sink)
        graph.configure()
        self._graph, self._count = graph, 0

    def applied(self, picture: VideoFrame) -> Iterator[VideoFrame]:
        """Yield the picture with a palette."""
        picture.pts, picture.time_base = self._count, Fraction(1, 100)
        self._count += 1
        self._graph.vpush(picture)
        with contextlib.suppress(BlockingIOError, av.EOFError):
            while True:
                yield self._graph.vpull()
