"""One image, or a batch of them, as an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from snellen.engine.engine import SLOTS
from snellen.engine.prepared import borrowed
from snellen.engine.several import shared
from snellen.frames import arrays
from snellen.frames.arrays import DLPack, Sample
from snellen.frames.axes import Axes, check_dtype
from snellen.frames.channels import ChannelAxis, Channels
from snellen.frames.colour import rgb, ycc
from snellen.frames.frame import Frame
from snellen.frames.placement import choose_several
from snellen.frames.values import check_bytes
from snellen.gpu import memory
from snellen.process import while_running
from snellen.upscaling import doubt
from snellen.upscaling.any_scale import CHANNELS, enlarged_to
from snellen.upscaling.bands import bands
from snellen.upscaling.cuda.pictures import Pictures
from snellen.upscaling.methods import format_of, method_of
from snellen.upscaling.models import Model, load, scales_of
from snellen.upscaling.opacity import enlarged_alpha
from snellen.upscaling.sample_values import Values, check, store, values_of
from snellen.upscaling.shipped import SCALES, Method, SourceKind
from snellen.upscaling.target import target
from snellen.upscaling.upscaler import Upscaler, memory_of

Array = Any
"""An array of NumPy or CuPy."""

WORTH = 1 << 20  # pixels that pay for a thread and a further GPU: half a millisecond


@overload
def upscale(
    image: np.ndarray[Any, np.dtype[Sample]],
    scale: float = ...,
    model: str | Path | Model | None = ...,
    device: str | Sequence[str] = ...,
    *,
    data_range: float | None = ...,
    channel_axis: ChannelAxis = ...,
    bits: int | None = ...,
    method: Method | None = ...,
    source_kind: SourceKind | None = ...,
) -> npt.NDArray[Sample]: ...
@overload
def upscale(
    image: DLPack,
    scale: float = ...,
    model: str | Path | Model | None = ...,
    device: str | Sequence[str] = ...,
    *,
    data_range: float | None = ...,
    channel_axis: ChannelAxis = ...,
    bits: int | None = ...,
    method: Method | None = ...,
    source_kind: SourceKind | None = ...,
) -> DLPack: ...
@overload
def upscale(
    image: Any,
    scale: float = ...,
    model: str | Path | Model | None = ...,
    device: str | Sequence[str] = ...,
    *,
    data_range: float | None = ...,
    channel_axis: ChannelAxis = ...,
    bits: int | None = ...,
    method: Method | None = ...,
    source_kind: SourceKind | None = ...,
) -> npt.NDArray[Any]: ...
@while_running
@np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
def upscale(
    image: Any,
    scale: float = 2,
    model: str | Path | Model | None = None,
    device: str | Sequence[str] = "auto",
    *,
    data_range: float | None = None,
    channel_axis: ChannelAxis = "auto",
    bits: int | None = None,
    method: Method | None = None,
    source_kind: SourceKind | None = None,
) -> Any:
    """Enlarge an image by super-resolution.

    Luma goes through a compact network, or A+ (Timofte, De Smet, Van Gool, ACCV 2014); chroma and
    alpha go through bicubic. What is prepared is kept for the next call of the same kind, see
    `snellen.clear_cache`. For many frames of one size use `snellen.Upscaler`.

    An array on a GPU stays there: it is not copied to main memory, work is ordered on the caller's
    current stream (PyTorch's for its tensors, else CuPy's), and the result lies on the same GPU.

    Parameters
    ----------
    image : array
        (H, W), or (H, W, 3) RGB, or (H, W, 4) RGBA with straight alpha; any number of leading
        batch axes. An array of three or more axes is colour where the last has 3 or 4 elements;
        otherwise each (H, W) is a grey image of its own. uint8, uint16, float16, float32 or
        float64: NumPy, CuPy, or anything with `__dlpack__` (PyTorch on CPU or CUDA) or
        `__array__`; a picture of Pillow counts as what it shows.
    scale : float
        Above 1, up to 16. 2, 3 and 4 are those of models; others are made of one or two of these
        and a filter, as of files: on the CPU, also of what a GPU enlarged. Sizes:
        `snellen.upscale_file`.
    model : str, Path, Model or None
        Name of a shipped model, a file, or a loaded model; None: ours for this scale.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N" or "auto": where the array lives; for one in main memory the GPU,
        where it works. An array on a GPU takes "auto", "cuda" or its own name. Several GPUs,
        "cuda:0,cuda:1" or ["cuda:0", "cuda:1"], share the pictures of a batch in main memory.
    data_range : float, optional
        The sample value of white, black being 0: 1023 of 10 bits, 255 of floats. None: the greatest
        of integers, 1.0 of floats, which must then stay within ±1.5. Integers lie within it, and
        so do their results; results in floats are clipped only to what their type holds.
    channel_axis : int, None or "auto"
        The axis of channels, 1, 3 (RGB) or 4 (RGBA); None: there is none. "auto": the last of three
        or more axes, if it has 3 or 4; one of 1 or 2 is refused, and (…, 3, H, W) taken for grey
        with a warning. The result has them there, too.
    bits : int, optional
        Significant bits of integer samples, 8 to 16: another way to say data_range = 2^bits − 1.
    method : str, optional
        What enlarges luma: "cnn-fine", "cnn-fast", "aplus"; None or "auto": cnn-fine. Instead of a
        `model`.
    source_kind : str, optional
        What kind of pictures the method's model is for: "clean"; "film", coded ones; "soft", coded
        and blurred ones. None or "auto": "clean", with a warning if the first picture looks coded;
        on a GPU only the first array of a kind is looked at. Likewise.

    Returns
    -------
    array
        (…, scale·H, scale·W[, channels]), sides rounded, same dtype; of the library that `image`
        came from, where that has `from_dlpack` (PyTorch), else NumPy, or CuPy on a GPU.

    Warns
    -----
    UserWarning
        Nothing says where the channels or of which kind the pictures are, and they look otherwise
        than assumed.

    Raises
    ------
    InputError
        Other dtypes or shapes, an empty picture, NaN or infinity, samples beyond the range; an
        array on another device than asked for.
    ModelError, DeviceError
        The model or the device cannot be used, or the GPU's memory does not suffice.
    """
    goal, look = target(scale), doubt.is_unasked(model, source_kind)
    if goal.scale in SCALES:
        loaded = load(model, scale, method, source_kind)
        return enlarged(image, scale, loaded, device, bits, data_range, channel_axis, look=look)

    def enlarge(
        array: Array, scale: int, data_range: float | None, axis: int | None, first: bool
    ) -> Array:
        loaded = load(model, scale, method, source_kind)
        return enlarged(array, scale, loaded, device, bits, data_range, axis, look=look and first)

    scales = scales_of(model)
    return enlarged_to(goal, image, enlarge, scales, device, bits, data_range, channel_axis)


@np.errstate(all="ignore")
def enlarged(
    image: Any,
    scale: float = 2,
    model: str | Path | Model | None = None,
    device: str | Sequence[str] = "auto",
    bits: int | None = None,
    data_range: float | None = None,
    channel_axis: ChannelAxis = "auto",
    report: Callable[[int, int], None] | None = None,
    *,
    look: bool = False,
) -> Any:
    """Do what `upscale` does, and call `report` with the rows that are done, and all rows.

    It is called after each band of a large picture in main memory. With `look` it is said if the
    first picture looks coded.
    """
    chosen = choose_several(image, device, "super-resolution")
    loaded = load(model, scale)
    on_host = arrays.place(image) == "cpu"
    with arrays.working(image, "cpu" if on_host else chosen[0]):
        array = arrays.read(image)
        where = Channels.of(array.shape, channel_axis, CHANNELS)
        array = where.last(array)
        axes = _axes(array, where, loaded.scale)
        values = values_of(array, bits, data_range)
        if look and on_host and array.size:
            doubt.warn(array[(0,) * len(axes.batch)], values.white)
        if not on_host:
            large = _on_gpu(array, axes, loaded, values, chosen[0], look)
        elif len(chosen) > 1:
            large = _from_host(array, axes, loaded, values, chosen)
        else:
            large = _in_bands(array, axes, loaded, values, chosen[0], report)
        if 0 < values.white < (1 << values.bits) - 1:  # the methods clip to whole bits
            most = large.dtype.type(int(values.white))
            arrays.library(large).minimum(large, most, out=large)
        return arrays.like(image, where.back(large))


def _in_bands(
    array: Array,
    axes: Axes,
    model: Model,
    values: Values,
    device: str,
    report: Callable[[int, int], None] | None,
) -> Array:
    """Return an array in main memory, enlarged by one device; large pictures band by band."""

    def whole(array: Array, axes: Axes) -> Array:
        if device == "cpu":
            return _on_cpu(array, axes, model, values)
        return _from_host(array, axes, model, values, (device,))

    height, width = axes.size
    s = model.scale
    method, on_gpu = method_of(model), device != "cpu"
    tile = method.tile() if on_gpu else 1
    plan = list(bands(height, width, s, method.reach(model), tile, on_gpu=on_gpu))
    if len(plan) == 1:
        return whole(array, axes)
    large, done = axes.scaled(s), 0
    result = np.empty(large.shape, array.dtype)
    pictures = axes.pictures(array)
    for picture, out in zip(pictures, large.pictures(result), strict=True):
        for band in plan:
            part = picture[band.top : band.bottom]
            kind = Axes((), (), part.shape[:2], axes.channels)
            out[band.rows(s)] = whole(part, kind)[band.kept(s)]
            done += band.last - band.first
            if report:
                report(done, height * len(pictures))
    return result


def _from_host(
    array: Array, axes: Axes, model: Model, values: Values, devices: tuple[str, ...]
) -> Array:
    """Return an array in main memory, enlarged by GPUs, which share its pictures."""
    dtype = array.dtype.newbyteorder("=")
    large = axes.scaled(model.scale)
    with arrays.working(None, devices[0]):
        result = arrays.result(large.shape, dtype)
    pictures, out = axes.pictures(array), large.pictures(result)
    count = len(pictures)
    odd: list[bool] = []

    def work(device: str, numbers: Iterator[int]) -> None:
        kept = _prepared(model, axes, dtype, values, device, min(count, SLOTS))
        with arrays.working(None, device), kept as enlarger:
            odd.append(enlarger.run(numbers, pictures, out, arrays.locked(result)))

    if count:
        least = -(-WORTH // (axes.size[0] * axes.size[1]))
        shared(devices, count, work, least)
    if any(odd):
        check(array, values)  # which says what is wrong
    return result.astype(array.dtype, copy=False)  # of the same byte order


def _on_gpu(
    array: Array, axes: Axes, model: Model, values: Values, device: str, look: bool
) -> Array:
    """Return a CuPy array, enlarged on the current stream; looked at once, since that waits."""
    import cupy

    large = axes.scaled(model.scale)
    with memory.callers():
        result = cupy.empty(large.shape, array.dtype)
    if not array.size:
        return result
    with _prepared(model, axes, array.dtype, values, device, 0) as enlarger:
        if look and not enlarger.looked:
            enlarger.looked = True
            doubt.warn(array[(0,) * len(axes.batch)], values.white)
        if enlarger.odd(array):
            check(array, values)
        for picture, out in zip(axes.pictures(array), large.pictures(result), strict=True):
            enlarger(cupy.ascontiguousarray(picture), out)
    return result


def _prepared(
    model: Model, axes: Axes, dtype: np.dtype[Any], values: Values, device: str, slots: int
) -> AbstractContextManager[Pictures]:
    """Return a context with what enlarges pictures of one kind on a GPU, kept for the next call."""
    size, channels = axes.size, axes.channels[0] if axes.channels else 1
    return borrowed(
        device,
        (Pictures, model.digest, size, channels, dtype.name, values, slots),
        lambda: Pictures(
            model, size, channels, dtype, values.bits, device, slots, values.white, values.largest
        ),
    )


def _on_cpu(array: Array, axes: Axes, model: Model, values: Values) -> Array:
    """Return an array in main memory, enlarged on the CPU."""
    check(array, values)
    scale, colour = model.scale, bool(axes.channels)
    large = axes.scaled(scale)
    result = np.empty(large.shape, array.dtype)
    format, bits = format_of(axes.size, colour, values.bits, values.white), values.bits

    def make() -> Upscaler:
        upscaler = Upscaler(scale, model, "cpu")
        upscaler.prepare(format)
        return upscaler

    def enlarged(planes: tuple[Array, ...]) -> tuple[Array, ...]:
        plain = (np.ascontiguousarray(plane, format.dtype) for plane in planes)
        return upscaler.run(Frame(tuple(plain))).planes

    key = Upscaler, model.digest, format
    with borrowed("cpu", key, make, host=method_of(model).host_bytes(model)) as upscaler:
        for picture, out in zip(axes.pictures(array), large.pictures(result), strict=True):
            if colour:
                store(rgb(enlarged(ycc(picture))), bits, out[..., :3])
                enlarged_alpha(picture[..., 3:], scale, bits, out[..., 3:])
            else:
                store(enlarged((picture,))[0], bits, out)
    return result


def _axes(array: Array, where: Channels, scale: int) -> Axes:
    """Return the axes of an array; refuse (InputError) a type or a size that is not enlarged."""
    check_dtype(array.dtype)
    axes = Axes.of(array.shape, where.lengths)
    if isinstance(array, np.ndarray):
        result = array.size * array.dtype.itemsize * scale**2
        check_bytes(result + memory_of(*axes.size, scale), f"{array.shape} enlarged ×{scale}")
    return axes
