"""Which encoder and pixel format, and what it is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import av
from av.codec import Codec
from av.codec.codec import UnknownCodecError

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import hdr, pixels
from snellen.video.sink import nvenc
from snellen.video.source.open import Look

_Y4M = tuple(
    [f"yuv{figures}p" for figures in ("420", "422", "444", "411")]
    + [
        f"yuv{figures}p{bits}le"
        for figures in ("420", "422", "444")
        for bits in (9, 10, 12, 14, 16)
    ]
    + ["gray", "gray9le", "gray10le", "gray12le", "gray16le"]
)
"""What FFmpeg's y4m muxer writes, above 8 bits only when told that standards do not matter."""

_PRESETS = {"libx264": "medium", "libx265": "medium", "libsvtav1": "6"}
_QUALITY = {"libx264": 16, "libx265": 16, "libsvtav1": 18, "libvpx-vp9": 15, **nvenc.QUALITY}
"""Nearly without visible loss: an upscaled file is somebody's new master."""

_RATES = frozenset(("b", "crf", "qp", "cqp", "cq", "rc", "global_quality", "qscale", "lossless"))
"""Options that say how good or how large, so that our default would be in their way."""

_COUNTING = frozenset(("mpeg1video", "mpeg2video", "mpeg4", "libxvid", "msmpeg4v2", "msmpeg4"))
"""Encoders that take 1/12800 s for 12800 frames/s, or no unit below 1/65535 s."""

_PARAMS = {"libx264": "x264-params", "libx265": "x265-params", "libsvtav1": "svtav1-params"}
"""The option that hands on an encoder's own parameters, key=value:key=value."""

_OURS = frozenset(
    (
        *("time_base", "pkt_timebase", "framerate", "video_size", "pixel_format", "aspect"),
        *("color_range", "colorspace", "color_primaries", "color_trc", "chroma_sample_location"),
    )
)
"""Options that say what the pictures are: that is known, and anything else would be wrong."""

