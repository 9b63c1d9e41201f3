"""`score`: MAD of one pair of pictures, or of batches of them, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from snellen.errors import InputError
from snellen.frames import arrays
from snellen.frames.axes import Axes, check_dtype, check_finite
from snellen.frames.frame import Format
from snellen.frames.values import check_bytes, flag
from snellen.gpu import device as devices
from snellen.mad import definition as definitions
from snellen.mad.definition import SMALLEST
from snellen.mad.luma import luma
from snellen.mad.placement import choose_devices, moved, on_host
from snellen.mad.result import Score
from snellen.mad.scorer import Scorer

Array = Any
"""Of NumPy or CuPy."""

PAIR = 1000  # bytes of a pair's numbers, until all are known
SLACK = 1e-6  # of the range: rounding may put float samples so far beyond it; they are clipped


@np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
def score(
    reference: Any,
    distorted: Any,
    *,
    data_range: float | None = None,
    variant: str = "2011",
    hi_scale: float = 200.0,
    eight_bit_lut: bool = False,
    maps: bool = False,
    device: str | Sequence[str] = "auto",
    dtype: str | None = None,
) -> Score:
    """Score pictures against their references by MAD, most apparent distortion.

    Larson and Chandler, Journal of Electronic Imaging 19(1), 2010; scores are those of the authors'
    code. Identical pictures score 0; higher is worse, up to about 140 for photographs. Only luma
    counts. A reference that is dark everywhere hides all errors: the score is 0. For many pairs of
    one size use `snellen.Scorer`.

    Arrays on a GPU stay there, and work is ordered on the caller's current stream.

    Parameters
    ----------
    reference, distorted : array
        (H, W), or (H, W, 3) RGB, at least 34 × 34; any number of leading batch axes, which
        broadcast as in NumPy. A reference of many distorted pictures is processed once. uint8,
        uint16, float16, float32 or float64: NumPy, CuPy, or anything with `__dlpack__` (PyTorch on
        CPU or CUDA) or `__array__`.
    data_range : float, optional
        The sample value of white, black being 0: 1023 of 10 bits, 1.0 or 255 of floats. Only
        uint8 has a default, 255.
    variant, hi_scale, eight_bit_lut
        Which MAD: see `snellen.Scorer`.
    maps : bool
        Whether to return the maps of detection and appearance.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N" or "auto": the device where the arrays are; for arrays in main
        memory the GPU, if it works. Several GPUs, "cuda:0,cuda:1" or ["cuda:0", "cuda:1"], share
        the pairs of a batch, or the subbands of one pair.
    dtype : str, optional
        "float32" or "float64". None: float64 on the CPU; on a GPU float64 where float32 would lose
        digits, up to 2^17 pixels and for pictures with large areas of one value, else float32.

    Returns
    -------
    Score
        mad, hi and lo are floats, or float64 arrays over the batch axes. Maps (…, H, W) are arrays
        of the same library as the given ones.

    Raises
    ------
    InputError
        Other dtypes or shapes, or two that do not fit each other; NaN, infinity, samples beyond the
        range; arrays on two GPUs, or on another device than `device`.
    DeviceError
        The device cannot be used, or the GPU's memory does not suffice.
    """
    flag("maps", maps)
    for image in (reference, distorted):
        if not arrays.on_gpu(image):  # before anything asks it for its shape
            check_dtype(arrays.read(image).dtype)
    home, chosen = choose_devices((distorted, reference), device)
    first = chosen[0]
    scorers = [
        Scorer(variant, hi_scale, eight_bit_lut, one, dtype)
        for one in (chosen if _several(reference, distorted) else [chosen])
    ]
    with arrays.working(home, first):
        one, other = (arrays.read(image) for image in (reference, distorted))
        for array in (one, other):
            check_dtype(array.dtype)
        if len(scorers) == 1:
            one, other = (moved(array, first) for array in (one, other))
        peak = check(one, other, data_range)
        found = _scored(one, other, peak, scorers, maps)
        if not maps:
            return found
        planes = (moved(plane, arrays.place(home)) for plane in (found.detection, found.appearance))
        return Score(found.mad, found.hi, found.lo, *(arrays.like(home, p) for p in planes))


def _several(reference: Any, distorted: Any) -> bool:
    """Return whether these are batches. Several GPUs share their pairs, or else the subbands."""
    shapes = [
        tuple(np.shape(image if arrays.on_gpu(image) else arrays.read(image)))
        for image in (reference, distorted)
    ]
    return any(len(shape) > 2 + (shape[-1:] == (3,)) for shape in shapes)


def _scored(
    reference: Array, distorted: Array, peak: float, scorers: list[Scorer], maps: bool
) -> Score:
    """Return the scores of all pairs of two checked arrays, which the scorers share."""
    axes = _axes(reference), _axes(distorted)
    batches = axes[0].batch, axes[1].batch
    batch, size = np.broadcast_shapes(*batches), axes[1].size
    whole = distorted.dtype.kind == "u" and (distorted.dtype.itemsize == 1 or not axes[1].channels)
    format = Format(size[1], size[0], 8 * int(distorted.dtype.itemsize) if whole else 0)
    pairs = list(_pairs(batches, batch))
    edges = [len(pairs) * i // len(scorers) for i in range(len(scorers) + 1)]
    parts = [pairs[a:b] for a, b in pairwise(edges)]
    found: list[Any] = [None] * len(pairs)

    def work(scorer: Scorer, part: list[Any]) -> None:
        with scorer:
            for pair, score in _share(reference, distorted, format, peak, scorer, part, maps):
                found[pair] = score if len(scorers) == 1 else on_host(score)

    if len(scorers) == 1:
        work(scorers[0], pairs)
    else:
        _finished(reference, distorted)
        with ThreadPoolExecutor(len(scorers)) as pool:
            list(pool.map(work, scorers, parts))
    numbers = np.array([[score.mad, score.hi, score.lo] for score in found]).reshape(-1, 3)
    mad, hi, lo = numbers.T.reshape(3, *batch) if batch else map(float, numbers[0])
    if not maps:
        return Score(mad, hi, lo)
    if not found:  # a batch of none
        none = arrays.library(distorted).empty((*batch, *size))
        return Score(mad, hi, lo, none, none)
    both = ([score.detection for score in found], [score.appearance for score in found])
    detection, appearance = (arrays.library(kind[0]).stack(kind) for kind in both)
    shape = (*batch, *size)
    return Score(mad, hi, lo, detection.reshape(shape), appearance.reshape(shape))


def _share(
    reference: Array,
    distorted: Array,
    format: Format,
    peak: float,
    scorer: Scorer,
    pairs: list[tuple[int, Any, Any]],
    maps: bool,
) -> Iterator[tuple[int, Score]]:
    """Yield the numbers and the scores of some of the pairs."""
    device = scorer.devices[0]

    def planes() -> Iterator[tuple[Any, Any]]:
        current = None
        for _, one, other in pairs:
            new = None if one == current else plain(reference[one], peak, device)
            yield new, plain(distorted[other], peak, device)
            current = one

    numbers = [pair for pair, _, _ in pairs]
    with devices.using(device):
        scorer.prepare(replace(format, white=peak))
        if not maps:
            yield from zip(numbers, scorer.runs(planes()), strict=True)
            return
        for pair, (new, plane) in zip(numbers, planes(), strict=True):
            if new is not None:
                scorer.set_reference(new)
            yield pair, scorer.compare(plane, maps=True)


def _finished(*images: Array) -> None:
    """Wait until arrays are ready for other threads, which have streams of their own."""
    for array in images:
        if not isinstance(array, np.ndarray):
            arrays.library(array).cuda.get_current_stream().synchronize()


def _pairs(
    batches: tuple[tuple[int, ...], tuple[int, ...]], batch: tuple[int, ...]
) -> Iterator[tuple[int, tuple[np.intp, ...], tuple[np.intp, ...]]]:
    """Yield a pair's number in the broadcast batch, and where its pictures lie in each array.

    Pairs with the same reference follow one another.
    """
    one, other = (
        np.broadcast_to(np.arange(prod(axes)).reshape(axes), batch).ravel() for axes in batches
    )
    for pair in np.argsort(one, kind="stable").tolist():
        yield (
            pair,
            np.unravel_index(int(one[pair]), batches[0]),
            np.unravel_index(int(other[pair]), batches[1]),
        )


def plain(picture: Array, peak: float, device: str) -> Array:
    """Return the luma of a picture as a Scorer on the device takes it: integers, or float64."""
    if not isinstance(picture, np.ndarray):
        picture = moved(picture, device)
    xp = arrays.library(picture)
    plane = luma(picture) if picture.ndim == 3 else picture
    if plane.dtype.kind == "u":
        return xp.ascontiguousarray(plane, plane.dtype.newbyteorder("="))
    return plane.astype(xp.float64).clip(0, peak)


def _axes(array: Array) -> Axes:
    """Return the axes of an array: grey or RGB, large enough for the margin of MAD."""
    return Axes.of(array.shape, least=SMALLEST)


def check(reference: Array, distorted: Array, data_range: float | None) -> float:
    """Refuse what cannot be scored; return the sample value of white."""
    for array in (reference, distorted):
        check_dtype(array.dtype)
    axes = _axes(reference), _axes(distorted)
    if reference.dtype.name != distorted.dtype.name:
        raise InputError(
            f"got a reference of {reference.dtype} and a distorted picture of {distorted.dtype}; "
            "expected one dtype",
            advice="bring both to one dtype and range",
        )
    _check_shapes(*axes)
    bits = 8 if distorted.dtype == np.uint8 else 0
    if data_range is None and not bits:
        raise InputError(
            f"got {distorted.dtype} samples without `data_range`",
            parameter="data_range",
            advice="state the value of white, as "
            + ("1023 or 65535" if distorted.dtype.kind == "u" else "1.0 or 255"),
        )
    peak = definitions.peak(data_range, bits)
    for array in (reference, distorted):
        _check_samples(array, peak)
    return peak


def _check_shapes(reference: Axes, distorted: Axes) -> None:
    one, other = ((*axes.size, *axes.channels) for axes in (reference, distorted))
    if one != other:
        raise InputError(
            f"got a reference of {one} and a distorted picture of {other}; expected equal shapes",
            advice="resize or convert one",
        )
    try:
        pairs = prod(np.broadcast_shapes(reference.batch, distorted.batch))
    except ValueError as error:
        raise InputError(
            f"got batch axes {reference.batch} of the reference and {distorted.batch} of the "
            "distorted pictures; expected equal axes, or such as NumPy broadcasts"
        ) from error
    check_bytes(PAIR * pairs, f"{pairs} pairs")


def _check_samples(array: Array, peak: float) -> None:
    if not array.size:
        return
    check_finite(array)
    least, most = float(array.min()), float(array.max())
    slack = SLACK * peak if array.dtype.kind == "f" else 0.0
    if least < -slack or most > peak + slack:
        raise InputError(
            f"got samples from {least:g} to {most:g}; expected 0 to {peak:g}",
            parameter="data_range",
            advice="state another `data_range`, or clip the samples first",
        )
