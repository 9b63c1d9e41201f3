"""Chooses the encoder, its pixel format and its options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from av.codec import Codec
from av.codec.codec import UnknownCodecError

from snellen.cpu.threads import chosen as chosen_threads
from snellen.errors import InputError
from snellen.files.containers import Y4M
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.media import PictureInfo
from snellen.video.side_data import light_options
from snellen.video.sink import goals, hardware, numbers
from snellen.video.sink.defaults import default_codec
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.registry import names, traits

_Y4M_FORMATS = tuple(
    [f"yuv{figures}p" for figures in ("420", "422", "444", "411")]
    + [
        f"yuv{figures}p{bits}le"
        for figures in ("420", "422", "444")
        for bits in (9, 10, 12, 14, 16)
    ]
    + ["gray", "gray9le", "gray10le", "gray12le", "gray16le"]
)
"""Pixel formats that FFmpeg's y4m muxer writes; above 8 bits only with strict=-1."""

_DERIVED = frozenset(
    (
        *("time_base", "pkt_timebase", "framerate", "video_size", "pixel_format", "aspect"),
        *("color_range", "colorspace", "color_primaries", "color_trc", "chroma_sample_location"),
    )
)
"""Options that state properties of the pictures, which follow from the input."""

_PRESET_NUMBERS = frozenset("0123456789")
"""x264's presets have numbers, too."""


def choose(
    picture: PictureInfo,
    muxer: str,
    encoding: Encoding,
    source: str = "",
    result: Format | None = None,
    alpha: bool = False,
) -> Encoder:
    """Return the encoder for such pictures; InputError names a setting that cannot be used.

    FFmpeg calls the input's codec `source`. Pictures of the format `result` are encoded (None: that
    of the input; the depth does not count), with an alpha channel if the encoder takes one.
    """
    requested = _requested(encoding.pix_fmt, alpha)
    raw = muxer == Y4M
    depth = (requested or picture.format).bits
    if raw:
        if encoding.codec not in (None, "wrapped_avframe", "rawvideo"):
            raise InputError(
                f"got `codec`={encoding.codec}; y4m holds raw pictures only",
                parameter="codec",
                advice="leave it out",
            )
        codec = "wrapped_avframe"
    else:
        codec = encoding.codec or default_codec(
            picture, depth, source, muxer, result or picture.format, encoding.preset,
            alpha and not picture.opaque and (requested is None or requested.alpha),
            encoding.has_rate or bool(encoding.options),
        )  # fmt: skip
    offered = _Y4M_FORMATS if raw else formats(codec)
    if requested is None:
        chosen = (best(offered, picture.format, alpha=True) if alpha else None) or best(
            offered, picture.format
        )
        lost = None
        if chosen is None:
            lost = "takes no YUV or grey pictures"
        elif chosen.subsampling is None and picture.format.subsampling is not None:
            lost = "takes no YUV pictures and would make them grey"
        if chosen is None or lost is not None:
            raise InputError(f"{codec} {lost}", parameter="codec", advice="choose another `codec`")
    else:
        requested = pixels.parse(hardware.layout(codec, requested.name))
        if offered and requested.name not in offered:
            raise InputError(
                f"got `pix_fmt`={requested.name}; {codec} expects one of {', '.join(offered)}",
                parameter="pix_fmt",
            )
        chosen = requested
        if chosen.alpha and not _written(chosen, picture.format):
            raise InputError(
                f"got `pix_fmt`={chosen.name}, which frames of {pixels.describe(picture.format)} "
                "cannot become",
                parameter="pix_fmt",
            )
    known = traits(codec)
    light = light_options(picture.light, known.light, known.plain_light) if picture.light else {}
    losses = _losses(picture.format, chosen, codec)
    if light is None:
        losses.append(
            f"HDR mastering display and light levels are lost: {codec} does not get them here "
            f"({', '.join(names(lambda one: one.light))} do)"
        )
    return Encoder(
        codec, chosen, _options(codec, picture, encoding, light or {}, chosen), tuple(losses)
    )


def _requested(name: str | None, alpha: bool) -> pixels.PixelFormat | None:
    """Return the requested pixel format; None: there is no request. InputError: not writable."""
    if name is None:
        return None
    try:
        layout = pixels.parse(name)
    except ValueError:
        raise InputError(
            f"got `pix_fmt`={name}, which FFmpeg does not know; expected e.g. yuv420p, yuv420p10le",
            parameter="pix_fmt",
        ) from None
    if layout.rgb or layout.full_range or (layout.alpha and not alpha):
        others = "" if alpha else " alpha or"
        raise InputError(
            f"got `pix_fmt`={name}; expected YUV or grey, without{others} j", parameter="pix_fmt"
        )
    return layout


@lru_cache(maxsize=16)
def formats(codec: str) -> tuple[str, ...]:
    """Return the pixel formats that an encoder takes; InputError: no such encoder."""
    try:
        found = Codec(codec, "w")
    except UnknownCodecError:
        raise InputError(
            f"got `codec`={codec}, for which there is no encoder here; expected e.g. "
            f"{', '.join(names(lambda one: one.common and not one.on_cpu))}",
            parameter="codec",
        ) from None
    if found.type != "video":
        raise InputError(
            f"got `codec`={codec}, which encodes {found.type}; expected a video encoder",
            parameter="codec",
        )
    offered = [form.name for form in found.video_formats or ()]
    clear = traits(codec).alpha
    if clear is None:
        return tuple(offered)
    return tuple(name for name in offered if name in clear or not name.startswith("yuva"))


