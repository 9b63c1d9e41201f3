"""The A+ model of one scale (anchors, PCA basis, projections) and its file.

A model file is in safetensors format: tensors and a header of strings. It contains no code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS
from snellen.aplus.packed import Packed
from snellen.aplus.symmetry import kinds
from snellen.aplus.training import SCALES
from snellen.errors import ModelError
from snellen.files import tensors
from snellen.frames.brief import Brief

FORMAT, FORMAT_2 = "snellen-aplus-1", "snellen-aplus-2"
PACKED = tuple(one.name for one in fields(Packed))  # tensors of a file instead of projections
MOST_CLASSES = 256  # of strength
NORM_TOLERANCE = 1e-3  # deviation of an anchor's norm from 1, enough for rounding to float16
LARGEST = 65504.0  # of a projection's values: float16 ends there, learnt ones have less than 10

Array = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False, repr=False)
class Model(Brief):
    """A trained A+ model for one scale. Immutable: its arrays must not be written to.

    Raises
    ------
    ModelError
        A field has a wrong value, shape or dtype, holds NaN or infinity, or the anchors are not of
        unit norm.
    """

    scale: int
    """Magnification s."""
    window: int
    """Side w of a window in low-resolution pixels, odd."""
    anchors: npt.NDArray[np.float32]
    """Anchors, which features are matched against: (k, d) float32, unit norm."""
    basis: npt.NDArray[np.float32]
    """PCA of the raw features: (4·(w·s)², d) float32, orthonormal columns. Its rows are ordered by
    filter (G, Gᵀ, L, Lᵀ), then by column and row of the window's high-resolution pixels."""
    projections: npt.NDArray[np.float16] | npt.NDArray[np.float32]
    """Matrix of each anchor that maps a feature to a high-resolution patch (column by column):
    (k, (w·s)², d) float16 or float32."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Origin of the model as strings: data, command, version, date, PSNR."""
    strengths: npt.NDArray[np.float32] | None = None
    """None: a model of format 1. Format 2 turns windows into one of eight orientations (the basis
    is adapted to these, see `symmetry.kinds`), and each anchor has c + 1 projections, that of the
    weakest features first; these are the norms at which the next one begins, where white is 1:
    (c,) float32, ascending."""
    packed: Packed | None = None
    """The packed form of `projections`; a file of format 2 holds it instead of them."""

    @property
    def classes(self) -> int:
        """Number of projections of each anchor."""
        return 1 if self.strengths is None else 1 + len(self.strengths)

    @property
    def tensors(self) -> dict[str, Array]:
        """All arrays that results depend on, by name."""
        found: dict[str, Array] = {
            "anchors": self.anchors, "basis": self.basis, "projections": self.projections,
        }  # fmt: skip
        return found if self.strengths is None else {**found, "strengths": self.strengths}

    @cached_property
    def digest(self) -> bytes:
        """A hash of all that results depend on: equal models have the same."""
        found = hashlib.blake2b(repr((self.scale, self.window)).encode(), digest_size=16)
        for array in self.tensors.values():
            found.update(repr((array.shape, array.dtype.name)).encode())
            found.update(np.ascontiguousarray(array).data)
        return found.digest()

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise ModelError(f"not an A+ model: {fault}")

    def _fault(self) -> str | None:
        """Return what is wrong with the fields; None: nothing."""
        if self.scale not in SCALES:
            return f"got scale {self.scale}; expected one of {SCALES}"
        if self.window < 1 or self.window % 2 == 0:
            return f"got a window of {self.window} pixels; expected an odd number"
        if self.anchors.ndim != 2 or 0 in self.anchors.shape:
            return f"got anchors of shape {self.anchors.shape}; expected (anchors, dimensions)"
        count, dims = self.anchors.shape
        patch = (self.window * self.scale) ** 2
        for name, shape in (
            ("basis", (FILTERS * patch, dims)),
            ("projections", (count * self.classes, patch, dims)),
        ):
            found = getattr(self, name).shape
            if found != shape:
                return f"got {name} of shape {found}; expected {shape}"
        for name in self.tensors:
            dtypes = ("float32", "float16")[: 1 + (name == "projections")]
            if getattr(self, name).dtype.name not in dtypes:
                found = getattr(self, name).dtype
                return f"got {name} of dtype {found}; expected {' or '.join(dtypes)}"
            if not np.isfinite(getattr(self, name)).all():
                return f"got NaN or infinity in {name}; expected finite numbers"
        for name, limit in (("basis", 1 + NORM_TOLERANCE), ("projections", LARGEST)):
            most = float(np.abs(getattr(self, name)).max())
            if most > limit:
                return f"got {name} with a value of ±{most:.3g}; expected at most {limit:.6g}"
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(self.anchors, axis=1)
        if np.abs(norms - 1).max() > NORM_TOLERANCE:
            return f"got anchors of norm {norms.min():.3g} … {norms.max():.3g}; expected 1"
        return None if self.strengths is None else self._fault_of_format_2(self.strengths)

    def _fault_of_format_2(self, strengths: npt.NDArray[np.float32]) -> str | None:
        """Return what is wrong with the fields that only format 2 has; None: nothing."""
        if strengths.ndim != 1 or len(strengths) >= MOST_CLASSES:
            return f"got strengths of shape {strengths.shape}; expected (classes − 1,)"
        if (np.diff(strengths, prepend=np.float32(0)) <= 0).any():
            return "got strengths that are not ascending; expected numbers greater than 0"
        try:
            kinds(self.basis)
        except ValueError as error:
            return str(error)
        return None

    def save(self, path: str | Path, overwrite: bool = True) -> None:
        """Write a safetensors file, as of `tensors.write`."""
        format = FORMAT if self.strengths is None else FORMAT_2
        meta = {"format": format, "scale": str(self.scale), "window": str(self.window)}
        held: dict[str, npt.NDArray[Any]] = dict(self.tensors)
        if self.packed is not None:
            if not np.array_equal(self.packed.unpacked(), held.pop("projections")):
                raise ValueError("`packed` gives other projections than the model has")
            held |= self.packed.tensors
        order = list(tensors.DTYPES)
        names = sorted(held, key=lambda name: (order.index(held[name].dtype.name), name))
        arrays = {name: held[name] for name in names}
        tensors.write(Path(path), {**self.about, **meta}, arrays, overwrite)


def read(path: Path) -> Model:
    """Return the model of a file.

    Raises
    ------
    ModelError
        The file is missing, damaged or not a model of these formats.
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
    format = about.get("format", "")
    whole = "projections" in arrays or "codes" not in arrays
    needed = {"anchors", "basis"} | ({"projections"} if whole else set(PACKED))
    if format == FORMAT_2:
        needed.add("strengths")
    if format not in (FORMAT, FORMAT_2) or needed - set(arrays):
        raise ModelError(
            f"{path} is a safetensors file but not an A+ model ({FORMAT} or {FORMAT_2})"
        )
    try:
        packed = None if whole else Packed(*(arrays[name] for name in PACKED))
        return Model(
            scale=int(about.pop("scale")),
            window=int(about.pop("window")),
            anchors=arrays["anchors"],
            basis=arrays["basis"],
            projections=arrays["projections"] if packed is None else packed.unpacked(),
            about=about,
            strengths=arrays["strengths"] if format == FORMAT_2 else None,
            packed=packed,
        )
    except (KeyError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error
