"""16-bit colour of images, which Pillow does not support: FFmpeg codes it, in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
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


def encode_png(pixels: Array) -> bytes:
    """Return the bytes of a PNG file with 16-bit colour.

    Parameters
    ----------
    pixels : (H, W, 3) or (H, W, 4) uint16
    """
    import av

    kind = "rgba64" if pixels.shape[2] == 4 else "rgb48"
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), f"{kind}le")
    encoder = av.CodecContext.create("png", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height = frame.width, frame.height
    encoder.pix_fmt = f"{kind}be"
    encoder.time_base = 1  # type: ignore[assignment, unused-ignore]  # PyAV 18
    packets = [*encoder.encode(frame.reformat(format=encoder.pix_fmt)), *encoder.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
