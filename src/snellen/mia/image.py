"""`deblur`: MIA of one picture, a batch of them, or many frames of one object, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import prod
from typing import Any, Literal, TypedDict, Unpack, get_args, overload

import numpy as np
import numpy.typing as npt

from snellen.engine.prepared import allocating
from snellen.errors import InputError, caution
from snellen.frames import arrays, white
from snellen.frames.arrays import DLPack, Sample
from snellen.frames.axes import Axes, check_dtype
from snellen.frames.channels import ChannelAxis, Channels
from snellen.frames.frame import Format
from snellen.frames.placement import choose_several
from snellen.frames.values import Precision, check_bytes, choice
from snellen.mia import samples, settings
from snellen.mia.channels import Work, restored_array
from snellen.mia.deblurrer import Deblurrer
from snellen.mia.definition import EVERY, ITERATIONS, PSF_SIZE, START, Noise
from snellen.mia.edges import Edges
from snellen.mia.progress import Callback, Watch
from snellen.mia.result import AUTO, IMPLAUSIBLE, Restored
from snellen.mia.shares import restored_by
from snellen.mia.tiles import Tiles, each, psf_axes
from snellen.process import while_running

Prior = Literal["auto", "l0"]
PRIORS: tuple[str, ...] = get_args(Prior)
DOUBT = (
    "the blur that was found is not plausible, or the noise too strong: left as it is; with "
    "`prior` l0 it is restored"
)
"""Warning of prior="auto"."""
Array = Any
"""An array of NumPy or CuPy."""


class _How(TypedDict, total=False):
    """The keywords of `deblur`, for checkers."""

    read_noise: float
    tv: float | None
    prior: Prior | None
    start: Any
    edges: Edges
    recentre: bool | Literal["whole"]
    tolerance: float
    every: int
    callback: Callback | None
    multiframe: bool
    tile: int | None
    data_range: float | None
    channel_axis: ChannelAxis
    device: str | Sequence[str]
    dtype: Precision | None


@overload
def deblur(
    image: np.ndarray[Any, np.dtype[Sample]], psf: Any = ..., psf_size: int = ...,
    iterations: int | None = ..., noise: Noise = ..., **how: Unpack[_How],
) -> Restored[npt.NDArray[Sample]]: ...  # fmt: skip
@overload
def deblur(
    image: DLPack, psf: Any = ..., psf_size: int = ..., iterations: int | None = ...,
    noise: Noise = ..., **how: Unpack[_How],
) -> Restored[DLPack]: ...  # fmt: skip
@overload
def deblur(
    image: Any, psf: Any = ..., psf_size: int = ..., iterations: int | None = ...,
    noise: Noise = ..., **how: Unpack[_How],
) -> Restored[npt.NDArray[Any]]: ...  # fmt: skip
@while_running
@np.errstate(all="ignore")  # the caller may have asked NumPy for exceptions
def deblur(
    image: Any,
    psf: Any = None,
    psf_size: int = PSF_SIZE,
    iterations: int | None = None,
    noise: Noise = "poisson",
    *,
    read_noise: float = 0.0,
    tv: float | None = None,
    prior: Prior | None = "auto",
    start: Any = None,
    edges: Edges = "extend",
    recentre: bool | Literal["whole"] = True,
    tolerance: float = 0.0,
    every: int = EVERY,
    callback: Callback | None = None,
    multiframe: bool = False,
    tile: int | None = None,
    data_range: float | None = None,
    channel_axis: ChannelAxis = "auto",
    device: str | Sequence[str] = "auto",
    dtype: Precision | None = None,
) -> Restored[Any]:
    """Restore a blurred picture by MIA, the multiplicative iterative algorithm; find its blur.

    Zhang, Zhang, He, Applied Optics 48(12), 2009; Yan et al. 2017. Without `psf` both the picture
    and its blur are estimated; in colour the blur is that of luma, and red, green and blue are then
    restored with it. Use prior="l0" for a single photograph with camera shake, and
    `snellen.Deblurrer` for many pictures of one size.

    Arrays on a GPU stay there, and work is ordered on the caller's current stream.

    Parameters
    ----------
    image : array
        (H, W), or (H, W, 3) RGB; any number of leading batch axes. With `multiframe` the first axis
        holds frames of one object instead. uint8, uint16, float16, float32 or float64, finite,
        not negative: NumPy, CuPy, or anything with `__dlpack__` (PyTorch on CPU or CUDA) or
        `__array__`; a picture of Pillow counts as what it shows.
    psf : array, optional
        The blur, if it is known: image ≈ convolution(sharp, psf). (K, K) of any sum, with its
        middle at K // 2; real, finite, not negative, and no larger than the picture. Or one for
        each picture, tile and frame: see Returns. With it psf_size, start and recentre have no
        effect.
    psf_size : int
        Side of the PSF that is estimated, in pixels, at most that of the picture; even sides count
        one more.
    iterations : int, optional
        1 or more. None: 200.
    noise : str
        "poisson", for photon noise, or "gaussian", for noise of equal variance everywhere.
    read_noise : float
        Standard deviation of Gaussian noise added to Poisson's, white being 1: 2 / 255 for two
        steps of eight bits, whatever data_range is. From 0 to 1000; only with "poisson".
    tv : float, optional
        Weight of the total variation, which reduces noise, from 0 to 0.1; 0.001 … 0.004 are usual.
        None: 0; with a prior 0.001, 0.002 or 0.004, by the noise, and by what
        the PSF that was found does not explain.
    prior : str, optional
        "l0": the blur is estimated from few, sharp edges, coarse to fine (of a picture of more than
        2 megapixels in up to eight crops); then the picture is restored with it. "auto": that, of
        each picture or tile, where neither `psf`, `start` nor `multiframe` is given; and what is
        not blurred, too noisy, or whose blur is not plausible, is returned as it is: see `outcome`
        in Returns. None: plain MIA estimates both at once. recentre has no effect with a prior.
    start : float or array, optional
        The PSF that the search of plain MIA starts from: σ of a Gaussian in pixels, or (K, K).
        None: 2. No effect with "l0".
    edges : str
        What lies beyond the picture: "extend" estimates it, "taper" blends opposite edges,
        "circular" repeats the picture. See docs/mia.md.
    recentre : bool or "whole"
        Whether an estimated PSF, and the picture with it, is moved so that its centre of mass is
        the middle: then the result lies where the picture has it. "whole": by whole pixels.
    tolerance : float
        Stop when `every` iterations change each picture by less than this, relative to its norm, as
        1e-3; 0: never.
    every : int
        Iterations from a step of the history to the next, 1 or more.
    callback : callable, optional
        callback(iteration, image, psf) at each step of the history: (rows, columns) and (K, K) of a
        grey picture, else stacks of the pictures that are restored together (luma of colour, while
        the blur is estimated). White is 1, and nothing is moved yet. The arrays, of NumPy or CuPy,
        are copies.
    multiframe : bool
        Whether the first axis holds frames of one object, each with a blur of its own.
    tile : int, optional
        Side of tiles in pixels, each with a blur of its own; they overlap and blend. None: one PSF
        for the whole picture.
    data_range : float, optional
        The sample value of white, black being 0: 1023 of 10 bits, 255 of floats. None: the greatest
        of integers, 1.0 of floats, which must then stay below 1.5; stated, highlights may reach
        1000 times white.
    channel_axis : int, None or "auto"
        The axis of channels, 1 or 3 (RGB); None: there is none. "auto": the last of three or more
        axes, if it has 3; one of 1, 2 or 4 is refused, and (…, 3, H, W) taken for grey with a
        warning. The result has its channels there, too.
    device : str or sequence of str
        "cpu", "cuda", "cuda:N" or "auto": the device where the array is; for an array in main
        memory the GPU, if it works. Several GPUs, "cuda:0,cuda:1" or ["cuda:0", "cuda:1"], share
        the pictures of a batch in main memory, or the tiles; with tolerance or a callback, and for
        what is short, the first does all.
    dtype : str, optional
        "float32" or "float64", of the computation; None: float32.

    Returns
    -------
    Restored
        `image` has the type and axes of the given one, without the axis of frames; integers are
        rounded and clipped, floats are not clipped at white. `psf` is (batch axes, tiles down and
        across, frames, K, K), without those axes that do not apply. `fit` is a number, or a float64
        array over the batch axes; in colour it is the mean. In the history `fit` is the mean of
        all, and `change` the greatest. A picture of one value is returned unchanged, with the PSF
        of the start. `outcome` says what prior="auto" found of each picture and tile: "restored",
        "no blur" or "implausible". With the last two the picture is unchanged, the PSF a point; of
        the last a UserWarning tells, unless a callback of a job does.

    Raises
    ------
    InputError
        Other dtypes or shapes, as of 2 or 4 channels; NaN, infinity, negative samples; a PSF larger
        than the picture; settings that do not exist or do not fit each other; an array on another
        device than `device`.
    DeviceError
        The device cannot be used, or the GPU's memory does not suffice.
    """
    (multiframe,) = settings.flags(multiframe=multiframe)
    settings.callback(callback)
    searched = chosen_prior(prior, psf, multiframe, start)
    if iterations is None:
        iterations = ITERATIONS
    several = choose_several(image, device, "MIA")
    chosen = several[0]
    how: dict[str, Any] = {
        "psf_size": psf_size, "iterations": iterations, "noise": noise, "read_noise": read_noise,
        "tv": 0.0 if tv is None else tv,
        "start": START if start is None else start, "edges": edges, "recentre": recentre,
        "tolerance": tolerance, "every": every, "history": True,
        "device": chosen, "dtype": settings.dtype(dtype),
    }  # fmt: skip
    # The caller's memory is for arrays that are on a GPU, and their results.
    allocation = nullcontext() if arrays.on_gpu(image) else allocating((chosen,))
    with arrays.working(image, chosen), allocation:
        array = arrays.read(image)
        check_dtype(array.dtype)
        where = Channels.of(array.shape, channel_axis, alpha=False, frames=multiframe)
        array = where.last(array)
        axes = Axes.of(array.shape, where.lengths, frames=multiframe)
        if isinstance(array, np.ndarray):
            check_bytes(8 * array.size, f"{array.shape} in float32, and its result,")
        peak = white.white(array.dtype, data_range)
        _check_samples(array, peak, data_range is not None)
        blur = None if psf is None else settings.given(psf)
        rows, columns = axes.size
        method = Deblurrer(blur, **how, frames=prod(axes.frames)).method(Format(columns, rows, 0))
        side = method.prepared.side
        tiles = None if tile is None else Tiles(axes.size, tile, side)
        if not array.size:  # a batch of none
            none = arrays.library(array).empty((*psf_axes(axes, tiles), side, side), np.float32)
            both = arrays.like(image, where.back(array.copy())), arrays.like(image, none)
            return Restored(*both, np.empty(axes.batch), 0)
        blurs = None if blur is None else each(blur, axes, tiles)
        weighs = searched is not None and tv is None
        work = Work(axes, tiles, method, blurs, searched, weighs, peak)
        if len(several) == 1 or callback is not None or tolerance:
            found = restored_array(array, work, callback)
        else:
            found = restored_by(several, array, work)
        both = arrays.like(image, where.back(found.image)), arrays.like(image, found.psf)
        fit = found.fit if axes.batch else float(found.fit)
        if searched == AUTO and not isinstance(callback, Watch):
            _warn(found)
        return replace(found, image=both[0], psf=both[1], fit=fit)


def _warn(found: Restored) -> None:
    """Warn of pictures or tiles whose blur was found, but is not plausible."""
    doubtful = np.count_nonzero(np.asarray(found.outcome) == IMPLAUSIBLE)
    if doubtful:
        count = np.size(found.outcome)
        which = "" if count == 1 else f"{doubtful} of {count} pictures or tiles: "
        caution(which + DOUBT)


def _check_samples(array: Array, peak: float, stated: bool) -> None:
    """Refuse (InputError) samples that are no light, or of another range than white says."""
    if stated or array.dtype.kind == "u":
        samples.refuse(samples.wrong(array, peak), peak)
        return
    found = samples.wrong(array, peak, white.BEYOND)
    if found == samples.TOO_LARGE:
        raise white.beyond(float(array.min()), float(array.max()), peak)
    samples.refuse(found, peak)


def chosen_prior(prior: str | None, psf: Any, multiframe: bool, start: Any) -> str | None:
    """Return the prior that finds PSFs, or None; check that it has something to find.

    "auto" is for stills. A PSF, several frames of one object, and a start of MIA's own search are
    for plain MIA.
    """
    if prior is None:
        return None
    prior = choice("prior", prior, PRIORS, ", or None")
    if prior == AUTO:
        return prior if psf is None and start is None and not multiframe else None
    if psf is not None:
        raise InputError(
            f"`prior`={prior!r} with `psf`, which it would find",
            parameter="prior",
            advice="leave one of them out",
        )
    if multiframe:
        raise InputError(
            f"`prior`={prior!r} with `multiframe`=True, but a prior finds the PSF of one frame",
            parameter="prior",
            advice="leave one of them out",
        )
    return prior
