"""Evaluation of what enlarges luma on the CPU, by the protocol of `protocol`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Protocol

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.pool import Pool
from snellen.frames.frame import Format, Plane
from snellen.stills.protocol import EVALUATED, crop, psnr, require, shrink

Float32 = npt.NDArray[np.float32]


class Luma(Protocol):
    """A method's function for luma of one format."""

    def tasks(self, pool: Pool, plane: Plane, out: Plane) -> list[Future[None]]:
        """Let threads fill `out` (s·H, s·W) from `plane` (H, W)."""
        ...


def psnr_table(
    images: Mapping[str, Float32], scale: int, make: Callable[[Format, Format], Luma]
) -> dict[str, float]:
    """Return the PSNR in dB of each image when it is shrunk and enlarged again.

    Parameters
    ----------
    images : dict
        Name → (H, W) float32 luma in 0 … 1, as `planes` reads it from a folder.
    scale : int
    make : callable
        Returns what enlarges planes of a source's format to a target's.

    Raises
    ------
    InputError
        An image is so small that no pixel is left without its borders.
    """
    require(images, EVALUATED * scale, f"evaluation at ×{scale}")
    found = {}
    for name, plane in images.items():
        truth = crop(plane, scale)
        low = shrink(truth, 1 / scale)
        source = Format(low.shape[1], low.shape[0], bits=0)
        out = np.empty(truth.shape, np.float32)
        luma = make(source, source.scaled(scale))
        with Pool(threads.available()) as pool, single_threaded():
            for task in luma.tasks(pool, low, out):
                task.result()
        found[name] = psnr(truth, out, scale)
    return found
