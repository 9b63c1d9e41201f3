"""Evaluation of an A+ model by the protocol of `snellen.frames.protocol`."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from snellen.aplus.cpu import Luma
from snellen.aplus.model import Model
from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.frames.frame import Format
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
    scale = model.scale
    require(images, EVALUATED * scale, f"evaluation at ×{scale}")
    found = {}
    for name, plane in images.items():
        truth = crop(plane, scale)
        low = shrink(truth, 1 / scale)
        found[name] = psnr(truth, _enlarged(low, model), scale)
    return found


def _enlarged(plane: Float32, model: Model) -> Float32:
    """Return a plane enlarged on the CPU, whose figures are those of any machine."""
    source = Format(plane.shape[1], plane.shape[0], bits=0)
    target = source.scaled(model.scale)
    out = np.empty(target.shapes[0], np.float32)
    with ThreadPoolExecutor(threads.available()) as pool, single_threaded():
        for task in Luma(model, source, target).tasks(pool, plane, out):
            task.result()
    return out
