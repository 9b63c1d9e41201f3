"""`score`: MAD of one pair of pictures, or of batches of them, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

import numpy as np

from snellen.engine.prepared import borrowed
from snellen.engine.several import shared
from snellen.frames import arrays
from snellen.frames.axes import Axes, check_dtype
from snellen.frames.channels import ChannelAxis, Channels
from snellen.frames.frame import Format
from snellen.frames.placement import choose_together, moved
from snellen.frames.values import Precision, flag, precision
from snellen.gpu import memory
from snellen.mad.definition import Definition, Variant
from snellen.mad.pictures import axes_of, check_samples, expect, feeding, plain
from snellen.mad.result import Number, Score
from snellen.mad.scorer import BYTES, Scorer
from snellen.metrics.colours import of_rgb
from snellen.metrics.registry import MAD, METRICS, check_options
from snellen.metrics.registry import chosen as named
from snellen.process import while_running

Array = Any
"""An array of NumPy or CuPy."""

WORTH = 1 << 19  # pixels that pay for a thread and a further GPU: half a millisecond


@while_running
@np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
def score(
    reference: Any,
    distorted: Any,
    *,
    data_range: float | None = None,
    channel_axis: ChannelAxis = "auto",
    metrics: str | Sequence[str] = "mad",
    variant: Variant = "2011",
    hi_scale: float = 200.0,
    eight_bit_lut: bool = False,
    maps: bool = False,
    device: str | Sequence[str] = "auto",
    dtype: Precision | None = None,
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
        (H, W), or (H, W, 3) RGB, at least 34 × 34 (without MAD 11 × 11); any number of batch axes
        before, which broadcast as in NumPy. A reference of many distorted pictures is processed
        once. uint8, uint16, float16, float32 or float64: NumPy, CuPy, or anything with `__dlpack__`
        (PyTorch on CPU or CUDA) or `__array__`; a picture of Pillow counts as what it shows.
    data_range : float, optional
        The sample value of white, black being 0: 1023 of 10 bits, 255 of floats. None: the greatest
        of integers, 1.0 of floats.
    channel_axis : int, None or "auto"
        The axis of channels, 1 or 3 (RGB), of both arrays; None: there is none. "auto": the last of
        three or more axes, if it has 3; one of 1, 2 or 4 is refused, and (…, 3, H, W) taken for
        grey with a warning.
    metrics : str or sequence of str
        "mad,psnr,ssim", or some of these; without "mad", mad, hi and lo are NaN, and float(score)
        is refused. PSNR is 10·log₁₀(white² / mean squared error) in dB; SSIM is that of Wang et al.
        2004, with their Gaussian window of 11 × 11, σ = 1.5, K = 0.01 and 0.03, over all windows
        within the picture. Both are of the luma that MAD takes, in float64 on the CPU.
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
        mad, hi and lo (and psnr, ssim) are floats, or float64 arrays over the batch axes. Maps
        (…, H, W) are arrays of the same library as the given ones.

    Raises
    ------
    InputError
        Other dtypes or shapes, or two that do not fit each other; NaN, infinity, samples beyond the
        range; arrays on two GPUs, or on another device than `device`.
    DeviceError
        The device cannot be used, or the GPU's memory does not suffice.
    """
    names = named(metrics)
    least = max(METRICS[name].smallest for name in names)
    definition = Definition(variant, hi_scale, eight_bit_lut)
    maps = flag("maps", maps)
    given = {one.name: getattr(definition, one.name) != one.default for one in fields(definition)}
    check_options(names, {"maps": maps, **given})
    method = _Method(definition, None if dtype is None else precision(dtype))
    reference, distorted = arrays.seen(reference), arrays.seen(distorted)  # once, and with a word
    for image in (reference, distorted):
        if not arrays.on_gpu(image):  # before anything asks it for its shape
            check_dtype(arrays.read(image).dtype)
    shapes = [_shape(image) for image in (reference, distorted)]
    where = [Channels.of(shape, channel_axis, alpha=False) for shape in shapes]
    home, chosen = choose_together((distorted, reference), device, "MAD")
    groups: list[tuple[str, ...]] = [chosen]
    if any(one.batched(shape) for one, shape in zip(where, shapes, strict=True)):
        groups = [(one,) for one in chosen]  # which share the pairs, or else the subbands
    with arrays.working(home, chosen[0]):
        one, other = (arrays.read(image) for image in (reference, distorted))
        one, other = where[0].last(one), where[1].last(other)
        for array, channels in zip((one, other), where, strict=True):
            Axes.of(array.shape, channels.lengths, least=least)
        peak = expect(one, other, data_range, least)
        axes = axes_of(one, least).batch, axes_of(other, least).batch
        batch = np.broadcast_shapes(*axes)
        if MAD in names:
            found = _scored(one, other, peak, method, groups, maps)
        else:
            check_samples((one, other), peak)
            none = np.full(batch, np.nan) if batch else np.nan
            found = Score(none, none, none)
        others = _measured((one, other), _pairs(axes, batch), batch, peak, names)
        found = replace(found, others=others)
        if not maps:
            return found
        detection, appearance = (
            arrays.like(home, moved(plane, arrays.place(home)))
            for plane in (found.detection, found.appearance)
        )
        return replace(found, detection=detection, appearance=appearance)


def _shape(image: Any) -> tuple[int, ...]:
    """Return the shape of an array of any library."""
    return tuple(np.shape(image if arrays.on_gpu(image) else arrays.read(image)))


