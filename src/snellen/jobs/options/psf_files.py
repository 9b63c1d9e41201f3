"""Reads and writes PSFs, as NumPy arrays and as grey images, and holds them in jobs."""

from __future__ import annotations

import stat
from contextlib import suppress
from io import BytesIO
from math import prod
from numbers import Real
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from snellen.errors import InputError, quoted
from snellen.files import atomic
from snellen.files.kinds import is_image
from snellen.files.opening import contents
from snellen.files.protection import place
from snellen.frames import arrays, values
from snellen.jobs.options.fields import Psf, Rows
from snellen.mia.psf import given

Array = npt.NDArray[Any]

_MOST_BYTES = 1 << 28
"""The limit of a file with an array: enough for 700 PSFs of 299 × 299 pixels in float32."""

SUFFIXES = (".npy", ".png")
"""Suffixes of files that PSFs are written to."""
WHITE = 0xFFFF
MANY = 2**22
"""Numbers of a PSF that a job holds as such."""


def inline(psf: Any, parameter: str) -> Psf | None:
    """Return a PSF as a job holds it: a file (.npy, or a grey image), or (…, K, K) real numbers.

    InputError: no array of any library, or numbers that no blur has. Files are read by `resolved`.
    """
    if psf is None or isinstance(psf, Path):
        return psf
    if isinstance(psf, str):
        return values.path(parameter, psf)
    try:
        array = arrays.read(psf)
    except InputError as error:
        raise InputError(
            f"`{parameter}` is no array ({error.message}); give rows of one length, of numbers",
            parameter=parameter,
        ) from error
    array = arrays.host(array)
    if array.size > MANY:
        raise InputError(
            f"got `{parameter}` of shape {array.shape}; expected at most {MANY:,} numbers",
            parameter=parameter,
            advice="write it to a .npy file, and give the file",
        )
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:  # `tolist` gives none of Python's
        with np.errstate(all="ignore"):
            array = array.astype(np.float64)
    given(array, parameter)
    rows: Rows = _nested(array.tolist())
    return rows


def start_value(start: Any) -> float | Psf | None:
    """Return where a search starts as a job holds it: σ, a file, or rows.

    InputError: a number that is no σ, or as `inline`.
    """
    if start is None:
        return None
    sigma: Any = start
    if isinstance(start, str):
        if Path(start).suffix.lower() == ".npy" or is_image(Path(start)):
            return values.path("psf_start", start)
        sigma = 0.0
        with suppress(ValueError):
            sigma = float(start)
    if isinstance(sigma, Real) and not isinstance(sigma, bool):
        if not (values.number(sigma) or 0.0) > 0:
            raise InputError(
                f"got `psf_start`={quoted(start, str)}; expected a Gaussian's σ in pixels, a "
                "number above 0 as 2.5, or a PSF's file: an array of NumPy (.npy) or a grey image, "
                "such as .png",
                parameter="psf_start",
            )
        return float(sigma)
    return inline(start, "psf_start")


def resolved(psf: float | Psf | None) -> float | Array | None:
    """Return a job's `psf` or `psf_start`: an array where it is a file or rows.

    InputError: as `read`.
    """
    if isinstance(psf, Path):
        return read(psf)
    return np.array(psf) if isinstance(psf, tuple) else psf


def read(path: Path) -> Array:
    """Return a PSF as it is in a file: an array of NumPy (.npy), or a grey image.

    InputError: neither of them, an image in colours, or no blur.
    """
    psf = _array(path) if path.suffix.lower() == ".npy" else _grey(path)
    given(psf, str(path))
    return psf


def check_target(
    path: Path, sources: tuple[Path, ...], targets: tuple[Path, ...], overwrite: bool
) -> None:
    """Refuse (InputError) a file for PSFs, .npy or .png, that cannot or must not be written.

    It is none of the run's inputs and results.
    """
    check_suffix(path, "psf_out")
    for source in sources:
        atomic.check_target(path, source, overwrite)
    if place(path) in [place(target) for target in targets]:
        raise InputError(
            f"{path} is to be the result and the PSF; choose another file for one",
            parameter="psf_out",
        )


