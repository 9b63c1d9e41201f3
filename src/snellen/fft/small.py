"""2-D FFTs of 32, 64, 128 and 256 points a side on a GPU, by this package's kernels.

The device functions of small.cuh, which mia.cu includes too, as calls on CuPy arrays. Height and
width may differ. Arrays are complex64 and float32; results agree with float64 to 4e-7 (relative L2
norm). As in NumPy, the forward transform is not scaled and the inverse one is divided by the number
of points.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from snellen.errors import InputError, quoted
from snellen.fft import square
from snellen.fft.lines import COMPLEX, exchange, twiddles
from snellen.gpu.kernel import Kernel

SIDES = square.SIDES
# Measured on an H200, lab/mia-gpu.md:
VALUES = {32: 8, 64: 8, 128: 8, 256: 16}  # values of a lane, by the points of a line
THREADS = 256  # of a block; tile_fft has twice as many from LARGE points on
LARGE = 64 * 64
FEW = 80  # the largest batch, of more than LARGE points, for which two launches are faster than one
LARGEST_TILE = 128 * 128  # points of a picture that one block holds in shared memory: 128 KB
STRIP = 16  # columns of a block of column_fft


def fft2(x: Any, out: Any = None) -> Any:
    """Transform complex pictures, forward.

    Parameters
    ----------
    x : (..., H, W) complex64
        CuPy, on any GPU, C-contiguous (else it is copied). H and W are 32, 64, 128 or 256.
    out : (..., H, W) complex64, optional
        Where to write the result: CuPy, on x's GPU, C-contiguous; may be `x`.

    Returns
    -------
    (..., H, W) complex64
        `out`, or a new array. The work is queued on CuPy's current stream. An empty batch gives an
        empty result.

    Raises
    ------
    InputError
        `x` has another type or size, or `out` does not suit.
    """
    return _transformed("fft2", x, out)


def ifft2(x: Any, out: Any = None) -> Any:
    """Transform complex pictures, inverse.

    Parameters
    ----------
    x : (..., H, W) complex64
        As `fft2` takes it.
    out : (..., H, W) complex64, optional
        Where to write the result: CuPy, on x's GPU, C-contiguous; may be `x`.

    Returns
    -------
    (..., H, W) complex64
        `out`, or a new array; divided by H · W.

    Raises
    ------
    InputError
        `x` has another type or size, or `out` does not suit.
    """
    return _transformed("ifft2", x, out)


def rfft2(x: Any, out: Any = None) -> Any:
    """Transform real pictures, forward.

    Parameters
    ----------
    x : (..., H, W) float32
        CuPy, on any GPU, C-contiguous (else it is copied). H and W are 32, 64, 128 or 256.
    out : (..., H, W / 2 + 1) complex64, optional
        Where to write the result: CuPy, on x's GPU, C-contiguous; not in the memory of `x`.

    Returns
    -------
    (..., H, W / 2 + 1) complex64
        `out`, or a new array: the half spectrum that numpy.fft.rfft2 returns.

    Raises
    ------
    InputError
        `x` has another type or size, or `out` does not suit.
    """
    return _transformed("rfft2", x, out)


def irfft2(x: Any, out: Any = None) -> Any:
    """Transform half spectra to real pictures, inverse.

    Parameters
    ----------
    x : (..., H, W / 2 + 1) complex64
        As `rfft2` returns it; only read. CuPy, on any GPU, C-contiguous (else it is copied).
    out : (..., H, W) float32, optional
        Where to write the result: CuPy, on x's GPU, C-contiguous; not in the memory of `x`.

    Returns
    -------
    (..., H, W) float32
        `out`, or a new array; divided by H · W.

    Raises
    ------
    InputError
        `x` has another type or size, or `out` does not suit.
    """
    return _transformed("irfft2", x, out)


def kernel(name: str, height: int, width: int, inverse: bool, real: bool) -> Kernel:
    """Return a kernel of small.cu, not compiled yet.

    Parameters
    ----------
    name : str
        "tile_fft", "row_fft" or "column_fft".
    height, width : int
        Size of the real or complex picture.
    inverse : bool
        Whether it transforms back, and scales.
    real : bool
        Whether the picture is real.
    """
    column_values, row_values = VALUES[height], VALUES[width]
    return Kernel(
        Path(__file__).with_suffix(".cu"), name,
        height=height, width=width, inverse_fft=inverse, real=real,
        column_values=column_values, row_values=row_values,
        threads=_threads(name, height * width),
        scale=1 / (height * width) if inverse else 1.0,
        column_twiddles=twiddles(height, column_values), row_twiddles=twiddles(width, row_values),
        row_exchange=exchange(width, row_values),
    )  # fmt: skip


def _threads(name: str, points: int) -> int:
    """Return the threads of a block."""
    return 2 * THREADS if name == "tile_fft" and points >= LARGE else THREADS


def _transformed(kind: str, x: Any, out: Any) -> Any:
    """Return arrays as one of the functions above transforms them."""
    forth, back = kind == "rfft2", kind == "irfft2"
    height, width = _checked(x, "float32" if forth else "complex64", int(back))
    import cupy

    with x.device:
        x = cupy.ascontiguousarray(x)
        across = width // 2 + 1 if forth else width
        out = _target(out, (*x.shape[:-1], across), "float32" if back else "complex64", x.device)
        if x.size:
            _run(kind, height, width, x, out)
    return out


def _run(kind: str, height: int, width: int, x: Any, out: Any) -> None:
    """Transform a batch by the kernels that are the fastest for it on the current GPU."""
    fastest = square.chosen(kind, height, width, prod(x.shape[:-2]))
    (fastest or transform(kind, height, width))(x, out)


@cache
def transform(kind: str, height: int, width: int) -> Callable[[Any, Any], None]:
    """Return what transforms arrays of a size by the kernels of small.cu, on the current GPU."""
    inverse = kind in square.INVERSE
    if kind in square.REAL:
        return _real(height, width, inverse)
    return _whole(height, width, inverse)


def _real(height: int, width: int, inverse: bool) -> Callable[[Any, Any], None]:
    """Return what transforms real pictures to half spectra, or back."""
    rows = _rows(height, width, inverse, True)
    columns = _columns(height, width, inverse, True)

    def forth(x: Any, out: Any) -> None:
        batch = x.size // (height * width)
        rows(x, out, batch * height // 2)
        columns(out, out, batch, width // 2 + 1)

    def back(x: Any, out: Any) -> None:
        import cupy

        batch, spectra = out.size // (height * width), cupy.empty_like(x)
        columns(x, spectra, batch, width // 2 + 1)
        rows(spectra, out, batch * height // 2)

    return back if inverse else forth


def _whole(height: int, width: int, inverse: bool) -> Callable[[Any, Any], None]:
    """Return what transforms complex pictures."""
    points = height * width
    few = FEW if points > LARGE else 0
    rows = _rows(height, width, inverse, False)
    columns = _columns(height, width, inverse, False)
    tile = kernel("tile_fft", height, width, inverse, False)
    tables = twiddles(height, VALUES[height]) + twiddles(width, VALUES[width])
    shared, threads = COMPLEX * (tables + points), _threads("tile_fft", points)

    def run(x: Any, out: Any) -> None:
        batch = x.size // points
        if batch > few and points <= LARGEST_TILE:
            tile(batch, threads, x, out, shared=shared)
        else:
            rows(x, out, batch * height)
            columns(out, out, batch, width)

    return run


@cache
def _rows(height: int, width: int, inverse: bool, real: bool) -> Callable[[Any, Any, int], None]:
    """Return what transforms a number of lines: complex rows, or pairs of real rows."""
    made = kernel("row_fft", height, width, inverse, real)
    values = VALUES[width]
    lines_per_block = THREADS * values // width
    shared = COMPLEX * (twiddles(width, values) + THREADS // 32 * exchange(width, values))

    def run(x: Any, out: Any, lines: int) -> None:
        made(-(-lines // lines_per_block), THREADS, x, out, lines, shared=shared)

    return run


@cache
def _columns(height: int, width: int, inverse: bool, real: bool) -> Callable[..., None]:
    """Return what transforms the columns of a batch of arrays, `across` columns of each."""
    made = kernel("column_fft", height, width, inverse, real)
    shared = COMPLEX * (twiddles(height, VALUES[height]) + height * STRIP)

    def run(x: Any, out: Any, batch: int, across: int) -> None:
        made(batch * -(-across // STRIP), THREADS, x, out, across, shared=shared)

    return run


def _checked(x: Any, dtype: str, half: int) -> tuple[int, int]:
    """Return height and width of the real or complex picture, after checking the array."""
    try:
        shape: tuple[int, ...] = tuple(operator.index(side) for side in x.shape)
        kind = str(x.dtype)
    except Exception:  # no array; of any library
        shape, kind = (), type(x).__name__
    sides: tuple[int, ...] = shape[-2:] if len(shape) > 1 else ()
    if half and sides:
        sides = sides[0], 2 * (sides[1] - 1)
    if not sides or not set(sides) <= set(SIDES) or kind != dtype:
        raise InputError(
            f"got an array {shape} of {quoted(kind, str)}; expected {dtype} "
            f"(..., H, {'W / 2 + 1' if half else 'W'}) with H and W of {SIDES}",
            parameter="x",
            advice="use cupy.fft for other sizes",
        )
    if not _is_cupy(x):
        raise InputError(
            f"got an array of {type(x).__module__}; expected one of CuPy",
            parameter="x",
            advice="use scipy.fft on the CPU",
        )
    return int(sides[0]), int(sides[1])


def _target(out: Any, shape: tuple[int, ...], dtype: str, device: Any) -> Any:
    """Return the array to write to, checked or new, on a GPU that is the current one."""
    if out is None:
        import cupy

        return cupy.empty(shape, dtype)
    if not _is_cupy(out) or out.device != device:
        kind = f"{type(out).__module__}.{type(out).__name__}"
        raise InputError(
            f"got `out`={kind} on {getattr(out, 'device', 'cpu')!r}; expected a CuPy array on "
            f"x's GPU, {device!r}",
            parameter="out",
            advice="leave it out, or create it there",
        )
    if out.shape != shape or str(out.dtype) != dtype or not out.flags.c_contiguous:
        raise InputError(
            f"got `out`={out.shape} of {out.dtype}; expected {shape} of {dtype}, C-contiguous",
            parameter="out",
        )
    return out


def _is_cupy(x: Any) -> bool:
    """Return whether an object is an array of CuPy, which is not imported for it."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)
