"""Projections of a model file in an eighth of the bytes: low rank, in small whole numbers.

A step of a code is the coarser, the weaker the coordinate of a feature and the rarer the projection
are, and few different codes are left, which a wheel's compression makes use of.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from snellen.errors import ModelError
from snellen.frames.brief import Brief

UNIT = 2.0**-14  # of a number of the patch basis
MOST = 1 << 29  # bytes of projections; ours have at most 38 MB
CHUNK = 256  # projections that are computed at a time


@dataclass(frozen=True, eq=False, repr=False)
class Packed(Brief):
    """Projections in a basis of patches: scales[k] · patch_basis · codes[…, k] · diag(weights).

    Raises
    ------
    ModelError
        A field has a wrong shape or dtype, or the projections would take too much memory.
    """

    patch_basis: npt.NDArray[np.int16]
    """(p, r) int16, in units of `UNIT`: orthonormal columns, but for their rounding."""
    codes: npt.NDArray[np.int8]
    """(r, d, k) int8: those of like magnitude beside one another, which compresses best."""
    scales: npt.NDArray[np.float32]
    """(k,) float32: of a code."""
    weights: npt.NDArray[np.float32]
    """(d,) float32: of a code, by the coordinate of the feature."""

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise ModelError(f"not an A+ model: {fault}")

    def _fault(self) -> str | None:
        for name, dimensions, dtype in (
            ("patch_basis", 2, "int16"), ("codes", 3, "int8"), ("scales", 1, "float32"),
            ("weights", 1, "float32"),
        ):  # fmt: skip
            array = getattr(self, name)
            if array.ndim != dimensions or array.dtype.name != dtype:
                found = f"{array.dtype} of {array.ndim} dimensions"
                return f"got {name} as {found}; expected {dtype} of {dimensions}"
        patch, rank = self.patch_basis.shape
        _, dims, count = self.codes.shape
        expected = (rank, len(self.weights), len(self.scales))
        if self.codes.shape != expected:
            return f"got codes of shape {self.codes.shape}; expected {expected}"
        if 2 * count * patch * dims > MOST:
            return f"got {count} projections of {patch} × {dims} numbers; expected {MOST} bytes"
        return None

    @property
    def tensors(self) -> dict[str, npt.NDArray[np.generic]]:
        """The arrays that the file holds instead of projections, by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def unpacked(self) -> npt.NDArray[np.float16]:
        """Return the projections, (k, p, d) float16.

        Sums of whole numbers are exact in float64, so these are the same bytes on every machine.
        """
        rank, dims, count = self.codes.shape
        out = np.empty((count, len(self.patch_basis), dims), np.float16)
        basis = self.patch_basis.astype(np.float64)
        weights = UNIT * self.weights.astype(np.float64)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # the model looks for infinity and NaN
            for start in range(0, count, CHUNK):
                part = self.codes[:, :, start : start + CHUNK].astype(np.float64)
                sums = (basis @ part.reshape(rank, -1)).reshape(len(basis), *part.shape[1:])
                steps = weights * self.scales[start : start + CHUNK].astype(np.float64)
                out[start : start + CHUNK] = (sums * steps).transpose(2, 0, 1)
        return out
