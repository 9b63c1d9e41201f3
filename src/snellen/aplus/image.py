"""One image, or a batch of them, as an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.aplus.cuda.planes import Planes
from snellen.aplus.model import Model, load
from snellen.aplus.upscaler import Upscaler, memory_of
from snellen.errors import InputError, quoted
from snellen.frames import arrays
from snellen.frames.axes import Axes, check_dtype, check_finite
from snellen.frames.bicubic import bicubic
from snellen.frames.colour import rgb, ycc
from snellen.frames.frame import Format, Frame
from snellen.frames.quantise import quantise
from snellen.frames.values import check_bytes, whole

Array = Any
"""Of NumPy or CuPy."""

CHANNELS = (3, 4)  # RGB, RGBA
LARGEST = 1e35  # of float samples: float32 ends at 3.4e38, and features are sums of many


@np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
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

    An array on a GPU stays there: it is not copied to main memory, work is ordered on the caller's
    current stream (PyTorch's for its tensors, else CuPy's), and the result lies on the same GPU.

    Parameters
    ----------
    image : array
        (H, W), or (H, W, 3) RGB, or (H, W, 4) RGBA with straight alpha; any number of leading
        batch axes. An array of three or more axes is colour where the last has 3 or 4 elements;
        otherwise each (H, W) is a grey image of its own. uint8, uint16, float16, float32 or
        float64: NumPy, CuPy, or anything with `__dlpack__` (PyTorch on CPU or CUDA) or
        `__array__`.
    scale : int
        2, 3 or 4.
    model : str, Path, Model or None
        Name of a shipped model, a file, or a loaded model; None: ours for this scale.
    device : str
        "cpu", "cuda", "cuda:N" or "auto": where the array lives; for one in main memory the GPU,
        where it works. An array on a GPU takes "auto", "cuda" or its own name.
    bits : int, optional
        Significant bits of integer samples, 8 to 16: results are clipped to 0 … 2^bits − 1.
        Default: all bits of the type. Float results are clipped only to what their type holds.

    Returns
    -------
    array
        (…, scale·H, scale·W[, channels]), same dtype; of the library that `image` came from, where
        that has `from_dlpack` (PyTorch), else NumPy, or CuPy on a GPU.

    Raises
    ------
    InputError
        Other dtypes or shapes, an empty picture, NaN or infinity, samples beyond `bits`; an array
        on another device than asked for.
    ModelError, DeviceError
        The model or the device cannot be used, or the GPU's memory does not suffice.
    """
    chosen = arrays.choose(image, device, "A+")
    loaded = load(model, scale)
    with arrays.working(image, chosen):
        array = arrays.read(image)
        axes = _axes(array, loaded.scale)
        check_finite(array)
        _check_range(array)
        bits = _depth(array, bits)
        return arrays.like(image, _enlarged(array, axes, loaded, chosen, bits))


def _enlarged(array: Array, axes: Axes, model: Model, device: str, bits: int) -> Array:
    """Return a checked array, enlarged on a device; NumPy gives NumPy, CuPy gives CuPy."""
    if device == "cpu" or not isinstance(array, np.ndarray):
        return _pictures(array, axes, model, device, bits)
    large = _pictures(arrays.upload(array), axes, model, device, bits).get()
    return large.astype(array.dtype, copy=False)  # of the same byte order


def _pictures(array: Array, axes: Axes, model: Model, device: str, bits: int) -> Array:
    """Return all pictures of an array that lives on the device, enlarged."""
    scale, colour = model.scale, bool(axes.channels)
    height, width = axes.size
    large = replace(axes, size=(height * scale, width * scale))
    result = arrays.library(array).empty(large.shape, array.dtype)
    format = Format(width, height, 0, (0, 0)) if colour else Format(width, height, bits)
    with _enlarger(model, format, device) as enlarge:
        for picture, out in zip(axes.pictures(array), large.pictures(result), strict=True):
            if colour:
                _store(rgb(enlarge(ycc(picture))), bits, out[..., :3])
                _alpha(picture[..., 3:], scale, bits, out[..., 3:])
            else:
                _store(enlarge((picture,))[0], bits, out)
    return result


@contextmanager
def _enlarger(
    model: Model, format: Format, device: str
) -> Iterator[Callable[[tuple[Array, ...]], tuple[Array, ...]]]:
    """Give a function that enlarges the planes of a picture."""
    if device == "cpu":
        with Upscaler(model.scale, model, "cpu") as upscaler:
            upscaler.prepare(format)
            yield lambda planes: upscaler.run(Frame(_plain(planes, format))).planes
    else:
        whole = Planes(model, format, format.scaled(model.scale))
        yield lambda planes: whole.new(_plain(planes, format))


def _plain(planes: tuple[Array, ...], format: Format) -> tuple[Array, ...]:
    """Return planes of the format's type, samples side by side."""
    xp = arrays.library(planes[0])
    return tuple(xp.ascontiguousarray(plane, format.dtype) for plane in planes)


def _alpha(alpha: Array, scale: int, bits: int, out: Array) -> None:
    """Enlarge (H, W, 1 or none) by bicubic into `out`."""
    xp = arrays.library(alpha)
    for channel in range(alpha.shape[-1]):
        large = xp.empty(out.shape[:2], np.float32)
        bicubic(xp.ascontiguousarray(alpha[..., channel], np.float32), scale, large)
        _store(large, bits, out[..., channel])


def _store(samples: Array, bits: int, out: Array) -> None:
    """Round and clip to the depth, or to what the type of float can hold."""
    if samples.dtype.kind == "u":  # it has been done
        out[...] = samples
        return
    if bits == 0:
        limit = min(float(np.finfo(out.dtype).max), float(np.finfo(np.float32).max))
        out[...] = samples.clip(-limit, limit)
        return
    flat = samples.reshape(len(samples), -1)
    whole = arrays.library(out).empty(flat.shape, out.dtype.newbyteorder("="))
    quantise(flat, (1.0, 0.0), bits, whole)
    out[...] = whole.reshape(out.shape)


def _axes(array: Array, scale: int) -> Axes:
    """Return the axes of an array; refuse (InputError) a type or a size that is not enlarged."""
    check_dtype(array.dtype)
    axes = Axes.of(array.shape, CHANNELS)
    if isinstance(array, np.ndarray):
        result = array.size * array.dtype.itemsize * scale**2
        check_bytes(result + memory_of(*axes.size, scale), f"{array.shape} enlarged ×{scale}")
    return axes


def _check_range(array: Array) -> None:
    """Refuse (InputError) floats that are too large."""
    if array.dtype.kind == "f" and array.size:
        peak = max(float(array.max()), -float(array.min()))
        if peak > LARGEST:
            raise InputError(
                f"got a sample of ±{peak:g}; expected at most {LARGEST:g}, since A+ computes in "
                "float32",
                advice="scale the image first",
            )


def _depth(array: Array, bits: int | None) -> int:
    if array.dtype.kind == "f":
        if bits is not None:
            raise InputError(
                f"`bits`={quoted(bits)} is for integer samples; got {array.dtype}",
                parameter="bits",
            )
        return 0
    most = 8 * int(array.dtype.itemsize)
    if bits is None:
        return most
    bits = whole("bits", bits, 8, most)
    if array.size and int(array.max()) >> bits:
        raise InputError(
            f"got a sample of {array.max()}, more than {bits} bits hold", parameter="bits"
        )
    return bits
