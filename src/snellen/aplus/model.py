"""The A+ model: anchors, PCA basis and projections of one scale, and its file.

A model file is safetensors: three tensors and a header of strings, nothing that runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS
from snellen.errors import ModelError

FORMAT = "snellen-aplus-1"
SCALES = (2, 3, 4)
ROUNDED = 1e-3  # how far rounding, even to float16, may move the norm of an anchor
WINDOW = 3  # low-resolution pixels: Timofte, De Smet, Van Gool 2014

Array = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Model:
    """What one scale of A+ has learnt. Immutable; the arrays are not to be written to."""

    scale: int
    """Magnification s."""
    window: int
    """Side w of a window in low-resolution pixels, odd."""
    anchors: npt.NDArray[np.float32]
    """(k, d) float32, unit norm: what a feature is matched against."""
    basis: npt.NDArray[np.float32]
    """(4·(w·s)², d) float32, orthonormal columns: PCA of the raw features. Rows: filters G, Gᵀ, L,
    Lᵀ one after another, each window column by column."""
    projections: npt.NDArray[np.float16] | npt.NDArray[np.float32]
    """(k, (w·s)², d): feature → high-resolution patch (column by column), float16 or float32."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Where it comes from: data, command, version, date, PSNR."""

    def __post_init__(self) -> None:
        fault = self._fault()
        if fault:
            raise ModelError(f"this is no A+ model: {fault}")

    def _fault(self) -> str | None:
        if self.scale not in SCALES:
            return f"scale {self.scale}, expected one of {SCALES}"
        if self.window < 1 or self.window % 2 == 0:
            return f"window of {self.window} pixels, expected an odd number"
        if self.anchors.ndim != 2 or 0 in self.anchors.shape:
            return f"anchors of shape {self.anchors.shape}, expected (anchors, dimensions)"
        count, dims = self.anchors.shape
        patch = (self.window * self.scale) ** 2
        for name, shape in (
            ("basis", (FILTERS * patch, dims)),
            ("projections", (count, patch, dims)),
        ):
            came = getattr(self, name).shape
            if came != shape:
                return f"{name} of shape {came}, expected {shape}"
        for name in ("anchors", "basis", "projections"):
            dtypes = ("float32", "float16")[: 1 + (name == "projections")]
            if getattr(self, name).dtype.name not in dtypes:
                came = getattr(self, name).dtype
                return f"{name} of dtype {came}, expected {' or '.join(dtypes)}"
            if not np.isfinite(getattr(self, name)).all():
                return f"{name} hold NaN or infinity"
        norms = np.linalg.norm(self.anchors, axis=1)
        if np.abs(norms - 1).max() > ROUNDED:
            return f"anchors of norm {norms.min():.3g} … {norms.max():.3g}, expected 1"
        return None

    def save(self, path: str | Path) -> None:
        """Write a safetensors file. The caller sees to temporary names."""
        from safetensors.numpy import save_file

        meta = {"format": FORMAT, "scale": str(self.scale), "window": str(self.window)}
        tensors = {
            name: np.ascontiguousarray(getattr(self, name))
            for name in ("anchors", "basis", "projections")
        }
        save_file(tensors, path, metadata={**self.about, **meta})


def load(model: str | Path | Model | None, scale: int) -> Model:
    """Return the model asked for, for this scale.

    Parameters
    ----------
    model : None (ours for this scale), a name that `shipped` lists, a path, or a Model.

    Raises
    ------
    ModelError
        Missing, damaged, not a model, or of another scale.
    """
    if not isinstance(model, Model):
        path = _find(model, scale)
        model = _read(path, _stamp(path))
    if model.scale != scale:
        raise ModelError(
            f"the model enlarges ×{model.scale}, but ×{scale} is asked for; "
            f"give --scale {model.scale} or another model"
        )
    return model


def shipped() -> dict[str, Path]:
    """Return the models that come with the package: name → path."""
    folder = Path(str(resources.files("snellen.aplus") / "models"))
    return {path.stem: path for path in sorted(folder.glob("*.safetensors"))}


def _find(model: str | Path | None, scale: int) -> Path:
    ours = shipped()
    if model is None:
        if scale not in SCALES:
            raise ModelError(f"no model for ×{scale}; scales are {', '.join(map(str, SCALES))}")
        model = f"t91-x{scale}"
    if str(model) in ours:
        return ours[str(model)]
    path = Path(model)
    if not path.is_file():
        raise ModelError(
            f"no model {str(model)!r}: neither a file nor one of {', '.join(ours) or 'none'}"
        )
    return path


def _stamp(path: Path) -> tuple[int, int]:
    """Return what tells that a file has changed."""
    about = path.stat()
    return about.st_mtime_ns, about.st_size


@lru_cache(maxsize=4)  # the same object for the same file: what is derived from it is kept by it
def _read(path: Path, stamp: tuple[int, int]) -> Model:
    meta = header(path)
    tensors = _tensors(path)
    missing = {"anchors", "basis", "projections"} - set(tensors)
    if meta.get("format") != FORMAT or missing:
        raise ModelError(f"{path} is a safetensors file, but not an A+ model ({FORMAT})")
    try:
        return Model(
            scale=int(meta.pop("scale")),
            window=int(meta.pop("window")),
            anchors=tensors["anchors"],
            basis=tensors["basis"],
            projections=tensors["projections"],
            about=meta,
        )
    except (KeyError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error


def header(path: Path) -> dict[str, str]:
    """Return the strings in the header of a safetensors file.

    Raises
    ------
    ModelError
        Damaged, or no safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or no safetensors file: {error}") from error


def _tensors(path: Path) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path} is damaged or no safetensors file: {error}") from error
    except TypeError as error:  # such as bfloat16
        raise ModelError(f"{path} holds numbers that NumPy does not know: {error}") from error
