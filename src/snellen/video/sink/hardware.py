"""Encoders of NVIDIA's and Intel's hardware: their options, a probe, and what encodes instead.

Experimental: the options are those that FFmpeg documents, and have not been run on hardware.
Where an encoder does not open, the CPU encodes.
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
from snellen.video import pixels
from snellen.video.ffmpeg import reason
from snellen.video.logs import logs
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.registry import WORST, traits

_DEVICES = Path("/dev/dri")
"""Where Linux has the devices of Intel's encoders."""

_NVIDIA, _INTEL = "_nvenc", "_qsv"
"""How the names of the encoders end."""

_UPPER_BITS = {"yuv420p10le": "p010le", "yuv422p10le": "p210le", "yuv444p10le": "yuv444p10msble"}
"""Formats with the same samples in the upper bits, as NVENC takes them."""


def layout(codec: str, pixel_format: str) -> str:
    """Return the format in which `codec` takes the samples of `pixel_format`."""
    deep = traits(codec).upper_bits
    return _UPPER_BITS.get(pixel_format, pixel_format) if deep else pixel_format


def check(codec: str, encoding: Encoding) -> None:
    """Refuse presets and qualities that an encoder of hardware would misread or reject."""
    known = traits(codec)
    if not known.on_cpu:
        return
    for preset in (encoding.preset, encoding.options.get("preset")):
        if preset is not None and preset not in known.presets:
            words = f"{known.presets[0]} (fastest) to {known.presets[-1]} (best)"
            if codec.endswith(_INTEL):
                words = f"one of {', '.join(known.presets)}"
            raise InputError(
                f"got `preset`={preset!r}; {codec} expects {words}", parameter="preset"
            )
    crf, worst = encoding.crf, known.worst or WORST
    if crf is None:
        return
    if codec.endswith(_INTEL):
        if not 1 <= crf <= worst:
            raise InputError(
                f"got `crf`={crf:g}; {codec} expects one from 1 to {worst}", parameter="crf"
            )
        return
    rate = encoding.options.get("rc", "vbr")
    if rate != "vbr":
        raise InputError(
            f"{codec} takes `crf` (its cq) only with rc=vbr; got rc={rate}",
            parameter="crf",
            advice="leave one of them out, or give `encoder_options` qp=NUMBER with rc=constqp, "
            "b=BITS with rc=cbr",
        )
    if not 0 < crf <= worst:
        raise InputError(
            f"got `crf`={crf:g}; {codec} expects one (its cq) above 0 up to {worst}",
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
    if codec.endswith(_NVIDIA):
        return driver.count() > 0
    if codec.endswith(_INTEL) and sys.platform == "linux":
        return any(_DEVICES.glob("renderD*"))
    return True


def replacement(
    encoder: Encoder, format: Format, encoding: Encoding
) -> tuple[Encoding, str] | None:
    """Return settings for the CPU and a warning, if the encoder does not work; None: use it.

    The crf is the same, preset and pixel format are translated. The encoder's own options mean
    nothing to another one: they are left out, and the warning names them.
    """
    known = encoder.traits
    if not known.on_cpu:
        return None
    why = probe(encoder.codec, encoder.pixels.name, format)
    if why is None:
        return None
    codec = known.on_cpu
    context = av.CodecContext.create(encoder.codec, "w")
    own = {option.name for option in context.supported_options.private} | {known.quality}
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
        preset=None if preset is None else known.similar[known.presets.index(preset)],
        options=kept,
        pix_fmt=None if requested is None else pixels.parse(requested).planar,
    )
    return cpu, line
