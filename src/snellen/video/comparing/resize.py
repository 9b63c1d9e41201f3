"""Scales a plane to another size by FFmpeg's swscale."""

from __future__ import annotations

from typing import Any

import numpy as np
from av.video.reformatter import Interpolation

from snellen.frames.frame import Plane
from snellen.video import pixels

METHOD = "swscale's Lanczos"
_FLAGS = Interpolation.LANCZOS | Interpolation.ACCURATE_RND | Interpolation.BITEXACT


def resize(plane: Plane, bits: int, width: int, height: int) -> Plane:
    """Return an integer plane scaled by Lanczos (three lobes, wider where it shrinks).

    Depth and range are kept: a plane of one value stays constant. Ringing beyond the ends of the
    code range is clipped.
    """
    frame = pixels.picture((plane,), pixels.planar(bits, None))
    # State the same range on both sides: else swscale stretches it.
    scaled = frame.reformat(
        width, height, interpolation=_FLAGS, src_color_range=1, dst_color_range=1
    )
    view: Any = np.from_dlpack(scaled.planes[0])
    found: Plane = view
    return found