_NAMES = {
    "preset": (
        *("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"),
        *("veryslow", "placebo"),
    ),
    "tune": (
        *("film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode"),
        "zerolatency",
    ),
    "profile": ("baseline", "main", "high", "high10", "high422", "high444"),
}
"""What libx264 knows; of others it complains on standard error, whoever listens."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How to encode; None: our choice."""

    codec: str | None = None
    """FFmpeg's name of an encoder; None: libx264, above 10 bit libx265. Where NVIDIA's does not
    work (h264_nvenc, hevc_nvenc, av1_nvenc), the one of the same codec on the CPU is used."""
    preset: str | None = None
    """The encoder's name of it; NVIDIA's: p1 (fastest) to p7 (best)."""
    crf: float | None = None
    """Constant quality, smaller is better; NVIDIA's encoders call it cq."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Further options of the encoder, FFmpeg's names."""
    pix_fmt: str | None = None
    """FFmpeg's name; None: the encoder's that loses nothing, or least."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """The choice: everything but the size of the picture."""

    codec: str
    pixels: pixels.Pixels
    options: dict[str, str]
    losses: tuple[str, ...]

    @property
    def bits(self) -> int:
        """Depth of the samples it takes."""
        return self.pixels.bits

    @property
    def counts(self) -> bool:
        """Whether its unit of time is to be the duration of a frame."""
        return self.codec in _COUNTING


def choose(look: Look, muxer: str, encoding: Encoding) -> Encoder:
    """Return the encoder for pictures like `look`; InputError says what is wrong with a wish."""
    asked = _asked(encoding.pix_fmt)
    raw = muxer == "yuv4mpegpipe"
    deep = (asked or look.format).bits > 10
    codec = encoding.codec or ("libx265" if deep else "libx264")
    if raw:
        if encoding.codec not in (None, "wrapped_avframe", "rawvideo"):
            raise InputError(f"y4m holds raw pictures only, not {encoding.codec}: leave codec out")
        codec = "wrapped_avframe"
    offered = _Y4M if raw else formats(codec)
    if asked is None:
        chosen = best(offered, look.format)
        if chosen is None:
            raise InputError(f"{codec} takes no YUV or grey pictures: choose another codec")
        if chosen.subsampling is None and look.format.subsampling is not None:
            raise InputError(
                f"{codec} takes no YUV pictures and would make them grey: choose another codec"
            )
    else:
        asked = pixels.describe(nvenc.layout(codec, asked.name))
        if offered and asked.name not in offered:
            raise InputError(f"{codec} does not take {asked.name}; it takes {', '.join(offered)}")
        chosen = asked
    light = hdr.options(look.light, codec) if look.light else {}
    losses = _losses(look.format, chosen, codec)
    if light is None:
        losses.append(
            f"HDR mastering display and light levels are lost: {codec} is not told them here "
            "(libx265, libx264 and libsvtav1 are)"
        )
    return Encoder(
        codec, chosen, _options(codec, look, encoding, light or {}, chosen), tuple(losses)
    )


def _asked(name: str | None) -> pixels.Pixels | None:
    if name is None:
        return None
    try:
        made = pixels.describe(name)
    except ValueError:
        raise InputError(f"there is no pixel format {name!r}: e.g. yuv420p, yuv420p10le") from None
    if made.rgb or made.alpha or made.full_range:
        raise InputError(f"pixel format {name}: only YUV and grey are written, without alpha or j")
    return made


@lru_cache(maxsize=16)
def formats(codec: str) -> tuple[str, ...]:
    """Return the pixel formats that an encoder takes; InputError: no such encoder."""
    try:
        found = Codec(codec, "w")
    except UnknownCodecError:
        raise InputError(
            f"there is no encoder {codec!r} here: e.g. libx264, libx265, libsvtav1, ffv1, prores_ks"
        ) from None
    if found.type != "video":
        raise InputError(f"{codec} encodes {found.type}, not video")
    return tuple(form.name for form in found.video_formats or ())


def best(offered: tuple[str, ...], format: Format) -> pixels.Pixels | None:
    """Return the offered format that loses least of `format`, then the one that adds least."""
    usable = []
    for name in offered:
        try:
            made = pixels.describe(name)
        except ValueError:
            continue  # frames of a GPU
        if not (made.rgb or made.alpha or made.full_range) and "f16" not in name:
            usable.append(made)

    def cost(made: pixels.Pixels) -> tuple[int, ...]:
        lost, added = _chroma(format.subsampling, made.subsampling)
        bits = made.bits - format.bits
        return max(0, -bits), lost, added, max(0, bits), not made.direct

    return min(usable, key=cost, default=None)


def _chroma(have: tuple[int, int] | None, get: tuple[int, int] | None) -> tuple[int, int]:
    """Return how many halvings of chroma are lost and how many are undone."""
    if have == get:
        return 0, 0
    if have is None:
        return 0, 9
    if get is None:
        return 9, 0
    steps = [g - h for h, g in zip(have, get, strict=True)]
    return sum(max(0, s) for s in steps), sum(max(0, -s) for s in steps)


def _losses(format: Format, made: pixels.Pixels, codec: str) -> list[str]:
    said = []
    if made.bits < format.bits:
        said.append(f"{format.bits} bit samples are rounded to {made.bits} bit ({made.name})")
    if _chroma(format.subsampling, made.subsampling)[0]:
        have = pixels.NAMES.get(format.subsampling or (0, 0), "?")
        get = "none" if made.subsampling is None else pixels.NAMES[made.subsampling]
        said.append(f"chroma {have} is reduced to {get} ({codec}, {made.name})")
    return said


def _options(
    codec: str, look: Look, encoding: Encoding, light: dict[str, str], made: pixels.Pixels
) -> dict[str, str]:
    """Return what the encoder is told; the user's own words come last and win."""
    options: dict[str, str] = {}
    _check(codec, encoding)
    known = _private(codec)
    preset = encoding.preset or _PRESETS.get(codec)
    crf = encoding.crf if encoding.crf is not None else _QUALITY.get(codec)
    quality = "cq" if codec in nvenc.ON_CPU else "crf"
    for key, value, asked in (("preset", preset, encoding.preset), (quality, crf, encoding.crf)):
        if value is None or (asked is None and _replaced(key, encoding.options)):
            continue
        if key not in known:
            raise InputError(f"{codec} knows no {key}: leave it out, or use -e option=value")
        options[key] = f"{value:g}" if isinstance(value, float) else str(value)
    if "cq" in options:
        options["rc"] = "vbr"  # else it would be a bound on a bit rate
    own = dict(light)
    if codec == "libx265":
        own = {"log-level": "error", **own}  # it talks on standard error
    if made.subsampling == (1, 1) and (look.siting or codec == "wrapped_avframe"):
        options["chroma_sample_location"] = look.siting or "left"  # y4m would say centre
    options.update(encoding.options)
    if own:
        key = _PARAMS[codec]
        # The user's come last: of two values the encoder takes the later.
        options[key] = ":".join(
            [f"{k}={v}" for k, v in own.items()] + ([options[key]] if key in options else [])
        )
    return options


def _check(codec: str, encoding: Encoding) -> None:
    """Refuse options that are not the user's to say, and what x264 and x265 would grumble about."""
    if codec in nvenc.ON_CPU:
        nvenc.check(codec, encoding)
    if codec == "libx265" and encoding.crf is not None and encoding.crf > 51:
        raise InputError(f"libx265 takes a crf up to 51, not {encoding.crf:g}")
    for key, value in {"preset": encoding.preset, **encoding.options}.items():
        if key in _OURS:
            raise InputError(f"option {key} follows from the input: leave it out")
        if codec != "libx264" or key not in _NAMES or value is None or value.isdigit():
            continue
        asked = re.split(r"[,./+-]", value) if key == "tune" else [value]
        if not set(asked) <= set(_NAMES[key]):
            raise InputError(f"{codec} knows no {key} {value!r}: {', '.join(_NAMES[key])}")


def _replaced(key: str, options: Mapping[str, str]) -> bool:
    """Whether the user's options say the same or control the rate in another way."""
    return key in options or (key != "preset" and not _RATES.isdisjoint(options))


@lru_cache(maxsize=16)
def _private(codec: str) -> frozenset[str]:
    context = av.CodecContext.create(codec, "w")
    return frozenset(option.name for option in context.supported_options.private)
