"""Says where a picture looks coded and is enlarged by a model for clean sources, unasked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import caution
from snellen.sources.traces import SIDE, looks_coded
from snellen.upscaling.shipped import AUTO, known

Array = Any
"""An array of NumPy or CuPy."""

TEXT = (
    "this picture looks as if it had been coded (a frame of a film, a JPEG), and the model is that "
    "for clean sources; `source_kind`=film is mostly better there, and `source_kind`=clean says "
    "that clean is meant"
)


def is_unasked(model: object, source_kind: object) -> bool:
    """Return whether a caller left open which kind of pictures the model is for."""
    return model is None and known("source_kind", source_kind) == AUTO


def warn(picture: Array, white: float | None) -> None:
    """Warn (UserWarning) of a picture that looks coded; parameters as of `is_doubtful`."""
    if is_doubtful(picture, white):
        caution(TEXT)


def is_doubtful(picture: Array, white: float | None) -> bool:
    """Return whether a picture looks coded.

    Parameters
    ----------
    picture : (H, W) or (H, W, C) array
        Luma, or RGB with more channels or none. On a GPU the current stream is waited for, unless
        it is captured: then nobody looks.
    white : float, optional
        The sample value of white. None: the greatest of integers.
    """
    top, left = (max(side - SIDE, 0) // 2 for side in picture.shape[:2])
    part = picture[top : top + SIDE, left : left + SIDE]
    if not isinstance(part, np.ndarray):
        import cupy

        if cupy.cuda.get_current_stream().is_capturing():
            return False
        part = picture[top : top + SIDE].get()[:, left : left + SIDE]  # whole rows need no kernel
    return looks_coded(luma_of(part, white))


def luma_of(picture: npt.NDArray[Any], white: float | None = None) -> npt.NDArray[np.uint8]:
    """Return the luma of a picture in 8 bits, by BT.601's weights; as of `is_doubtful`."""
    if picture.dtype != np.uint8 or white not in (None, 255):
        most = np.iinfo(picture.dtype).max if white is None else white
        scaled = picture.astype(np.float64) * (255 / most)
        picture = np.rint(np.nan_to_num(scaled).clip(0, 255)).astype(np.uint8)
    if picture.ndim == 2:
        return picture
    red, green, blue = (picture[..., one].astype(np.uint16) for one in range(3))
    return ((77 * red + 150 * green + 29 * blue + 128) >> 8).astype(np.uint8)
