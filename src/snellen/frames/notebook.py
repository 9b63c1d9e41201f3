"""How pictures show themselves in a notebook: as HTML, without a library; `brief` has tables.

Texts are escaped, as they may come from files; nothing is read from the disk.
"""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

LONGEST = 384
"""Pixels of the longer side of a picture that is shown; larger ones are shrunk."""

Pixels = npt.NDArray[np.uint8]


def picture(pixels: Pixels, text: str) -> str:
    """Return a picture, (H, W), (H, W, 3) or (H, W, 4), with a line below it."""
    from PIL import Image

    shown = Image.fromarray(np.ascontiguousarray(pixels))
    shown.thumbnail((LONGEST, LONGEST))
    if max(shown.size) < 64:  # a PSF: each of its samples is to be seen
        factor = 128 // max(shown.size)  # at least 2
        shown = shown.resize(
            (factor * shown.width, factor * shown.height), Image.Resampling.NEAREST
        )
    file = BytesIO()
    shown.save(file, "PNG", optimize=True)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        '<figure style="display:inline-block;margin:4px">'
        f'<img alt="{escape(text)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(text)}</figcaption></figure>"
    )


def pixels(image: Any, white: float | None = None) -> Pixels | None:
    """Return an array of NumPy, CuPy or PyTorch as 8-bit pixels; None: it is no single picture.

    That is (H, W), (H, W, 3) or (H, W, 4). By default `white`, the sample value of white, is the
    greatest of integers, of floats 1 or their maximum.
    """
    samples = host(image)
    if samples.ndim not in (2, 3) or (samples.ndim == 3 and samples.shape[2] not in (3, 4)):
        return None
    step = max(1, max(samples.shape[:2]) // (2 * LONGEST))
    samples = samples[::step, ::step]
    if white is None and samples.dtype.kind in "ui":
        white = float(np.iinfo(samples.dtype).max)
    samples = np.nan_to_num(samples.astype(np.float64), posinf=0, neginf=0)
    scale = white or max(1.0, float(samples.max(initial=0)))
    return np.rint(255 * np.clip(samples / scale, 0, 1)).astype(np.uint8)


def host(array: Any) -> npt.NDArray[Any]:
    """Return an array as NumPy's."""
    if hasattr(array, "get"):  # CuPy's
        return np.asarray(array.get())
    if hasattr(array, "detach"):  # PyTorch's
        array = array.detach().cpu()
    return np.asarray(array)
