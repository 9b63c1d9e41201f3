"""Converts between FFmpeg's pixel formats and frames, and `Format` and planes."""

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
"""Figures in FFmpeg's names by log2 subsampling (across, down)."""

SITINGS = {
    "left": LEFT,
    "center": CENTRE,
    "topleft": TOP_LEFT,
    "top": (0.5, 0.25),
    "bottomleft": (0.25, 0.75),
    "bottom": (0.5, 0.75),
}
"""Chroma sitings by FFmpeg's names, which are also the values of the encoder option."""


@dataclass(frozen=True, slots=True)
class PixelFormat:
    """Properties of one of FFmpeg's pixel formats."""

    name: str
    bits: int
    subsampling: tuple[int, int] | None
    """As in `Format`; (0, 0) for RGB."""
    rgb: bool
    alpha: bool
    direct: bool
    """True: its planes can be used without rearranging: planar, low bits, native byte order."""

    @property
    def full_range(self) -> bool:
        """Return whether the name itself states full range."""
        return self.name.startswith("yuvj")

    @property
    def planar(self) -> str:
        """Name of the planar format that holds this one without loss (RGB: except for rounding)."""
        return planar(self.bits, self.subsampling)


@lru_cache(maxsize=256)
def parse(name: str) -> PixelFormat:
    """Return the properties of the pixel format `name`; ValueError: its samples cannot be used."""
    form = av.VideoFormat(name, 64, 64)
    components = [c for c in form.components if not c.is_alpha]
    if not components and not form.has_palette:
        raise ValueError(f"{name}: its samples are in the memory of a device")
    # A palette has no components of its own; its colours have 8 bits.
    rgb = form.is_rgb or form.has_palette or name.startswith(("xyz", "bayer", "pal8"))
    floating = "f16" in name or "f32" in name
    depths = [c.bits for c in components]
    if name.startswith("bayer"):  # their shares of a sample, as of the photosites
        depths = [sum(depths)]
    bits = 16 if floating else max([8, *depths])
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
    return PixelFormat(name, min(bits, 16), subsampling, rgb, alpha, direct)


def with_alpha(bits: int, subsampling: tuple[int, int] | None) -> str | None:
    """Return the name of the planar YUV format of this depth with alpha; None: there is none."""
    if subsampling not in NAMES:
        return None
    name = f"yuva{NAMES[subsampling]}p" + ("" if bits == 8 else f"{bits}le")
    try:
        av.VideoFormat(name)
    except ValueError:
        return None
    return name


@lru_cache(maxsize=64)
def planar(bits: int, subsampling: tuple[int, int] | None) -> str:
    """Return the name of the planar YUV or grey format of this depth, or the next deeper one."""
    stem = "gray" if subsampling is None else f"yuv{NAMES[subsampling]}p"
    for depth in range(bits, 17):
        name = stem if depth == 8 else f"{stem}{depth}le"
        try:
            av.VideoFormat(name)
        except ValueError:
            continue
        return name
    if subsampling in ((2, 0), (2, 2), (0, 1)):  # no format is so deep: keep more chroma
        return planar(bits, (1, 0) if subsampling == (2, 0) else (0, 0))
    raise ValueError(f"no planar format with {bits} bits, subsampling {subsampling}")


def siting(name: str, subsampling: tuple[int, int] | None) -> tuple[float, float]:
    """Return the siting, as in `Format`, of the chroma location that FFmpeg calls `name`."""
    across, down = SITINGS[name]
    if subsampling is not None and subsampling[0] == 2 and across == 0.25:
        across = 0.125  # on the first of four luma samples
    return across, down


def planes(frame: VideoFrame) -> tuple[Plane, ...]:
    """Return views of the frame's planes, without a copy where it is planar YUV or grey.

    Semi-planar, packed and big-endian frames are rearranged without loss, alpha is left out, and
    RGB becomes 4:4:4, BT.709, limited range. The views keep the decoder's buffer alive.
    """
    pixels = parse(frame.format.name)
    if pixels.rgb:
        frame = frame.reformat(
            format=pixels.planar, dst_colorspace="ITU709", dst_color_range="MPEG"
        )
    elif not pixels.direct:
        # State the same range on both sides: else swscale stretches grey from limited to full.
        frame = frame.reformat(format=pixels.planar, src_color_range=1, dst_color_range=1)
    count = 1 if pixels.subsampling is None else 3
    views: list[Any] = [np.from_dlpack(plane) for plane in frame.planes[:count]]
    return tuple(views)


def opacity(frame: VideoFrame) -> Plane:
    """Return the alpha channel of a frame, in the depth that `planes` gives."""
    pixels = parse(frame.format.name)
    bits = parse(pixels.planar).bits
    if not pixels.alpha:  # of one frame among others
        kind = np.uint8 if bits == 8 else np.uint16
        return np.full((frame.height, frame.width), (1 << bits) - 1, kind)
    direct = pixels.direct and pixels.subsampling is not None
    name = "gbrap" if bits == 8 else "gbrap16le"
    views: Any = frame.planes if direct else frame.reformat(format=name).planes
    plane: Any = np.from_dlpack(views[3])
    shifted: Plane = plane if direct or bits in (8, 16) else plane >> (16 - bits)
    return shifted


def is_opaque(frame: VideoFrame) -> bool:
    """Return whether a frame with an alpha channel is opaque all over."""
    bits = parse(parse(frame.format.name).planar).bits
    return bool(opacity(frame).min() == (1 << bits) - 1)


def picture(planes: tuple[Plane, ...], format: str) -> VideoFrame:
    """Return planes as FFmpeg's frame of the planar `format`, without a copy if possible.

    The frame keeps the planes alive; they must not be written to any more.
    """
    height, width = planes[0].shape
    across, down = parse(format).subsampling or (0, 0)
    if not ((across and width % 2) or (down and height % 2)):
        return VideoFrame.from_dlpack(tuple(_shareable(p) for p in planes), format=format)
    return copied(planes, format)  # PyAV cannot share odd sizes


def copied(planes: tuple[Plane, ...], format: str) -> VideoFrame:
    """Return a copy of planes as FFmpeg's frame of the planar `format`.

    Its rows are aligned and padded, as filters expect it, which read and write whole vectors.
    """
    height, width = planes[0].shape
    frame = VideoFrame(width, height, format)
    memory: tuple[Any, ...] = frame.planes
    for plane, buffer in zip(planes, memory, strict=True):
        rows = np.frombuffer(buffer, plane.dtype).reshape(plane.shape[0], -1)
        rows[:, : plane.shape[1]] = plane
    return frame


def _shareable(plane: Plane) -> Plane:
    """Return the plane itself, or a copy if FFmpeg cannot share its memory."""
    if plane.flags.writeable and plane.strides[1] == plane.itemsize and plane.strides[0] > 0:
        return plane
    return np.array(plane, order="C", copy=True)


def blank(like: npt.NDArray[np.generic], shape: tuple[int, int], bits: int) -> Plane:
    """Return a plane of neutral chroma."""
    plane: Plane = np.full(shape, 1 << (bits - 1), like.dtype)
    return plane


def eight_bits(samples: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return samples of 16 bits, rounded to 8."""
    return ((samples.astype(np.uint32) + 128) // 257).astype(np.uint8)


def describe(format: Format) -> str:
    """Return e.g. '1920×1080 4:2:0 10 bit'."""
    figures = "grey" if format.subsampling is None else ":".join(NAMES[format.subsampling])
    return f"{format.width}×{format.height} {figures} {format.bits} bit"
