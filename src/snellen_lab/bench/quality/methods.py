"""Ways of enlarging: methods by their names, and folders of what other programs have made.

A method is a callable (low, scale, place) → (H, W) float32 code values, or None where it has no
such picture. `place` is the path of the picture below the folder of a run's inputs: the program
that filled a folder read it there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.frames.bicubic import bicubic as keys
from snellen.frames.frame import Format, Frame
from snellen.upscaling import shipped
from snellen.upscaling.models import Model, load
from snellen.upscaling.upscaler import Upscaler
from snellen_lab.protocol import luma
from snellen_lab.sources.degrade import resized

Float32 = npt.NDArray[np.float32]
Method = Callable[[Float32, int, str], Float32 | None]

WHITE = np.float32(255)


def bicubic(low: Float32, scale: int, place: str = "") -> Float32:
    """Return what MATLAB's imresize makes."""
    large = np.empty([scale * side for side in low.shape], np.float32)
    keys(low, scale, large)
    return large


def lanczos(low: Float32, scale: int, place: str = "") -> Float32:
    """Return Lanczos with 3 lobes."""
    return resized(low, scale * low.shape[1], scale * low.shape[0], "lanczos")


def model(found: Model, device: str) -> Method:
    """Return what a model of any method makes on a device."""

    def enlarge(low: Float32, scale: int, place: str = "") -> Float32:
        with Upscaler(scale, found, device) as upscaler:
            upscaler.prepare(Format(low.shape[1], low.shape[0], bits=0))
            (large,) = upscaler.run(Frame((low / WHITE,))).planes
            return np.asarray(large, np.float32) * WHITE

    return enlarge


FILTERS: dict[str, Method] = {"bicubic": bicubic, "Lanczos": lanczos}
"""Filters, which learn nothing."""


def ours(scale: int, device: str) -> dict[str, Method]:
    """Return every model of the package for a magnification, by its name."""
    names = [name for name in shipped.files() if name.endswith(f"-x{scale}")]
    return {name: model(load(name, scale), device) for name in names}


def folder(root: Path) -> Method:
    """Return what lies in a folder as a method."""
    if not root.is_dir():
        raise InputError(f"no folder {str(root)!r}", advice="give a folder of enlarged pictures")

    def enlarge(low: Float32, scale: int, place: str) -> Float32 | None:
        path = root / place
        if not path.is_file():
            return None
        large = luma(path) * WHITE
        if large.shape != tuple(scale * side for side in low.shape):
            raise InputError(
                f"{path}: got {large.shape[1]}×{large.shape[0]} pixels; "
                f"expected {scale * low.shape[1]}×{scale * low.shape[0]}"
            )
        return large

    return enlarge
