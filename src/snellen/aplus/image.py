"""One image, or a batch of them, as an array."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.aplus.model import Model
from snellen.aplus.upscaler import Upscaler
from snellen.bicubic import bicubic
from snellen.colour import rgb, ycc
from snellen.errors import InputError
from snellen.frame import Format, Frame, Plane
from snellen.quantise import quantise

Array = npt.NDArray[Any]

DTYPES = ("uint8", "uint16", "float16", "float32", "float64")
LARGEST = 1e35  # of float samples: float32 ends at 3.4e38, and features are sums of many
CPU = 1  # kDLCPU: DLPack's name of main memory


def upscale(
    image: Any,
    scale: int = 2,
    model: str | Path | Model | None = None,
    device: str = "auto",
    *,
    bits: int | None = None,
) -> Any:
    """Enlarge an image by A+ super-resolution.

    Luma goes through A+ (Timofte, De Smet, Van Gool, ACCV 2014), chroma and alpha through bicubic.
    Computed in float32. For many frames of one size use `snellen.Upscaler`.

    Parameters
    ----------
    image : array
        (H, W), or (H, W, 3) RGB, or (H, W, 4) RGBA with straight alpha; any number of leading
        batch axes. An array of three or more axes is colour where the last has 3 or 4 elements;
        otherwise each (H, W) is a grey image of its own. uint8, uint16, float16, float32 or
        float64: NumPy, or anything in main memory with `__dlpack__` or `__array__`.
    scale : int
        2, 3 or 4.
    model : str, Path, Model or None
        Name of a shipped model, a file, or a loaded model; None: ours for this scale.
    device : str
        "auto" or "cpu".
    bits : int, optional
        Significant bits of integer samples, 8 to 16: results are clipped to 0 … 2^bits − 1.
        Default: all bits of the type. Float results are clipped only to what their type holds.

    Returns
    -------
    array
        (…, scale·H, scale·W[, channels]), same dtype; of the library that `image` came from, where
        that has `from_dlpack` (PyTorch, JAX), else NumPy.

    Raises
    ------
    InputError
        Other dtypes or shapes, an empty picture, NaN or infinity, samples beyond `bits`.
    ModelError, DeviceError
        The model or the device cannot be used.
    """
    array = _array(image)
    bits = _depth(array, bits)
    colour = array.ndim >= 3 and array.shape[-1] in (3, 4)
    height, width = array.shape[-3:-1] if colour else array.shape[-2:]
    channels = array.shape[-1:] if colour else ()
    grey = Format(width, height, bits, None)
    with Upscaler(scale, model, device) as upscaler:
        result = np.empty(
            (*array.shape[: array.ndim - 2 - colour], height * scale, width * scale, *channels),
            array.dtype,
        )
        upscaler.prepare(Format(width, height, 0, (0, 0)) if colour else grey)
        pictures = array.reshape(-1, height, width, *channels)
        results = result.reshape(-1, height * scale, width * scale, *channels)
        for picture, out in zip(pictures, results, strict=True):
            if colour:
                _store(rgb(upscaler.run(Frame(ycc(picture))).planes), bits, out[..., :3])
                _alpha(picture[..., 3:], scale, bits, out[..., 3:])
            else:
                plane = np.ascontiguousarray(picture, grey.dtype)
                _store(upscaler.run(Frame((plane,))).planes[0], bits, out)
    return _like(image, result)


def _alpha(alpha: Array, scale: int, bits: int, out: Array) -> None:
    """Enlarge (H, W, 1 or none) by bicubic into `out`."""
    for channel in range(alpha.shape[-1]):
        large = np.empty(out.shape[:2], np.float32)
        bicubic(np.ascontiguousarray(alpha[..., channel], np.float32), scale, large)
        _store(large, bits, out[..., channel])


def _store(samples: Plane, bits: int, out: Array) -> None:
    """Round and clip to the depth, or to what the type of float can hold."""
    if bits == 0:
        limit = min(float(np.finfo(out.dtype).max), float(np.finfo(np.float32).max))
        np.clip(samples, -limit, limit, out=out, casting="same_kind")
        return
    flat = samples.reshape(len(samples), -1)
    whole = np.empty(flat.shape, out.dtype.newbyteorder("="))
    quantise(flat, (1.0, 0.0), bits, whole)
    out[...] = whole.reshape(out.shape)


def _array(image: Any) -> Array:
    """Return `image` as a NumPy array without copying, or say why that cannot be done."""
    if isinstance(image, np.ndarray):
        array = image
    elif hasattr(image, "__dlpack__"):
        if image.__dlpack_device__()[0] != CPU:
            raise InputError(
                "the array lives on a GPU, and this version works on the CPU: "
                "copy it to main memory first (PyTorch: .cpu(), CuPy: .get())"
            )
        try:
            array = np.from_dlpack(image)
        except (BufferError, RuntimeError, TypeError) as error:
            raise InputError(f"the array cannot be read through DLPack: {error}") from error
    else:
        array = np.asarray(image)
    if array.dtype.name not in DTYPES:
        raise InputError(f"dtype {array.dtype} came, expected one of {', '.join(DTYPES)}")
    if array.ndim < 2 or 0 in array.shape[-2:]:
        raise InputError(
            f"an array of shape {array.shape} came, expected (…, H, W) or (…, H, W, 3 or 4), "
            "with at least one pixel"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError("the image holds NaN or infinity: replace them first (np.nan_to_num)")
    if array.dtype.kind == "f" and array.size:
        peak = max(float(array.max()), -float(array.min()))
        if peak > LARGEST:
            raise InputError(
                f"a sample of ±{peak:g} came, expected at most {LARGEST:g}, since work is done in "
                "float32: scale the image first"
            )
    return array


def _depth(array: Array, bits: int | None) -> int:
    if array.dtype.kind == "f":
        if bits is not None:
            raise InputError(f"bits={bits} is for integer samples, but {array.dtype} came")
        return 0
    most = 8 * array.dtype.itemsize
    if bits is None:
        return most
    if not 8 <= bits <= most:
        raise InputError(f"bits={bits} came, expected 8 to {most} for {array.dtype}")
    if array.size and array.max() >> bits:
        raise InputError(f"a sample of {array.max()} came, more than {bits} bits hold")
    return bits


def _like(image: Any, result: Array) -> Any:
    """Return `result` as an array of the library that `image` came from."""
    library: Any = sys.modules.get(type(image).__module__.partition(".")[0])
    if isinstance(image, np.ndarray) or not hasattr(image, "__dlpack__"):
        return result
    return library.from_dlpack(result) if hasattr(library, "from_dlpack") else result
