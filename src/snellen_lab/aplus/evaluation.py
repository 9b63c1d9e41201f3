"""Evaluation of an A+ model by the protocol of `snellen.stills.protocol`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import numpy.typing as npt

from snellen.aplus.cpu import Luma
from snellen.aplus.model import Model
from snellen.stills import evaluation


def psnr_table(images: Mapping[str, npt.NDArray[np.float32]], model: Model) -> dict[str, float]:
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
    return evaluation.psnr_table(images, model.scale, partial(Luma, model))
