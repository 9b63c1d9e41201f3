"""NVIDIA's encoders, thin: their options, a probe that really opens them, what to use instead.

What is here says what FFmpeg documents of them. They have not been run on hardware: without NVENC
the probe says no and the encoder on the CPU is used.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import logs, pixels
from snellen.video.source.open import reason

if TYPE_CHECKING:
    from snellen.video.sink.encoders import Encoder, Encoding

ON_CPU = {"h264_nvenc": "libx264", "hevc_nvenc": "libx265", "av1_nvenc": "libsvtav1"}
"""The encoder of the same codec that runs everywhere."""

QUALITY = {"h264_nvenc": 16, "hevc_nvenc": 16, "av1_nvenc": 18}
"""Constant quality where none is asked for: the figures of the encoders in `ON_CPU`."""

_WORST = {"h264_nvenc": 51, "hevc_nvenc": 51, "av1_nvenc": 63}

_PRESETS = ("p1", "p2", "p3", "p4", "p5", "p6", "p7")
"""From the fastest to the best; p4 is NVENC's own default."""

_NEAR = {
    "libx264": ("superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"),
    "libx265": ("superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"),
    "libsvtav1": ("12", "11", "10", "8", "6", "5", "4"),
}
"""What stands for p1 … p7 on the CPU: as far along its encoder's own line, not the same speed."""

_DEEP = {"yuv420p10le": "p010le", "yuv422p10le": "p210le", "yuv444p10le": "yuv444p10msble"}
"""The same samples in the upper bits, as NVENC takes them."""


def layout(codec: str, pixel_format: str) -> str:
    """Return the format in which `codec` takes the samples of `pixel_format`."""
    return _DEEP.get(pixel_format, pixel_format) if codec in ON_CPU else pixel_format


def check(codec: str, encoding: Encoding) -> None:
    """Refuse what NVENC would take for something else, or not take at all."""
    for preset in (encoding.preset, encoding.options.get("preset")):
        if preset is not None and preset not in _PRESETS:
            raise InputError(f"{codec} knows no preset {preset!r}: p1 (fastest) to p7 (best)")
    if encoding.crf is None:
        return
    rate = encoding.options.get("rc", "vbr")
    if rate != "vbr":
        raise InputError(
            f"{codec} has a crf (its cq) only with rc=vbr, not rc={rate}: leave one of them out, "
            "or use -e qp=NUMBER with rc=constqp, -e b=BITS with rc=cbr"
        )
    if not 0 < encoding.crf <= _WORST[codec]:
        raise InputError(
            f"{codec} takes a crf (its cq) above 0 up to {_WORST[codec]}, not {encoding.crf:g}; "
            "without any loss: -e tune=lossless"
        )


def fails(codec: str, pixel_format: str, format: Format) -> str | None:
    """Open the encoder for pictures of that size; return why that does not work, None: it does.

    That FFmpeg lists an encoder says nothing: it asks for the driver only now.
    """
    with logs.listening() as messages:
        try:
            context: Any = av.CodecContext.create(codec, "w")
            context.width, context.height = format.width, format.height
            context.pix_fmt = pixel_format
            context.time_base = Fraction(1, 25)
            context.open()
            return None
        except (av.FFmpegError, OSError, ValueError) as error:
            failed = error
    said = dict.fromkeys(text.strip() for _, who, text in messages if who == codec)
    return "; ".join(said) or reason(failed)


def instead(encoder: Encoder, format: Format, encoding: Encoding) -> tuple[Encoding, str] | None:
    """Return how to encode on the CPU and a line that says so; None: `encoder` is to be used.

    Parameters
    ----------
    encoder : the choice for `encoding`
    format : of the pictures to be encoded
    encoding : as it was asked for

    Returns
    -------
    tuple of Encoding and str
        crf as it was asked for, the preset and the pixel format translated. NVENC's own options
        mean nothing to another encoder: they are left out, and the line names them.
    """
    if encoder.codec not in ON_CPU:
        return None
    why = fails(encoder.codec, encoder.pixels.name, format)
    if why is None:
        return None
    codec = ON_CPU[encoder.codec]
    context = av.CodecContext.create(encoder.codec, "w")
    own = {option.name for option in context.supported_options.private}
    kept = {key: value for key, value in encoding.options.items() if key not in own}
    preset = encoding.preset or encoding.options.get("preset")
    asked = encoding.pix_fmt
    line = f"{encoder.codec} does not work here ({why}): {codec} is used instead"
    gone = [key for key in encoding.options if key in own and key != "preset"]
    if gone:
        line += f", without {', '.join(gone)}"
    cpu = replace(
        encoding,
        codec=codec,
        preset=None if preset is None else _NEAR[codec][_PRESETS.index(preset)],
        options=kept,
        pix_fmt=None if asked is None else pixels.describe(asked).planar,
    )
    return cpu, line
