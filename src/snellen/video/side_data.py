"""Side data of decoded frames: HDR10 light levels, rotation, and what an output will not carry."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from fractions import Fraction

from av.filter import Graph
from av.sidedata.sidedata import Type
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from snellen.video.hdr import Light

SideData = Mapping[str, bytes]
"""Side data of a frame by FFmpeg's names of its kinds."""

_LOST = {
    "DYNAMIC_HDR_PLUS": "HDR10+ dynamic metadata is lost",
    "DOVI_RPU_BUFFER": "Dolby Vision metadata is lost",
    "DOVI_METADATA": "Dolby Vision metadata is lost",
    "DYNAMIC_HDR_VIVID": "HDR Vivid dynamic metadata is lost",
    "AMBIENT_VIEWING_ENVIRONMENT": "the ambient viewing environment is lost",
    "A53_CC": "closed captions inside the pictures (CEA-608/708) are lost",
    "STEREO3D": "the 3D layout (stereo 3D) is lost",
    "SPHERICAL": "the spherical (360°) mapping is lost",
    "ICC_PROFILE": "the ICC profile is lost",
}
_KEPT = ("DISPLAYMATRIX", "MASTERING_DISPLAY_METADATA", "CONTENT_LIGHT_LEVEL")
"""Kinds whose content goes into the output, as the first frame has it."""
_NUMBER = re.compile(r"\d+")
_KINDS = 100
"""More kinds of side data than FFmpeg has."""


class SideDataReader:
    """Reads the side data of one frame after another that matters for an output.

    PyAV 18 fails over frames that have a kind which it does not know, such as EXIF of motion JPEG.
    Such kinds are removed, by one graph of filters for all frames.
    """

    def __init__(self) -> None:
        self._unknown: list[str] = []
        self._graph: Graph | None = None
        self._shape: tuple[int, int, str] | None = None

    def __call__(self, frame: VideoFrame) -> SideData:
        """Return the kinds that an output loses or keeps; the content only of those it keeps."""
        for _ in range(_KINDS):
            try:
                data = frame.side_data
                break
            except ValueError as error:
                unknown = _NUMBER.search(str(error))
                if unknown is None:
                    raise
                frame = self._without(frame, unknown[0])
        else:
            return {}
        found = {}
        for i in range(len(data)):  # by index, since iteration differs between PyAV 18 and 19
            one = data[i]  # type: ignore[literal-required, unused-ignore]
            name = one.type.name
            if name in _KEPT:
                found[name] = bytes(one)
            elif name in _LOST:
                found[name] = b""
        return found

    def _without(self, frame: VideoFrame, kind: str) -> VideoFrame:
        """Return a frame without the kinds that are not known, by their numbers in FFmpeg."""
        shape = frame.width, frame.height, frame.format.name
        new = kind not in self._unknown
        if new:
            self._unknown.append(kind)
        if self._graph is None or new or shape != self._shape:
            self._graph, self._shape = Graph(), shape
            source = self._graph.add_buffer(
                width=frame.width, height=frame.height, format=frame.format,
                time_base=frame.time_base or Fraction(1),
            )  # fmt: skip
            filters = [
                self._graph.add("sidedata", f"mode=delete:type={one}") for one in self._unknown
            ]
            chain = (source, *filters, self._graph.add("buffersink"))
            self._graph.link_nodes(*chain).configure()
        self._graph.push(frame)
        found = self._graph.pull()
        assert isinstance(found, VideoFrame)
        return found


def side_data(frame: VideoFrame) -> SideData:
    """Return the side data of a single frame, as `SideDataReader` does."""
    return SideDataReader()(frame)


def losses(data: SideData) -> tuple[str, ...]:
    """Return what a frame carries and the output will not: one phrase each."""
    return tuple(dict.fromkeys(_LOST[key] for key in data if key in _LOST))


def display_matrix(data: SideData) -> tuple[int, ...] | None:
    """Return the display matrix as FFmpeg's 9 numbers; None: upright."""
    found = data.get("DISPLAYMATRIX")
    if found is None:
        return None
    matrix = struct.unpack("=9i", found[:36])
    return None if matrix == (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30) else matrix


def light(data: SideData, context: VideoCodecContext | None = None) -> Light:
    """Return the HDR10 static metadata (AVMasteringDisplayMetadata, AVContentLightMetadata).

    FFmpeg 9 omits some of it from the first frame, but its decoder has it, which PyAV 19 shows.
    """
    streamwide: Mapping[Type, bytes] = getattr(context, "decoded_side_data", {})
    side = {key.name: value for key, value in streamwide.items()} | dict(data)
    primaries: tuple[Fraction, ...] = ()
    luminance = None
    found = side.get("MASTERING_DISPLAY_METADATA", b"")
    if len(found) >= 88:  # ten ratios of two int32, then two flags
        numbers = struct.unpack("=22i", found[:88])
        ratios = [
            Fraction(n, d) if d else Fraction(0)
            for n, d in zip(*[iter(numbers[:20])] * 2, strict=True)
        ]
        primaries = tuple(ratios[:8]) if numbers[20] else ()
        luminance = (ratios[8], ratios[9]) if numbers[21] else None
    found = side.get("CONTENT_LIGHT_LEVEL", b"")
    levels = struct.unpack("=2I", found[:8]) if len(found) >= 8 else None
    return Light(primaries, luminance, levels)
