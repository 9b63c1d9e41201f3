"""Models of all methods: those of this package, and files, whose headers say which method it is."""

from __future__ import annotations

import stat
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from snellen.addresses import without_secrets
from snellen.errors import InputError, ModelError, quoted
from snellen.files import tensors
from snellen.files.opening import is_address
from snellen.frames import values
from snellen.upscaling import shipped
from snellen.upscaling.methods import METHODS, name_of
from snellen.upscaling.methods import Model as Model
from snellen.upscaling.shipped import SCALES

_OURS = "snellen-"
"""How the formats of models begin, later ones too."""


def load(
    model: str | Path | Model | None,
    scale: float,
    method: str | None = None,
    source_kind: str | None = None,
) -> Model:
    """Return a model, from a file unless it is one already.

    Parameters
    ----------
    model : Model, str, Path or None
        A model, the name of one of this package, or a path. None: the one of this package for the
        method and the kind of source.
    scale : int
        Magnification that the model must have; 2.0 is 2.
    method, source_kind : str, optional
        As `shipped.choose` takes them, where there is no `model`.

    Raises
    ------
    ModelError
        The file is missing, damaged or not a model, or the model is for another scale.
    InputError
        `model` and one of the others.
    """
    factor = values.number(scale)
    if factor not in SCALES:
        raise ModelError(
            f"got `scale`={quoted(scale)}; expected one of {', '.join(map(str, SCALES))}",
            parameter="scale",
            advice=(
                "give a number, not text"
                if isinstance(scale, str)
                else "snellen.upscale and upscale_file take others"
                if factor is not None and factor > 1
                else None
            ),
        )
    scale = int(scale)
    if model is None:
        model = shipped.choose(scale, method, source_kind)
    else:
        shipped.exclude(method=method, source_kind=source_kind)
    found = _loaded(model)
    if found.scale != scale:
        raise ModelError(
            f"the model enlarges ×{found.scale}; expected ×{scale}",
            parameter="model",
            advice=f"give `scale`={found.scale} or another model",
        )
    return found


def named(model: str | Path) -> Model:
    """Return a model by its name or its file, of whatever magnification; ModelError: as `load`."""
    return read(_find(model))


def scales_of(model: str | Path | Model | None) -> tuple[int, ...]:
    """Return the magnifications of a model, of ours for None; ModelError: as `load`."""
    if model is None:
        return SCALES
    return (_loaded(model).scale,)


def _loaded(model: str | Path | Model) -> Model:
    """Return a model, read unless it is one already."""
    return named(model) if name_of(model) is None else model  # type: ignore[arg-type,return-value]


def digest(model: str | Path) -> str:
    """Return the SHA-256 of a model's file, by its name or the file's."""
    return sha256(_find(model).read_bytes()).hexdigest()


def read(path: Path) -> Model:
    """Return the model of a file, the same object as long as the file is the same.

    Raises
    ------
    ModelError
        The file is missing, damaged or not a model.
    """
    try:
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size  # which change when a file is rewritten
    except OSError:
        stamp = 0, 0  # reading says what is wrong
    return _read(path, stamp)


# The same object: caches of data derived from a model have it as their key.
@lru_cache(maxsize=4)
def _read(path: Path, stamp: tuple[int, int]) -> Model:
    strings, arrays = tensors.read(path)
    format = strings.get("format", "")
    formats = {name: parsed for one in METHODS.values() for name, parsed in one.formats.items()}
    if format not in formats:
        known, later = ", ".join(formats), format.startswith(_OURS)
        what = "a model" if later else "a safetensors file but not a model"
        found = f"the format {quoted(format)}" if format else "no format"
        raise ModelError(
            f"{path} is {what}: its header has {found}; expected one of {known}",
            parameter="model",
            advice="a newer version of Snellen may read it" if later else None,
        )
    model: Model = formats[format](path, strings, arrays)
    return model


def _find(model: str | Path) -> Path:
    """Return the path of a model's file, which may be named as one of this package."""
    ours = shipped.files()
    if isinstance(model, str) and model in ours:
        return ours[model]
    try:
        path = values.path("model", model)
        if is_address(path):
            raise ModelError(
                f"`model`={quoted(without_secrets(str(model)))} is an address; expected the name "
                "of a file",
                parameter="model",
                advice="download it first",
            )
        what = _no_file(path)
    except ModelError:
        raise
    except (InputError, OSError, ValueError) as error:
        names = ", ".join(ours) or "none"
        raise ModelError(
            f"`model`={quoted(model)} is neither a file nor one of {names}", parameter="model"
        ) from error
    if what is not None:
        raise ModelError(
            f"`model`={quoted(str(model))} is {what}; expected a file",
            parameter="model",
            advice="name a .safetensors file",
        )
    return path


def _no_file(path: Path) -> str | None:
    """Return what a path means that is no ordinary file, and if it is a link; None: it is one."""
    # OSError: nothing is there.
    link = "a link to " if path.is_symlink() else ""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if link:
            return f"{link}a file that is not there"
        raise
    if stat.S_ISREG(mode):
        return None
    if stat.S_ISDIR(mode):
        return f"{link}a folder"
    if stat.S_ISFIFO(mode):
        return f"{link}a pipe"
    return f"{link}a {'socket' if stat.S_ISSOCK(mode) else 'device'}"
