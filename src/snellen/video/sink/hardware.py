"""NVIDIA's encoders: their options, a probe that opens them, and the encoders to use instead.

Experimental: the options are those that FFmpeg documents, and have not been run on hardware.
Without NVENC the probe fails and the CPU encodes.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.gpu import driver
from snellen.video import logs, pixels
from snellen.video.ffmpeg import reason
from snellen.video.sink.encoding import Encoder, Encoding

ON_CPU = {"h264_nvenc": "libx264", "hevc_nvenc": "libx265", "av1_nvenc": "libsvtav1"}
"""The encoder of the same codec that runs on the CPU."""

QUALITY = {"h264_nvenc": 16, "hevc_nvenc": 16, "av1_nvenc": 18}
"""Default constant quality: the values of the encoders in `ON_CPU`."""

_DEVICES = Path("/dev/dri")
"""Where Linux has the devices of Intel's encoders."""

_WORST = {"h264_nvenc": 51, "hevc_nvenc": 51, "av1_nvenc": 63}
"""Greatest constant quality, which is the worst."""

_PRESETS = ("p1", "p2", "p3", "p4", "p5", "p6", "p7")
"""From the fastest to the best; p4 is NVENC's own default."""

_SIMILAR = {
    "libx264": ("superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"),
    "libx265": ("superfast", "veryfast", "faster", "fast", "medium", "slow", "slower"),
    "libsvtav1": ("11", "10", "9", "8", "6", "5", "4"),
}
"""Presets that replace p1 … p7 on the CPU: similar positions in its encoder's own range of presets,
not similar speeds."""

_UPPER_BITS = {"yuv420p10le": "p010le", "yuv422p10le": "p210le", "yuv444p10le": "yuv444p10msble"}
"""Formats with the same samples in the upper bits, as NVENC takes them."""


def layout(codec: str, pixel_format: str) -> str:
    """Return the format in which `codec` takes the samples of `pixel_format`."""
    return _UPPER_BITS.get(pixel_format, pixel_format) if codec in ON_CPU else pixel_format


def check(codec: str, encoding: Encoding) -> None:
    """Refuse presets and qualities that NVENC would misread or reject."""
    for preset in (encoding.preset, encoding.options.get("preset")):
        if preset is not None and preset not in _PRESETS:
            raise InputError(
                f"got `preset`={preset!r}; {codec} expects p1 (fastest) to p7 (best)",
                parameter="preset",
            )
    if encoding.crf is None:
        return
    rate = encoding.options.get("rc", "vbr")
    if rate != "vbr":
        raise InputError(
            f"{codec} takes `crf` (its cq) only with rc=vbr; got rc={rate}",
            parameter="crf",
            advice="leave one of them out, or give `encoder_options` qp=NUMBER with rc=constqp, "
            "b=BITS with rc=cbr",
        )
    if not 0 < encoding.crf <= _WORST[codec]:
        raise InputError(
            f"got `crf`={encoding.crf:g}; {codec} expects one (its cq) above 0 up to "
            f"{_WORST[codec]}",
            parameter="crf",
            advice="for no loss at all give `encoder_options` tune=lossless",
        )


def probe(codec: str, pixel_format: str, format: Format) -> str | None:
    """Open the encoder for pictures of that size; return why that does not work; None: it does.

    FFmpeg lists the encoder on every machine and needs the driver only when it is opened.
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
    texts = dict.fromkeys(text.strip() for _, name, text in messages if name == codec)
    why = "; ".join(texts)
    if _has_device(codec):
        return why or reason(failed)
    return f"no such device: {why}" if why else "no such device"


def _has_device(codec: str) -> bool:
    """Return whether there may be a device for an encoder: an NVIDIA GPU, or one of Intel's."""
    if codec.endswith("_nvenc"):
        return driver.count() > 0
    if codec.endswith("_qsv") and sys.platform == "linux":
        return any(_DEVICES.glob("renderD*"))
    return True


def replacement(
    encoder: Encoder, format: Format, encoding: Encoding
) -> tuple[Encoding, str] | None:
    """Return settings for the CPU and a warning, if NVENC does not work; None: use `encoder`.

    Parameters
    ----------
    encoder : Encoder
        The choice for `encoding`.
    format : Format
        Of the pictures to be encoded.
    encoding : Encoding
        As the user requested it.

    Returns
    -------
    tuple of Encoding and str
        The same crf, the preset and the pixel format translated. NVENC's own options mean nothing
        to another encoder: they are left out, and the warning names them.
    """
    if encoder.codec not in ON_CPU:
        return None
    why = probe(encoder.codec, encoder.pixels.name, format)
    if why is None:
        return None
    codec = ON_CPU[encoder.codec]
    context = av.CodecContext.create(encoder.codec, "w")
    own = {option.name for option in context.supported_options.private}
    kept = {key: value for key, value in encoding.options.items() if key not in own}
    preset = encoding.preset or encoding.options.get("preset")
    requested = encoding.pix_fmt
    line = f"{encoder.codec} does not work here ({why}): {codec} is used instead"
    dropped = [key for key in encoding.options if key in own and key != "preset"]
    if dropped:
        line += f", without {', '.join(dropped)}"
    cpu = replace(
        encoding,
        codec=codec,
        preset=None if preset is None else _SIMILAR[codec][_PRESETS.index(preset)],
        options=kept,
        pix_fmt=None if requested is None else pixels.parse(requested).planar,
    )
    return cpu, line
