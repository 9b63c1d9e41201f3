"""Evaluation of an A+ model by the protocol of `snellen.frames.protocol`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from snellen.aplus.model import Model
from snellen.frames.frame import Format, Frame
from snellen.frames.protocol import EVALUATED, crop, psnr, require, shrink

Float32 = npt.NDArray[np.float32]


def psnr_table(images: Mapping[str, Float32], model: Model) -> dict[str, float]:
    """Return the PSNR in dB of each image when it is shrunk and enlarged again by `model`.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `planes` reads it from a folder.
    model : Model

    Raises
    ------
    InputError
        An image is so small that no pixel is left without its borders.
    """
    from snellen.aplus.upscaler import Upscaler

    scale = model.scale
    require(images, EVALUATED * scale, f"evaluation at ×{scale}")
    found = {}
    for name, plane in images.items():
        truth = crop(plane, scale)
        low = shrink(truth, 1 / scale)
        with Upscaler(scale, model) as upscaler:
            upscaler.prepare(Format(low.shape[1], low.shape[0], bits=0))
            (large,) = upscaler.run(Frame((low,))).planes
        found[name] = psnr(truth, np.asarray(large, np.float32), scale)
    return found