def best(
    offered: tuple[str, ...], format: Format, alpha: bool = False
) -> pixels.PixelFormat | None:
    """Return the offered format that loses least of `format`, and among these adds least."""
    usable = []
    for name in offered:
        try:
            layout = pixels.parse(name)
        except ValueError:
            continue  # frames in a GPU's memory
        if layout.rgb or layout.full_range or "f16" in name or layout.alpha != alpha:
            continue
        if not alpha or _written(layout, format):
            usable.append(layout)

    def cost(layout: pixels.PixelFormat) -> tuple[int, ...]:
        lost, added = _chroma(format.subsampling, layout.subsampling)
        bits = layout.bits - format.bits
        return max(0, -bits), lost, added, max(0, bits), not layout.direct

    return min(usable, key=cost, default=None)


def _written(layout: pixels.PixelFormat, format: Format) -> bool:
    """Return whether frames of this format can be given to an encoder of pictures with alpha."""
    subsampling = format.subsampling or layout.subsampling
    return pixels.with_alpha(layout.bits, subsampling) is not None


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


def _losses(format: Format, layout: pixels.PixelFormat, codec: str) -> list[str]:
    losses = []
    if layout.bits < format.bits:
        losses.append(f"{format.bits} bit samples are rounded to {layout.bits} bit ({layout.name})")
    if _chroma(format.subsampling, layout.subsampling)[0]:
        have = pixels.NAMES.get(format.subsampling or (0, 0), "?")
        get = "none" if layout.subsampling is None else pixels.NAMES[layout.subsampling]
        losses.append(f"chroma {have} is reduced to {get} ({codec}, {layout.name})")
    return losses


def _options(
    codec: str,
    picture: PictureInfo,
    encoding: Encoding,
    light: dict[str, str],
    layout: pixels.PixelFormat,
) -> dict[str, str]:
    """Return the encoder's options; those of the user come last and override ours."""
    options: dict[str, str] = {}
    _check(codec, encoding, layout.bits)
    known, types = traits(codec), numbers.option_types(codec)
    preset = encoding.preset or known.preset
    crf = encoding.crf if encoding.crf is not None else known.crf
    if encoding.target is not None:
        crf = None  # `goals.aimed` gives it
    for key, name, value, requested in (
        ("preset", "preset", preset, encoding.preset),
        (known.quality, "crf", crf, encoding.crf),
    ):
        if value is None or (requested is None and _replaced(key, encoding.options)):
            continue
        if key not in types:
            raise InputError(
                f"{codec} has no option {key}",
                parameter=name,
                advice=f"leave `{name}` out, or give another of its `encoder_options`",
            )
        if isinstance(value, str):
            options[key] = value
        else:
            options |= numbers.quality(codec, value, encoding.options)
    own = {**known.always, **light}
    if known.threads_by and (threads := chosen_threads()) is not None:
        own[known.threads_by] = str(threads)
    location = picture.chroma_location
    if codec == "wrapped_avframe" and layout.subsampling == (1, 1):
        location = location or "left"  # y4m would state centre where nothing is known
    if location and layout.subsampling not in (None, (0, 0)):
        options["chroma_sample_location"] = location
    if layout.alpha and known.alpha_beside:
        options["auto-alt-ref"] = "0"  # frames that are not shown would part the two streams
    options |= goals.limited(codec, encoding.max_bitrate)
    if own:
        mine = {known.parameters[0]: ":".join(f"{key}={value}" for key, value in own.items())}
        options = numbers.added(options, mine)
    return numbers.added(options, encoding.options)  # the user's parameters come last


def _check(codec: str, encoding: Encoding, bits: int) -> None:
    """Refuse options that follow from the input, and values that encoders reject or change."""
    goals.check(codec, encoding)
    known = traits(codec).values
    hardware.check(codec, encoding)
    numbers.check(codec, encoding.crf, encoding.preset, encoding.options, bits)
    for key, value in {"preset": encoding.preset, **encoding.options}.items():
        if key in _DERIVED:
            raise InputError(
                f"the encoder's option {key} follows from the input",
                parameter="encoder_options",
                advice="leave it out",
            )
        if key not in known or value is None:
            continue
        if key == "preset" and value in _PRESET_NUMBERS:
            continue
        requested = re.split(r"[,./+-]", value) if key == "tune" else [value]
        if not set(requested) <= set(known[key]):
            given = f"`preset`={value}" if key == "preset" else f"{key}={value}"
            raise InputError(
                f"got {given}; {codec} expects one of {', '.join(known[key])}",
                parameter="preset" if key == "preset" else "encoder_options",
            )


def _replaced(key: str, options: Mapping[str, str]) -> bool:
    """Return whether the user's options set `key`, or control the rate in another way."""
    return key in options or (key != "preset" and not goals.RATES.isdisjoint(options))
