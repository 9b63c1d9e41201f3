"""Pixel formats: FFmpeg's names on one side, `Format` and planes on the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import av
import numpy as np
import numpy.typing as npt
from av.video.frame import VideoFrame

from snellen.frames.frame import CENTRE, LEFT, TOP_LEFT, Format, Plane

NAMES = {
    (1, 1): "420",
    (1, 0): "422",
    (0, 0): "444",
    (0, 1): "440",
    (2, 0): "411",
    (2, 2): "410",
}
"""log2 subsampling (across, down) to the figures in FFmpeg's names."""

SITINGS = {
    "left": LEFT,
    "center": CENTRE,
    "topleft": TOP_LEFT,
    "top": (0.5, 0.25),
    "bottomleft": (0.25, 0.75),
    "bottom": (0.5, 0.75),
}
"""FFmpeg's names of chroma locations; each is also the value of its encoder option."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """One of FFmpeg's pixel formats, in our words."""

    name: str
    bits: int
    subsampling: tuple[int, int] | None
    """As in `Format`; (0, 0) for RGB."""
    rgb: bool
    alpha: bool
    direct: bool
    """Whether its planes are ours as they lie: planar, low bits, native byte order."""

    @property
    def full_range(self) -> bool:
        """Whether the name itself says full range."""
        return self.name.startswith("yuvj")

    @property
    def planar(self) -> str:
        """The planar format that holds this one without loss (RGB: but for rounding)."""
        return planar(self.bits, self.subsampling)


@lru_cache(maxsize=256)
def describe(name: str) -> Pixels:
    """Return what the pixel format `name` is made of; ValueError if it is none of ours."""
    form = av.VideoFormat(name, 64, 64)
    components = [c for c in form.components if not c.is_alpha]
    if not components and not form.has_palette:
        raise ValueError(f"{name}: its samples are in a device's memory")
    # A palette has no components of its own but looks like one of 8 bits.
    rgb = form.is_rgb or form.has_palette or name.startswith(("xyz", "bayer", "pal8"))
    floating = "f16" in name or "f32" in name
    bits = 16 if floating else max([8, *(c.bits for c in components)])
    if rgb:
        subsampling: tuple[int, int] | None = (0, 0)
    elif len(components) < 3:
        subsampling = None
    else:
        chroma = components[1]
        subsampling = (
            (64 // chroma.width).bit_length() - 1,
            (64 // chroma.height).bit_length() - 1,
        )
    planes = {c.plane for c in components}
    direct = (
        not rgb
        and not floating
        and not form.is_big_endian
        and not form.is_bit_stream
        and len(planes) == len(components)
        and (form.is_planar or len(form.components) == 1)
        and "msb" not in name
        and min(c.bits for c in components) >= 8
    )
    alpha = len(components) < len(form.components)
    return Pixels(name, min(bits, 16), subsampling, rgb, alpha, direct)


@lru_cache(maxsize=64)
def planar(bits: int, subsampling: tuple[int, int] | None) -> str:
    """Return the planar YUV or grey format with these samples, or the next deeper one."""
    stem = "gray" if subsampling is None else f"yuv{NAMES[subsampling]}p"
    for depth in range(bits, 17):
        name = stem if depth == 8 else f"{stem}{depth}le"
        try:
            av.VideoFormat(name)
        except ValueError:
            continue
        return name
    if subsampling in ((2, 0), (2, 2), (0, 1)):  # there is none so deep: keep more chroma
        return planar(bits, (1, 0) if subsampling == (2, 0) else (0, 0))
    raise ValueError(f"no planar format with {bits} bits, subsampling {subsampling}")


def siting(name: str, subsampling: tuple[int, int] | None) -> tuple[float, float]:
    """Return where `Format` has the chroma samples that FFmpeg calls `name`."""
    across, down = SITINGS[name]
    if subsampling is not None and subsampling[0] == 2 and across == 0.25:
        across = 0.125  # on the first of four
    return across, down


def planes(frame: VideoFrame) -> tuple[Plane, ...]:
    """Return views of the picture's planes, without copying where it is planar YUV or grey.

    Semi-planar, packed and big-endian pictures are rearranged without loss, alpha is left out,
    RGB becomes 4:4:4, BT.709, limited range. The views keep the decoder's buffer alive.
    """
    pixels = describe(frame.format.name)
    if pixels.rgb:
        frame = frame.reformat(
            format=pixels.planar, dst_colorspace="ITU709", dst_color_range="MPEG"
        )
    elif not pixels.direct:
        # The same range on both sides, or grey would be stretched from limited to full.
        frame = frame.reformat(format=pixels.planar, src_color_range=1, dst_color_range=1)
    count = 1 if pixels.subsampling is None else 3
    views: list[Any] = [np.from_dlpack(plane) for plane in frame.planes[:count]]
    return tuple(views)


def picture(planes: tuple[Plane, ...], format: str) -> VideoFrame:
    """Return planes as FFmpeg's picture of the planar `format`, without copying if possible.

    The picture keeps the planes alive; nobody may write them any more.
    """
    height, width = planes[0].shape
    across, down = describe(format).subsampling or (0, 0)
    if not ((across and width % 2) or (down and height % 2)):
        return VideoFrame.from_dlpack(tuple(_shareable(p) for p in planes), format=format)
    frame = VideoFrame(width, height, format)  # PyAV shares no odd sizes
    memory: tuple[Any, ...] = frame.planes
    for ours, theirs in zip(planes, memory, strict=True):
        rows = np.frombuffer(theirs, ours.dtype).reshape(ours.shape[0], -1)
        rows[:, : ours.shape[1]] = ours
    return frame


def _shareable(plane: Plane) -> Plane:
    """Return the plane itself, or a copy if it cannot be handed over as it lies."""
    if plane.flags.writeable and plane.strides[1] == plane.itemsize and plane.strides[0] > 0:
        return plane
    return np.array(plane, order="C", copy=True)


def blank(like: npt.NDArray[np.generic], shape: tuple[int, int], bits: int) -> Plane:
    """Return a plane of neutral chroma."""
    plane: Plane = np.full(shape, 1 << (bits - 1), like.dtype)
    return plane


def words(format: Format) -> str:
    """Return e.g. '1920×1080 4:2:0 10 bit'."""
    figures = "grey" if format.subsampling is None else ":".join(NAMES[format.subsampling])
    return f"{format.width}×{format.height} {figures} {format.bits} bit"
