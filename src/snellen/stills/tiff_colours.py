"""The samples of a TIFF picture as grey, RGB or RGBA: white-is-zero, CMYK, L*a*b*, alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from snellen.errors import InputError
from snellen.frames import lab
from snellen.frames.pillow_pixels import Samples, from_cmyk, inverted
from snellen.frames.tiff_kinds import (
    ASSOCIATED,
    CIE_LAB,
    CMYK,
    ICC_LAB,
    WHITE_IS_ZERO,
    Kind,
    left_out,
)

Array = npt.NDArray[Any]

_ICC_WHITE = 0xFF00
"""L* = 100 in 16 bits of ICC L*a*b*; 100 is 65535 in CIE L*a*b*, and 255 of 8 bits in both."""


def shown(samples: Array, kind: Kind, profile: bytes | None, white_point: Any) -> Samples:
    """Return what samples show: colours (H, W, C), with alpha behind them if `kind` has such.

    They are uint8 or uint16, of which the greatest value is white, or floats. The ICC profile
    counts for CMYK, `white_point`, TIFF's tag of this name, for L*a*b*. InputError: floats with
    transparency, or floats that are no shades between white, 0, and black.
    """
    colours, alpha = samples[..., : kind.colours], samples[..., kind.colours :]
    lost = left_out(kind)
    floats = samples.dtype.kind == "f"
    if floats:
        if kind.alpha is not None:
            raise InputError("got float samples with transparency; expected none")
        if samples.dtype.itemsize == 8:
            lost.append("its floats of 64 bits are read as 32")
        with np.errstate(over="ignore"):
            colours = colours.astype(np.float32, copy=False)
    elif kind.alpha is not None and kind.extras[kind.alpha - kind.colours] == ASSOCIATED:
        colours = _straight(colours, alpha)
    srgb = False
    if kind.photometric == WHITE_IS_ZERO:
        colours = inverted(colours)
    elif kind.photometric == CMYK:
        if colours.dtype == np.uint16:
            colours, alpha = _eight_bits(colours), _eight_bits(alpha)
            lost.append("its 16 bits a sample are read as 8")
        data = np.ascontiguousarray(colours)
        size = data.shape[1], data.shape[0]
        image = Image.frombuffer("CMYK", size, data, "raw", "CMYK", 0, 1)
        colours, how = from_cmyk(image, profile)
        lost.append(how)
        srgb = True
    elif kind.photometric in (CIE_LAB, ICC_LAB):
        colours = _from_lab(colours, kind.photometric, white_point)
        lost.append("its L*a*b* is converted to sRGB")
        srgb = True
    grey = colours.shape[2] == 1
    if not alpha.shape[2]:
        return Samples(colours[..., 0] if grey else colours, False, srgb, tuple(lost))
    if grey:
        colours = colours[..., [0, 0, 0]]
    return Samples(np.concatenate([colours, alpha], -1), grey, srgb, tuple(lost))


def _from_lab(samples: Array, photometric: int, white_point: Any) -> Array:
    """Return L*a*b*, or L* alone, as sRGB."""
    most = int(np.iinfo(samples.dtype).max)
    middle = (most + 1) // 2
    if samples.shape[2] == 1:
        neutral = np.full_like(samples, middle)
        samples = np.concatenate([samples, neutral, neutral], -1)
    elif photometric == CIE_LAB:  # a* and b* are signed
        samples = samples ^ np.array([0, middle, middle], samples.dtype)
    deep = most > 255
    lightest = _ICC_WHITE if deep and photometric == ICC_LAB else most
    return lab.srgb(samples, lightest, 256 if deep else 1, lab.chromaticity(white_point))


def _straight(colours: Array, alpha: Array) -> Array:
    """Return colours that were multiplied by alpha as they are without."""
    most = np.float32(np.iinfo(colours.dtype).max)
    straight = colours * (most / np.maximum(alpha.astype(np.float32), 1))
    return np.minimum(np.rint(straight), most).astype(colours.dtype)


def _eight_bits(samples: Array) -> Array:
    return ((samples.astype(np.uint32) * 255 + 32767) // 65535).astype(np.uint8)
