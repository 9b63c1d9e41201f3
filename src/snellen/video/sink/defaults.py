"""Chooses the encoder where the user names none."""

from __future__ import annotations

from functools import cache
from io import BytesIO

import av

from snellen.frames.frame import Format
from snellen.video.media import PictureInfo
from snellen.video.side_data import HDR_TRANSFERS
from snellen.video.sink.registry import encoder_of, traits

_OPEN = ("av1", "vp9")
"""Codecs of sources whose players play AV1."""
_WITH_ALPHA = ("vp8", "vp9")
"""Codecs of sources whose transparent pictures VP9 holds, too."""
_DEEP_ALPHA = {"matroska": "ffv1", "mov": "prores"}
"""Codecs of transparent pictures above 8 bits, which HEVC as it is built does not hold."""


def default_codec(
    picture: PictureInfo,
    bits: int,
    source: str,
    muxer: str,
    result: Format,
    preset: str | None = None,
    alpha: bool = False,
    rated: bool = False,
) -> str:
    """Return the encoder for such pictures, among those that the container takes.

    Of 10 bits or HDR it is HEVC, since hardly any player takes deep H.264; of AV1 and VP9, where
    nothing is lost, AV1; else H.264. Of transparent pictures (`alpha`) it is VP9 of VP9 and for
    WebM, and above 8 bits FFV1 in Matroska and ProRes in mov, unless the user sets a quality or a
    rate (`rated`), which these two do not take. AV1's presets are numbers: a name means another
    encoder.

    FFmpeg calls the input's codec `source`; samples of so many `bits` are encoded, whatever the
    depth of `result`, the format of the pictures.
    """
    wanted = ["h264"]
    large = min(result.width, result.height) >= traits(encoder_of("hevc")).least
    if large and (bits > 8 or picture.color_trc in HDR_TRANSFERS):
        wanted = ["hevc", *wanted]
    av1 = preset is None or preset.lstrip("-").isdigit()
    if av1 and source in _OPEN and bits <= 10 and result.subsampling == (1, 1):
        wanted = ["av1", *wanted]
    last = ["av1", "vp9"]
    wanted += last if result.subsampling == (1, 1) and bits <= 10 else reversed(last)
    if alpha and bits == 8 and (muxer == "webm" or source in _WITH_ALPHA):
        wanted = [last[1], *wanted]
    if alpha and bits > 8 and not rated and muxer in _DEEP_ALPHA:
        return encoder_of(_DEEP_ALPHA[muxer])
    encoders = [encoder_of(codec) for codec in wanted]
    return next((one for one in encoders if holds(muxer, one)), encoders[0])


@cache
def holds(muxer: str, codec: str) -> bool:
    """Return whether a container takes video of an encoder, as far as FFmpeg's lists say."""
    if muxer == "mpegts":
        return traits(codec).streamed
    out = av.open(BytesIO(), "w", format=muxer)
    try:
        out.add_stream(codec, rate=25)
    except ValueError:
        return False
    return True
