"""Intel's encoders (Quick Sync Video): their quality, and the encoders to use instead.

Experimental: the options are those that FFmpeg documents, and have not been run on hardware.
Where they do not open, the CPU encodes.
"""

from __future__ import annotations

from dataclasses import replace

import av

from snellen.errors import InputError
from snellen.frames.frame import Format
from snellen.video import pixels
from snellen.video.sink.encoding import Encoder, Encoding
from snellen.video.sink.hardware import probe

ON_CPU = {"h264_qsv": "libx264", "hevc_qsv": "libx265", "av1_qsv": "libsvtav1"}
"""The encoder of the same codec that runs on the CPU."""

QUALITY = {"h264_qsv": 16, "hevc_qsv": 16, "av1_qsv": 18}
"""Default constant quality (ICQ): the values of the encoders in `ON_CPU`."""

_WORST = 51
"""Greatest constant quality, which is the worst."""

_PRESETS = ("veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
"""From the fastest to the best: names of x264's and x265's, too."""
_SVT = ("11", "10", "9", "8", "6", "5", "4")
"""Presets of libsvtav1 that replace them: similar positions in its own range."""


def check(codec: str, encoding: Encoding) -> None:
    """Refuse presets and qualities that these encoders would misread or reject."""
    for preset in (encoding.preset, encoding.options.get("preset")):
        if preset is not None and preset not in _PRESETS:
            raise InputError(
                f"got `preset`={preset!r}; {codec} expects one of {', '.join(_PRESETS)}",
                parameter="preset",
            )
    if encoding.crf is not None and not 1 <= encoding.crf <= _WORST:
        raise InputError(
            f"got `crf`={encoding.crf:g}; {codec} expects one from 1 to {_WORST}", parameter="crf"
        )


def replacement(
    encoder: Encoder, format: Format, encoding: Encoding
) -> tuple[Encoding, str] | None:
    """Return settings for the CPU and a warning, if the encoder does not work; None: use it.

    Parameters and results as of `hardware.replacement`.
    """
    if encoder.codec not in ON_CPU:
        return None
    why = probe(encoder.codec, encoder.pixels.name, format)
    if why is None:
        return None
    codec = ON_CPU[encoder.codec]
    context = av.CodecContext.create(encoder.codec, "w")
    own = {option.name for option in context.supported_options.private} | {"global_quality"}
    dropped = [key for key in encoding.options if key in own and key != "preset"]
    line = f"{encoder.codec} does not work here ({why}): {codec} is used instead"
    if dropped:
        line += f", without {', '.join(dropped)}"
    preset = encoding.preset or encoding.options.get("preset")
    if preset is not None and codec == "libsvtav1":
        preset = _SVT[_PRESETS.index(preset)]
    requested = encoding.pix_fmt
    cpu = replace(
        encoding,
        codec=codec,
        preset=preset,
        options={key: value for key, value in encoding.options.items() if key not in own},
        pix_fmt=None if requested is None else pixels.parse(requested).planar,
    )
    return cpu, line
