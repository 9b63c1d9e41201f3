"""16-bit colour of images, which Pillow does not support: FFmpeg decodes it, in memory."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from snellen.frames import limits

Array = npt.NDArray[Any]

DECODERS = {"PNG": "png", "PPM": "ppm", "JPEG2000": "jpeg2000"}
"""FFmpeg's decoders by Pillow's names of formats."""


def decode(data: bytes, kind: str, alpha: bool) -> Array:
    """Return the pixels of an image file, (H, W, 3) or with `alpha` (H, W, 4) uint16.

    Parameters
    ----------
    data : bytes
        The whole file.
    kind : str
        Its format, one of `DECODERS`.
    alpha : bool
        Whether it has transparency.

    Raises
    ------
    FFmpegError
        The file is damaged.
    """
    import av  # which most pictures do without
    from av.packet import Packet

    decoder: Any = av.CodecContext.create(DECODERS[kind], "r")
    decoder.thread_count = 1
    decoder.options = {"max_pixels": str(limits.greatest())}
    frames = [*decoder.decode(Packet(data)), *decoder.decode(None)]
    if not frames:
        raise ValueError("there are no pixels in it")
    pixels: Array = frames[0].to_ndarray(format="rgba64le" if alpha else "rgb48le")
    return pixels
