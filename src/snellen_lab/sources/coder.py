"""Code planes as a film and decode them again: what an encoder leaves of luma."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError

Bytes = npt.NDArray[np.uint8]

ENCODERS = {"x264": "libx264", "x265": "libx265"}
"""FFmpeg's names."""
VERSIONS = {"x264": rb"x264 - core (\d+ ?r?\d*)", "x265": rb"x265 \(build (\d+)\)"}
"""Patterns of what the encoders write about themselves into the first frame."""
RATE = 25  # frames a second
SMALLEST = 96  # pixels of a side: on smaller ones libx265 reads and writes beyond its memory
STEP = 16  # pixels: frames are coded in multiples, so that no encoder pads them by itself
PRESETS = ("veryfast", "fast", "medium", "slow")
OPTIONS = {
    # AVX-512 code of x264's macroblock tree reads memory that nobody wrote: results vary.
    "x264": {"x264-params": "asm=avx2"},
    "x265": {"x265-params": "log-level=error:pools=none:frame-threads=1"},
}
GREY = 128  # both chroma planes: only luma counts


@dataclass(frozen=True, slots=True)
class Coding:
    """How a film is coded: P and B frames, one thread: repeatable."""

    encoder: str
    """One of ENCODERS."""
    crf: float
    """Constant rate factor: smaller is better."""
    preset: str = "medium"
    """How much the encoder tries, and so which tools it has; one of PRESETS."""

    def __str__(self) -> str:
        return f"{self.encoder} crf {self.crf:g}"


@dataclass(frozen=True, slots=True)
class Coded:
    """Frames that came back."""

    planes: list[Bytes]
    """Decoded luma."""
    kinds: list[str]
    """The kind of each frame: "I", "P" or "B"."""
    bits: float
    """A pixel of luma."""
    version: str
    """The encoder's version, as it names itself."""


def coded(planes: Sequence[Bytes], coding: Coding) -> Coded:
    """Return planes after coding and decoding.

    Parameters
    ----------
    planes : sequence of (H, W) uint8
        Luma of consecutive frames, in limited range.

    Raises
    ------
    InputError
        The planes are too small.
    """
    import av  # here, since FFmpeg takes its time and not all that import this module code
    from av.video.frame import PictureType

    height, width = planes[0].shape
    if min(height, width) < SMALLEST:
        raise InputError(
            f"frames of {width}×{height} pixels are too small to be coded",
            advice=f"give pictures that have {SMALLEST} pixels on each side when they are shrunk",
        )
    down, across = -height % STEP, -width % STEP
    file = io.BytesIO()
    packets: list[bytes] = []
    with av.open(file, "w", format="matroska") as container:
        stream: Any = container.add_stream(ENCODERS[coding.encoder], rate=RATE)
        stream.width, stream.height = width + across, height + down
        stream.pix_fmt = "yuv420p"
        crf = {"crf": f"{coding.crf:g}", "preset": coding.preset}
        stream.options = crf | OPTIONS[coding.encoder]
        stream.thread_count = 1
        chroma = np.full(((height + down) // 2, width + across), GREY, np.uint8)
        frames = []
        for number, plane in enumerate(planes):
            luma = np.pad(plane, ((0, down), (0, across)), "edge")
            frame = av.VideoFrame.from_ndarray(np.concatenate([luma, chroma]), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            frames.append(frame)
        for given in (*frames, None):
            for packet in stream.encode(given):
                packets.append(bytes(packet))
                container.mux(packet)
        extra = bytes(stream.codec_context.extradata or b"")
    file.seek(0)
    found: list[Bytes] = []
    kinds = []
    with av.open(file, "r") as decoder:
        for decoded in decoder.decode(video=0):
            found.append(np.array(decoded.to_ndarray()[:height, :width], np.uint8))
            kinds.append(PictureType(decoded.pict_type).name)
    bits = 8 * sum(map(len, packets)) / (len(planes) * height * width)
    said = re.search(VERSIONS[coding.encoder], extra + packets[0])
    return Coded(found, kinds, bits, said[1].decode().strip() if said else "unknown")


def libraries() -> dict[str, str]:
    """Return the versions of what codes and decodes."""
    import av

    codec = ".".join(map(str, av.library_versions["libavcodec"]))
    return {"PyAV": av.__version__, "libavcodec": codec}
