"""Side data of frames: HDR10 light levels, rotation, and what the output will not carry."""

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

_DYNAMIC = {
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
_NUMBER = re.compile(r"\d+")
_KINDS = 100
"""More kinds of side data than FFmpeg has."""


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
        """Whether the mastering display is known completely, as encoders require."""
        return bool(self.primaries) and self.luminance is not None


def _side_data(frame: VideoFrame) -> Mapping[str, bytes]:
    # By index, since iteration differs between PyAV 18 and 19.
    data = _known(frame).side_data
    found = [data[i] for i in range(len(data))]  # type: ignore[literal-required, unused-ignore]
    return {getattr(one.type, "name", str(one.type)): bytes(one) for one in found}


def _known(frame: VideoFrame) -> VideoFrame:
    """Return a frame without side data of kinds that PyAV does not know, over which it fails.

    EXIF is one, of motion JPEG and of animated pictures.
    """
    for _ in range(_KINDS):
        try:
            _ = frame.side_data
        except ValueError as error:
            unknown = _NUMBER.search(str(error))
            if unknown is None:
                raise
            frame = _without(frame, unknown[0])
        else:
            break
    return frame


def _without(frame: VideoFrame, kind: str) -> VideoFrame:
    """Return a frame without side data of a kind, by its number in FFmpeg."""
    graph = Graph()
    chain = (
        graph.add_buffer(
            width=frame.width,
            height=frame.height,
            format=frame.format,
            time_base=frame.time_base or Fraction(1),
        ),
        graph.add("sidedata", f"mode=delete:type={kind}"),
        graph.add("buffersink"),
    )
    graph.link_nodes(*chain).configure()
    graph.push(frame)
    found = graph.pull()
    assert isinstance(found, VideoFrame)
    return found


def losses(frame: VideoFrame) -> tuple[str, ...]:
    """Return what the frame carries and the output will not: one phrase each."""
    return tuple(dict.fromkeys(_DYNAMIC[key] for key in _side_data(frame) if key in _DYNAMIC))


def display_matrix(frame: VideoFrame) -> tuple[int, ...] | None:
    """Return the display matrix as FFmpeg's 9 numbers; None: upright."""
    data = _side_data(frame).get("DISPLAYMATRIX")
    if data is None:
        return None
    matrix = struct.unpack("=9i", data[:36])
    return None if matrix == (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30) else matrix


def scaled_matrix(matrix: tuple[int, ...], across: Fraction, down: Fraction) -> tuple[int, ...]:
    """Return the display matrix for pictures scaled by two factors: its shift is scaled too.

    A shift stays within the 32 bits that a file has for it.
    """
    shift = (round(matrix[6] * across), round(matrix[7] * down))
    x, y = (max(-(2**31), min(one, 2**31 - 1)) for one in shift)
    return (*matrix[:6], x, y, matrix[8])


def light(frame: VideoFrame, context: VideoCodecContext | None = None) -> Light:
    """Return the HDR10 static metadata (AVMasteringDisplayMetadata, AVContentLightMetadata).

    FFmpeg 9 omits some of it from the first frame, but its decoder has it, which PyAV 19 shows.
    """
    streamwide: Mapping[Type, bytes] = getattr(context, "decoded_side_data", {})
    side = {key.name: value for key, value in streamwide.items()} | dict(_side_data(frame))
    primaries: tuple[Fraction, ...] = ()
    luminance = None
    data = side.get("MASTERING_DISPLAY_METADATA", b"")
    if len(data) >= 88:  # ten ratios of two int32, then two flags
        numbers = struct.unpack("=22i", data[:88])
        ratios = [
            Fraction(n, d) if d else Fraction(0)
            for n, d in zip(*[iter(numbers[:20])] * 2, strict=True)
        ]
        primaries = tuple(ratios[:8]) if numbers[20] else ()
        luminance = (ratios[8], ratios[9]) if numbers[21] else None
    data = side.get("CONTENT_LIGHT_LEVEL", b"")
    levels = struct.unpack("=2I", data[:8]) if len(data) >= 8 else None
    return Light(primaries, luminance, levels)


def options(light: Light, codec: str) -> dict[str, str] | None:
    """Return the encoder's own parameters that write `light`; None: it has none."""
    if codec not in ("libx264", "libx265", "libsvtav1"):
        return None
    out = {}
    if light.mastering and light.luminance is not None:
        # Chromaticities in steps of 0.00002 and cd/m² in steps of 0.0001, as in the bitstream;
        # SVT-AV1 takes plain numbers.
        plain = codec == "libsvtav1"
        xy = [_number(v, 50000, plain) for v in light.primaries]
        dark, bright = (_number(v, 10000, plain) for v in light.luminance)
        display = (
            f"G({xy[2]},{xy[3]})B({xy[4]},{xy[5]})R({xy[0]},{xy[1]})"
            f"WP({xy[6]},{xy[7]})L({bright},{dark})"
        )
        key = {"libx265": "master-display"}.get(codec, "mastering-display")
        out[key] = display
    if light.levels is not None:
        key = {"libx264": "cll", "libx265": "max-cll"}.get(codec, "content-light")
        out[key] = f"{light.levels[0]},{light.levels[1]}"
    return out


def _number(value: Fraction, steps: int, plain: bool) -> str:
    return f"{float(value):.6f}" if plain else str(round(value * steps))
