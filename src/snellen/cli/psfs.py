"""PSFs as files: arrays of NumPy, and pictures."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from snellen.cli.inputs import is_still
from snellen.errors import InputError, OutputError
from snellen.frames import atomic
from snellen.mia.psf import given

Array = npt.NDArray[Any]

SUFFIXES = (".npy", ".png")
WHITE = 0xFFFF


def read(path: Path) -> Array:
    """Return a PSF as it is in a file: an array of NumPy (.npy), or a grey picture.

    Raises
    ------
    InputError
        Neither of them, a picture in colours, or no blur.
    """
    psf = _array(path) if path.suffix.lower() == ".npy" else _grey(path)
    given(psf, str(path))
    return psf


def _grey(path: Path) -> Array:
    if not is_still(path):
        raise InputError(f"{path}: a PSF is an array of NumPy (.npy) or an image, such as .png")
    from snellen.frames.still import read as opened

    pixels = opened(path).pixels
    if pixels.ndim == 2:
        return pixels
    grey: Array = pixels[..., 0]
    if (pixels[..., :3] != grey[..., None]).any():
        raise InputError(f"{path} has colours; a PSF is grey")
    return grey


def start(text: str | None) -> float | Array | None:
    """Return where the search for a PSF starts: a number, σ, or what a file holds.

    Raises
    ------
    InputError
        No such number; of a file as `read`.
    """
    if text is None:
        return None
    path = Path(text)
    if path.suffix.lower() == ".npy" or is_still(path):
        return read(path)
    sigma = 0.0
    with suppress(ValueError):
        sigma = float(text)
    if not 0 < sigma < inf:
        raise InputError(
            f"--psf-start {text}: expected a Gaussian's σ in pixels, a number above 0 as 2.5, or a "
            "PSF's file: an array of NumPy (.npy) or a grey image, such as .png"
        )
    return sigma


def _array(path: Path) -> Array:
    try:
        array: Array = np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError) as error:
        said = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        raise InputError(
            f"{path}: not an array of NumPy{said}; expected what numpy.save writes of numbers"
        ) from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} holds several arrays; a PSF is a single one")
    return array


def check(path: Path, sources: tuple[Path, ...], goals: tuple[Path, ...], overwrite: bool) -> None:
    """Refuse (InputError) a file for PSFs that cannot or must not be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: PSFs are written as .npy or .png")
    for source in sources:
        atomic.check_target(path, source, overwrite)
    if path.resolve() in [goal.resolve() for goal in goals]:
        raise InputError(f"{path} is to be the result and the PSF; choose another file for one")
    atomic.check_folder(path.resolve().parent)


def write(path: Path, psf: Array, overwrite: bool) -> None:
    """Write PSFs; the file appears only when it is whole.

    Parameters
    ----------
    path : .npy for an array as it is, .png for 16-bit grey
    psf : float32, (K, K) or several of them; .png: (K, K), white being its greatest value, which
        the file's text "white" tells
    overwrite : whether a file of this name is replaced
    """
    try:
        with atomic.replacing(path, overwrite) as temporary:
            if path.suffix.lower() == ".npy":
                with temporary.open("wb") as file:
                    np.save(file, psf, allow_pickle=False)
                return
            white = float(psf.max())
            text = PngInfo()
            text.add_text("white", f"{white:.9g}")
            shades = np.rint(psf.astype(np.float64) * (WHITE / white)).astype(np.uint16)
            Image.fromarray(shades).save(temporary, "PNG", pnginfo=text)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{path} could not be written: {error.strerror or error}") from error
