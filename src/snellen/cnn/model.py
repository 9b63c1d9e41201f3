"""The weights of a compact network, and their file: safetensors, in half precision."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.cnn.definition import MOST_CHANNELS, MOST_LAYERS, SCALES, SKIPS
from snellen.errors import ModelError
from snellen.files import tensors
from snellen.frames.brief import Brief

FORMAT = "snellen-cnn-1"

Half = npt.NDArray[np.float16]


@dataclass(frozen=True, eq=False, repr=False)
class Model(Brief):
    """A trained network for one scale, see `snellen.cnn.definition`. Its arrays are read-only.

    Raises
    ------
    ModelError
        An array has a wrong shape or dtype, or holds NaN or infinity.
    """

    scale: int
    """Magnification s."""
    first_weight: Half
    """Convolution of the plane: (C, 3, 3) float16."""
    first_bias: Half
    """(C,) float16."""
    first_slope: Half
    """Factors of negative values by PReLU: (C,) float16."""
    body_weight: Half
    """Convolutions between: (M, C, C, 3, 3) float16, output channels before input channels."""
    body_bias: Half
    """(M, C) float16."""
    body_slope: Half
    """(M, C) float16."""
    last_weight: Half
    """Convolution to the result: (s², C, 3, 3) float16."""
    last_bias: Half
    """(s²,) float16."""
    skip: Half
    """Linear filter from the plane to the result: (s², k, k) float16, k 3 or 5."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Origin of the model as strings: data, seed, steps, versions, attribution, PSNR."""

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise ModelError(f"not a compact network: {fault}")
        for name in TENSORS:
            array = np.ascontiguousarray(getattr(self, name)).view()
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def layers(self) -> int:
        """Convolutions M between the first and the last."""
        return len(self.body_weight)

    @property
    def channels(self) -> int:
        """Channels C."""
        return len(self.first_bias)

    @cached_property
    def digest(self) -> bytes:
        """A hash of all that results depend on: equal models have the same."""
        found = hashlib.blake2b(str(self.scale).encode(), digest_size=16)
        for name in TENSORS:
            array = getattr(self, name)
            found.update(repr((name, array.shape)).encode())
            found.update(array.data)
        return found.digest()

    def _fault(self) -> str | None:
        """Return what is wrong with the fields; None: nothing."""
        if self.scale not in SCALES:
            return f"got scale {self.scale}; expected one of {SCALES}"
        layers, channels = self.body_bias.shape if self.body_bias.ndim == 2 else (-1, -1)
        if not (0 <= layers <= MOST_LAYERS and 1 <= channels <= MOST_CHANNELS):
            return (
                f"got body_bias of shape {self.body_bias.shape}; expected (layers, channels), at "
                f"most ({MOST_LAYERS}, {MOST_CHANNELS})"
            )
        side = self.skip.shape[-1] if self.skip.ndim else 0
        if side not in SKIPS:
            return f"got skip of shape {self.skip.shape}; expected a side of {SKIPS}"
        for name, shape in shapes(self.scale, layers, channels, side).items():
            array = getattr(self, name)
            if array.shape != shape:
                return f"got {name} of shape {array.shape}; expected {shape}"
            if array.dtype != np.float16:
                return f"got {name} of dtype {array.dtype}; expected float16"
            if not np.isfinite(array).all():
                return f"got NaN or infinity in {name}; expected finite numbers"
        return None

    def save(self, path: str | Path, overwrite: bool = True) -> None:
        """Write a safetensors file, as of `tensors.write`."""
        meta = {**self.about, "format": FORMAT, "scale": str(self.scale)}
        arrays = {name: getattr(self, name) for name in TENSORS}
        tensors.write(Path(path), meta, arrays, overwrite)


TENSORS = tuple(f.name for f in fields(Model) if f.name not in {"scale", "about"})
"""Names of the arrays of a model, in the order of its file."""


def shapes(scale: int, layers: int, channels: int, side: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each array of a model.

    Parameters
    ----------
    scale, layers, channels : int
        s, M and C of `snellen.cnn.definition`.
    side : int
        Side of the linear filter.
    """
    phases, body = scale * scale, (layers, channels)
    return {
        "first_weight": (channels, 3, 3),
        "first_bias": (channels,),
        "first_slope": (channels,),
        "body_weight": (*body, channels, 3, 3),
        "body_bias": body,
        "body_slope": body,
        "last_weight": (phases, channels, 3, 3),
        "last_bias": (phases,),
        "skip": (phases, side, side),
    }


def read(path: Path) -> Model:
    """Return the model of a file.

    Raises
    ------
    ModelError
        The file is missing, damaged or not a model of this format.
    """
    return parsed(path, *tensors.read(path))


def parsed(path: Path, strings: Mapping[str, str], arrays: Mapping[str, Any]) -> Model:
    """Return the model that a file holds; parameters and errors as of `read`.

    Parameters
    ----------
    path : Path
        For errors.
    strings, arrays : mapping
        What `files.tensors.read` found in the file.
    """
    about = dict(strings)
    if about.pop("format", None) != FORMAT or set(arrays) != set(TENSORS):
        raise ModelError(f"{path} is a safetensors file but not a compact network ({FORMAT})")
    scale = about.pop("scale", "")
    if scale not in map(str, SCALES):
        raise ModelError(f"{path}: got scale {scale!r}; expected one of {SCALES}")
    try:
        return Model(scale=int(scale), about=about, **arrays)
    except ModelError as error:
        raise error.about(path) from error
