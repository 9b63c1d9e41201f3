"""Side data of decoded frames: HDR10 light levels, rotation, and what an output will not carry."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from av.filter import Graph
from av.sidedata.sidedata import Type
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

HDR_TRANSFERS = (16, 18)
"""AVCOL_TRC_SMPTE2084 (PQ) and AVCOL_TRC_ARIB_STD_B67 (HLG)."""


@dataclass(frozen=True, slots=True)
class Light:
    """HDR10 static metadata: SMPTE ST 2086 and CTA-861.3."""

    primaries: tuple[Fraction, ...] = ()
    """x and y of red, green, blue and white; empty: not stated."""
    luminance: tuple[Fraction, Fraction] | None = None
    """Darkest and brightest level of the mastering display, cd/m²; None: not stated."""
    levels: tuple[int, int] | None = None
    """MaxCLL and MaxFALL, cd/m²; None: not stated."""

    def __bool__(self) -> bool:
        return self.mastering or self.levels is not None

    @property
    def mastering(self) -> bool:
        """Return whether the mastering display is known completely, as encoders require."""
        return bool(self.primaries) and self.luminance is not None


def scaled_matrix(matrix: tuple[int, ...], across: Fraction, down: Fraction) -> tuple[int, ...]:
    """Return the display matrix for pictures scaled by two factors: its shift is scaled too.

    A shift stays within the 32 bits that a file has for it.
    """
    shift = (round(matrix[6] * across), round(matrix[7] * down))
    x, y = (max(-(2**31), min(one, 2**31 - 1)) for one in shift)
    return (*matrix[:6], x, y, matrix[8])


def light_options(
    light: Light, names: tuple[str, str] | None, plain: bool = False
) -> dict[str, str] | None:
    """Return an encoder's own parameters that write `light`; None: it has none.

    `names` are those of the mastering display and of the levels, `plain` says that they are plain
    numbers.
    """
    if names is None:
        return None
    out = {}
    if light.mastering and light.luminance is not None:
        # Chromaticities in steps of 0.00002 and cd/m² in steps of 0.0001, as in the bitstream.
        xy = [_number(v, 50000, plain) for v in light.primaries]
        dark, bright = (_number(v, 10000, plain) for v in light.luminance)
        display = (
            f"G({xy[2]},{xy[3]})B({xy[4]},{xy[5]})R({xy[0]},{xy[1]})"
            f"WP({xy[6]},{xy[7]})L({bright},{dark})"
        )
        out[names[0]] = display
    if light.levels is not None:
        out[names[1]] = f"{light.levels[0]},{light.levels[1]}"
    return out


def _number(value: Fraction, steps: int, plain: bool) -> str:
    return f"{float(value):.6f}" if plain else str(round(value * steps))


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