def check_suffix(path: Path, parameter: str) -> None:
    """Refuse (InputError) a file for PSFs of another kind than these."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: PSFs are written as .npy or .png", parameter=parameter)


def write(path: Path, psf: Array, overwrite: bool) -> None:
    """Write PSFs, (…, K, K) float32; the file appears only when it is complete.

    A .npy has the array as it is; a .png the last one as 16-bit grey, white being its greatest
    value, which the file's text "white" holds. A file that is there already with the very same
    contents, as of a run that was killed before the result got its name, stays. OutputError: the
    disk is full or not writable.
    """
    if not overwrite and _holds(path, psf):
        return
    with atomic.writing(path, overwrite) as file:
        _save(file, path, psf)


def check_same(path: Path, psf: Array, source: Path, overwrite: bool) -> None:
    """Refuse (InputError) a file that is there already, unless it may be replaced or has the PSF.

    A run that was killed and goes on finds the PSF again that it has written.
    """
    if not _holds(path, psf):
        atomic.check_target(path, source, overwrite)


def _save(file: IO[bytes], path: Path, psf: Array) -> None:
    if path.suffix.lower() == ".npy":
        np.save(file, psf, allow_pickle=False)
        return
    last = psf.reshape(-1, *psf.shape[-2:])[-1]
    white = float(last.max())
    text = PngInfo()
    text.add_text("white", f"{white:.9g}")
    shades = np.rint(last.astype(np.float64) * (WHITE / white)).astype(np.uint16)
    Image.fromarray(shades).save(file, "PNG", pnginfo=text)


def _holds(path: Path, psf: Array) -> bool:
    """Return whether a file is there already, with these PSFs."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        wanted = BytesIO()
        _save(wanted, path, psf)
        return path.stat().st_size == len(wanted.getbuffer()) and (
            path.read_bytes() == wanted.getbuffer()
        )
    except OSError:
        return False


def _nested(numbers: Any) -> Any:
    return tuple(_nested(one) for one in numbers) if isinstance(numbers, list) else numbers


def _grey(path: Path) -> Array:
    if not is_image(path):
        raise InputError(f"{path}: a PSF is an array of NumPy (.npy) or an image, such as .png")
    from snellen.stills.still import read as opened

    still = opened(path)
    if still.damage:
        raise InputError(f"{path} is damaged: {'; '.join(still.damage)}; expected a whole PSF")
    if still.lost:
        raise InputError(f"{path}: {'; '.join(still.lost)}; expected one grey picture")
    pixels = still.pixels
    if pixels.ndim == 2:
        return pixels
    grey: Array = pixels[..., 0]
    if (pixels[..., :3] != grey[..., None]).any():
        raise InputError(f"{path} has colours; a PSF is grey")
    return grey


def _check_size(data: bytes) -> None:
    """Refuse (ValueError) a header that claims more numbers than the file has."""
    file = BytesIO(data)
    if not data.startswith(format.MAGIC_PREFIX):
        return  # np.load says what it is
    version = format.read_magic(file)
    read = format.read_array_header_1_0 if version == (1, 0) else format.read_array_header_2_0
    shape, _, dtype = read(file)
    if prod(shape) * dtype.itemsize > len(data) - file.tell():
        raise ValueError("the file is shorter than its header says")


def _array(path: Path) -> Array:
    data = contents(path, _MOST_BYTES)
    try:
        _check_size(data)
        array: Array = np.load(BytesIO(data), allow_pickle=False)
    except Exception as error:  # of nearly every class, MemoryError for a shape that is a lie
        raise InputError(
            f"{path}: not an array of NumPy; expected what numpy.save writes of numbers"
        ) from error
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} holds several arrays; a PSF is a single one")
    return array
