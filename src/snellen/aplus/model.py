"""The A+ model of one scale (anchors, PCA basis, projections) and its file.

A model file is in safetensors format: three tensors and a header of strings. It contains no code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from importlib import resources
from pathlib import Path

import numpy as np
import numpy.typing as npt

from snellen.aplus.differences import FILTERS
from snellen.aplus.symmetry import kinds
from snellen.errors import InputError, ModelError, quoted
from snellen.frames import atomic, values
from snellen.frames.brief import Brief
from snellen.frames.opening import contents, is_address

FORMAT, FORMAT_2 = "snellen-aplus-1", "snellen-aplus-2"
SCALES = (2, 3, 4)
MOST_CLASSES = 256  # of strength
NORM_TOLERANCE = 1e-3  # deviation of an anchor's norm from 1, enough for rounding to float16
_MOST_BYTES = 1 << 29  # of a file; ours have 5 MB
LARGEST = 65504.0  # of a projection's values: float16 ends there, learnt ones have less than 10
WINDOW = 3  # side of a window, low-resolution pixels; Timofte, De Smet, Van Gool 2014

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

    @property
    def classes(self) -> int:
        """Number of projections of each anchor."""
        return 1 if self.strengths is None else 1 + len(self.strengths)

    @property
    def tensors(self) -> dict[str, Array]:
        """What the file holds, by name."""
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
        """Write a safetensors file; it appears only when it is complete.

        Equal models give equal files: safetensors itself writes the strings of the header in
        another order each time.

        Parameters
        ----------
        path : str or Path
        overwrite : bool
            Whether an existing file is replaced.

        Raises
        ------
        OutputError
            The disk is full or not writable, or the file exists and `overwrite` is False.
        """
        from safetensors.numpy import save

        format = FORMAT if self.strengths is None else FORMAT_2
        meta = {"format": format, "scale": str(self.scale), "window": str(self.window)}
        tensors = {name: np.ascontiguousarray(array) for name, array in self.tensors.items()}
        meta = {**self.about, **meta}
        whole = save(tensors, metadata=meta)
        size = int.from_bytes(whole[:8], "little")
        header = {**json.loads(whole[8 : 8 + size]), "__metadata__": dict(sorted(meta.items()))}
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8 bytes
        with atomic.writing(Path(path), overwrite) as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.write(memoryview(whole)[8 + size :])


def load(model: str | Path | Model | None, scale: int) -> Model:
    """Return a model, from a file unless it is one already.

    Parameters
    ----------
    model : Model, str, Path or None
        A model, a name that `shipped` lists, or a path. None: the shipped model for this scale.
    scale : int
        Magnification that the model must have.

    Raises
    ------
    ModelError
        The file is missing, damaged or not a model, or the model is for another scale.
    """
    if values.integer(scale) not in SCALES:
        raise ModelError(
            f"got `scale`={quoted(scale)}; expected one of {', '.join(map(str, SCALES))}",
            parameter="scale",
        )
    scale = int(scale)
    if not isinstance(model, Model):
        path = _find(model, scale)
        model = _read(path, _stamp(path))
    if model.scale != scale:
        raise ModelError(
            f"the model enlarges ×{model.scale}; expected ×{scale}",
            parameter="model",
            advice=f"give `scale`={model.scale} or another model",
        )
    return model


def shipped() -> dict[str, Path]:
    """Return the models of this package: name → path."""
    return dict(_shipped())


@cache
def _shipped() -> dict[str, Path]:
    folder = Path(str(resources.files("snellen.aplus") / "models"))
    return {path.stem: path for path in sorted(folder.glob("*.safetensors"))}


def _find(model: str | Path | None, scale: int) -> Path:
    """Return the path of a model's file; parameters as of `load`."""
    ours = shipped()
    if model is None:
        model = f"t91-x{scale}"
    if isinstance(model, str) and model in ours:
        return ours[model]
    try:
        path = values.path("model", model)
        there = path.is_file()
    except (InputError, OSError) as error:
        raise ModelError(
            f"`model`={quoted(model)} is neither a file nor one of {', '.join(ours) or 'none'}",
            parameter="model",
        ) from error
    if is_address(path):
        raise ModelError(
            f"`model`={quoted(str(model))} is an address; expected the name of a file",
            parameter="model",
            advice="download it first",
        )
    if not there:
        raise ModelError(
            f"`model`={quoted(str(model))} is neither a file nor one of "
            f"{', '.join(ours) or 'none'}",
            parameter="model",
        )
    return path


def _stamp(path: Path) -> tuple[int, int]:
    """Return modification time (ns) and size (bytes), which change when a file is rewritten."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


# The same file gives the same object: caches of data derived from a model have it as their key.
@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, int]) -> Model:
    meta, tensors = _file(path)
    for array in tensors.values():
        array.setflags(write=False)  # all callers get the same model
    needed = {FORMAT: ("anchors", "basis", "projections"),
              FORMAT_2: ("anchors", "basis", "projections", "strengths")}  # fmt: skip
    format = meta.get("format")
    if format not in needed or set(needed[format]) - set(tensors):
        raise ModelError(
            f"{path} is a safetensors file but not an A+ model ({FORMAT} or {FORMAT_2})"
        )
    try:
        return Model(
            scale=int(meta.pop("scale")),
            window=int(meta.pop("window")),
            anchors=tensors["anchors"],
            basis=tensors["basis"],
            projections=tensors["projections"],
            about=meta,
            strengths=tensors["strengths"] if format == FORMAT_2 else None,
        )
    except (KeyError, ValueError) as error:
        raise ModelError(f"{path}: {error}") from error


def header(path: Path) -> dict[str, str]:
    """Return the strings in the header of a safetensors file.

    Raises
    ------
    ModelError
        The file is damaged or not in safetensors format.
    """
    return _file(path)[0]


def _file(path: Path) -> tuple[dict[str, str], dict[str, Array]]:
    """Return strings and tensors of a safetensors file; errors as `header` raises them."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        data = contents(path, _MOST_BYTES)
    except InputError as error:
        raise ModelError(error.message, parameter="model", advice=error.advice) from error
    try:
        tensors = load(data)  # which checks all of it
        length = int.from_bytes(data[:8], "little")
        strings = json.loads(data[8 : 8 + length]).get("__metadata__") or {}
        return dict(strings), tensors
    except (SafetensorError, ValueError) as error:
        raise ModelError(f"{path} is damaged or not a safetensors file: {error}") from error
    except Exception as error:  # for example BF16 or F8_E4M3, of many classes
        raise ModelError(f"{path} has a dtype that NumPy does not support: {error}") from error