@dataclass(frozen=True, slots=True)
class _Method:
    """Which MAD, and in which precision."""

    definition: Definition
    dtype: str | None

    def scorer(self, format: Format, devices: tuple[str, ...]) -> AbstractContextManager[Scorer]:
        """Return a context with a prepared Scorer, which is kept for the next call."""

        def make() -> Scorer:
            how = self.definition
            scorer = Scorer(how.variant, how.hi_scale, how.eight_bit_lut, devices, self.dtype)
            scorer.prepare(format)
            return scorer

        host = 2 * BYTES * format.height * format.width  # in float64
        return borrowed(devices, (Scorer, self, format), make, host=host)


def _scored(
    reference: Array, distorted: Array, peak: float, method: _Method,
    groups: list[tuple[str, ...]], maps: bool,
) -> Score:  # fmt: skip
    """Return the scores of all pairs of two arrays, which groups of devices share."""
    axes = axes_of(reference), axes_of(distorted)
    batches = axes[0].batch, axes[1].batch
    batch, size = np.broadcast_shapes(*batches), axes[1].size
    whole = distorted.dtype.kind == "u" and (distorted.dtype.itemsize == 1 or not axes[1].channels)
    bits = 8 * int(distorted.dtype.itemsize) if whole else 0
    format = Format(size[1], size[0], bits, white=peak)
    pairs = list(_pairs(batches, batch))
    both = reference, distorted
    on_host = len(groups) > 1 or all(isinstance(array, np.ndarray) for array in both)
    found: list[Any] = [None] * len(pairs)
    odd: list[bool] = []

    def work(first: str, numbers: Iterator[int]) -> None:
        (group,) = (group for group in groups if group[0] == first)
        taken: list[int] = []

        def given() -> Iterator[tuple[Array | None, Array]]:
            current = None
            for number in numbers:
                pair, one, other = pairs[number]
                new = None if one == current else planes.plane(reference[one])
                current = one
                taken.append(pair)
                yield new, planes.plane(distorted[other])

        with (
            arrays.working(None, first),
            method.scorer(format, group) as scorer,
            feeding(both, peak, first) as planes,
        ):
            # The first pair finds the GPU idle: it does not wait for a look at its samples.
            scores = scorer._runs(given(), maps, to_host=on_host, eager=True)
            for pair, score in zip(taken, scores, strict=True):
                found[pair] = score
            odd.append(planes.odd())

    if len(groups) > 1:
        _finished(*both)
    if pairs:
        shared([group[0] for group in groups], len(pairs), work, -(-WORTH // prod(size)))
    if any(odd):
        check_samples(both, peak)  # which says what is wrong
    numbers = np.array([[score.mad, score.hi, score.lo] for score in found]).reshape(-1, 3)
    mad, hi, lo = numbers.T.reshape(3, *batch) if batch else map(float, numbers[0])
    if not maps:
        return Score(mad, hi, lo)
    if not found:  # a batch of none
        none = arrays.library(distorted).empty((*batch, *size))
        return Score(mad, hi, lo, none, none)
    kinds = ([score.detection for score in found], [score.appearance for score in found])
    with nullcontext() if isinstance(kinds[0][0], np.ndarray) else memory.callers():
        detection, appearance = (arrays.library(kind[0]).stack(kind) for kind in kinds)
    shape = (*batch, *size)
    return Score(mad, hi, lo, detection.reshape(shape), appearance.reshape(shape))


def _finished(*images: Array) -> None:
    """Wait until arrays are ready for other threads, which have streams of their own."""
    for array in images:
        if not isinstance(array, np.ndarray):
            arrays.library(array).cuda.get_current_stream().synchronize()


def _pairs(
    batches: tuple[tuple[int, ...], tuple[int, ...]], batch: tuple[int, ...]
) -> Iterator[tuple[int, tuple[np.intp, ...], tuple[np.intp, ...]]]:
    """Yield a pair's number in the broadcast batch, and where its pictures lie in each array."""
    # Pairs with the same reference follow one another.
    one, other = (
        np.broadcast_to(np.arange(prod(axes)).reshape(axes), batch).ravel() for axes in batches
    )
    for pair in np.argsort(one, kind="stable").tolist():
        yield (
            pair,
            np.unravel_index(int(one[pair]), batches[0]),
            np.unravel_index(int(other[pair]), batches[1]),
        )


def _measured(
    both: tuple[Any, Any], pairs: Iterable[Any], batch: tuple[int, ...], peak: float,
    names: tuple[str, ...],
) -> dict[str, Number]:  # fmt: skip
    """Return the scores of all metrics among `names` but MAD, by name; on the CPU."""
    measures = {name: METRICS[name].measure for name in names if name != MAD}
    kinds = {METRICS[name].of for name in measures}
    found = {name: np.empty(prod(batch)) for name in measures}
    current, references = None, dict[str, Any]()
    for number, one, other in pairs if found else ():
        if not references or one != current:
            current, references = one, _views(both[0][one], peak, kinds)
        distorted = _views(both[1][other], peak, kinds)
        for name, numbers in found.items():
            kind = METRICS[name].of
            given = references[kind], distorted[kind], *[peak] * (kind == "luma")
            numbers[number] = measures[name](*given)
    return {
        name: numbers.reshape(batch) if batch else float(numbers[0])
        for name, numbers in found.items()
    }


def _views(picture: Array, peak: float, kinds: Iterable[str]) -> dict[str, Array]:
    """Return a picture as metrics of each kind take it."""
    views = {"luma": lambda: plain(picture, peak, "cpu"), "colours": lambda: _linear(picture, peak)}
    return {kind: views[kind]() for kind in kinds}


def _linear(picture: Array, peak: float) -> Array:
    pixels = picture if isinstance(picture, np.ndarray) else moved(picture, "cpu")
    return of_rgb(pixels.astype(pixels.dtype.newbyteorder("="), copy=False), peak).linear()
