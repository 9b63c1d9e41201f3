"""2-D transforms of 32, 64, 128 and 256 points a side on a GPU, by kernels of our own.

They are the device functions of small.cuh, which mia.cu includes, as calls on CuPy arrays. Sides
may differ. Numbers are complex64 and float32; results agree with float64 to 4e-7 (relative L2
norm). As NumPy's, forward is not scaled and backward is divided by the number of points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from snellen.errors import InputError
from snellen.fft.lines import CELL, exchange, turns
from snellen.gpu.kernel import Kernel

SIDES = (32, 64, 128, 256)
# Measured on an H200, lab/mia-gpu.md:
VALUES = {32: 8, 64: 8, 128: 8, 256: 16}  # of a lane
THREADS = 256  # of a block; twice as many for pictures in one launch, from LARGE points on
LARGE = 64 * 64
FEW = 80  # pictures, of more points, up to which two launches are quicker (at 128 × 128: 66 to 132)
RESIDENT = 128 * 128  # points of a picture that may go in one launch: its tile takes 128 KB
STRIP = 16  # columns of a block


def fft2(x: Any, out: Any = None) -> Any:
    """Transform complex pictures.

    Parameters
    ----------
    x : (..., H, W) complex64
        CuPy, on any GPU, C-contiguous (else it is copied). H and W are 32, 64, 128 or 256.
    out : (..., H, W) complex64, optional
        Where to write: CuPy, on x's GPU, C-contiguous; may be `x`.

    Returns
    -------
    (..., H, W) complex64
        `out`, or a new array. Work is ordered on CuPy's current stream; of a batch of none there is
        none.

    Raises
    ------
    InputError
        Another type or size; an `out` that does not suit.
    """
    return _complex(x, out, back=False)


def ifft2(x: Any, out: Any = None) -> Any:
    """Transform complex pictures back.

    Parameters
    ----------
    x : (..., H, W) complex64
        As `fft2` takes it.
    out : (..., H, W) complex64, optional
        Where to write: CuPy, on x's GPU, C-contiguous; may be `x`.

    Returns
    -------
    (..., H, W) complex64
        `out`, or a new array; divided by H · W.

    Raises
    ------
    InputError
        Another type or size; an `out` that does not suit.
    """
    return _complex(x, out, back=True)


def rfft2(x: Any, out: Any = None) -> Any:
    """Transform real pictures.

    Parameters
    ----------
    x : (..., H, W) float32
        CuPy, on any GPU, C-contiguous (else it is copied). H and W are 32, 64, 128 or 256.
    out : (..., H, W / 2 + 1) complex64, optional
        Where to write: CuPy, on x's GPU, C-contiguous, in memory of its own, not x's.

    Returns
    -------
    (..., H, W / 2 + 1) complex64
        `out`, or a new array: the frequencies that the others follow from, as numpy.fft.rfft2.

    Raises
    ------
    InputError
        Another type or size; an `out` that does not suit.
    """
    height, width = _checked(x, "float32", 0)
    import cupy

    batch = prod(x.shape[:-2])
    with x.device:
        x = cupy.ascontiguousarray(x)
        out = _target(out, (*x.shape[:-1], width // 2 + 1), "complex64", x.device)
        if not batch:
            return out
        _rows(height, width, False, True)(x, out, batch * height // 2)
        _columns(height, width, False, True)(out, out, batch, width // 2 + 1)
    return out


def irfft2(x: Any, out: Any = None) -> Any:
    """Transform half spectra back to real pictures.

    Parameters
    ----------
    x : (..., H, W / 2 + 1) complex64
        As `rfft2` gives it; it is only read. CuPy, on any GPU, C-contiguous (else it is copied).
    out : (..., H, W) float32, optional
        Where to write: CuPy, on x's GPU, C-contiguous, in memory of its own, not x's.

    Returns
    -------
    (..., H, W) float32
        `out`, or a new array; divided by H · W.

    Raises
    ------
    InputError
        Another type or size; an `out` that does not suit.
    """
    height, width = _checked(x, "complex64", 1)
    import cupy

    batch = prod(x.shape[:-2])
    with x.device:
        x = cupy.ascontiguousarray(x)
        out = _target(out, (*x.shape[:-1], width), "float32", x.device)
        if not batch:
            return out
        between = cupy.empty_like(x)
        _columns(height, width, True, True)(x, between, batch, width // 2 + 1)
        _rows(height, width, True, True)(between, out, batch * height // 2)
    return out


def kernel(name: str, height: int, width: int, back: bool, real: bool, **choices: Any) -> Kernel:
    """Return a kernel of small.cu, not compiled yet.

    Parameters
    ----------
    name : str
        "whole", "rows" or "columns".
    height, width : int
    back, real : bool
    **choices
        Macros that `variants` changes: height_values, width_values, threads, sines, banks, wide.
    """
    large = name == "whole" and height * width >= LARGE
    chosen = {"height_values": VALUES[height], "width_values": VALUES[width],
              "threads": 2 * THREADS if large else THREADS, **choices}  # fmt: skip
    down, across = chosen["height_values"], chosen["width_values"]
    return Kernel(
        Path(__file__).with_suffix(".cu"), name,
        height=height, width=width, backward=back, real=real,
        scale=1 / (height * width) if back else 1.0,
        down_turns=turns(height, down), across_turns=turns(width, across),
        across_cells=exchange(width, across), **chosen,
    )  # fmt: skip


def variants() -> dict[str, Callable[[int, int], Callable[[Any, Any], None]]]:
    """Return what `snellen bench fft` compares: makers of forward transforms of a size.

    The first is ours. Each of the others chooses otherwise in one of the four groups of the paper
    (Yan, Su et al. 2017): algorithm, instructions, memory, deployment.
    """
    other = {32: 4, 64: 8, 128: 16, 256: 16}
    return {
        "ours": _variant(),
        "algorithm: real pictures not packed by twos": _unpacked,
        "instructions: turns computed each time": _variant(sines=1),
        "instructions: turns by the fast sine": _variant(sines=2),
        "memory: cells in the order of pixels": _variant(banks=0),
        "memory: accesses of 32 bits": _variant(wide=0),
        "deployment: one launch": _variant(few=0),
        "deployment: one launch, 256 threads": _variant(few=0, threads=256),
        "deployment: one launch, 128 threads, of 4, 8, 16 values a lane": _variant(
            values=other, few=0, threads=128
        ),
    }


def _variant(
    values: dict[int, int] | None = None, **choices: Any
) -> Callable[[int, int], Callable[[Any, Any], None]]:
    def make(height: int, width: int) -> Callable[[Any, Any], None]:
        given = dict(choices)
        if values:
            given |= {"height_values": values[height], "width_values": values[width]}
        return _whole(height, width, False, **given)

    return make


def _unpacked(height: int, width: int) -> Callable[[Any, Any], None]:
    """Return what takes a real picture for a complex one, to be compared with `rfft2`."""
    return _whole(height, width, False)


def _complex(x: Any, out: Any, back: bool) -> Any:
    height, width = _checked(x, "complex64", 0)
    import cupy

    with x.device:
        x = cupy.ascontiguousarray(x)
        out = _target(out, x.shape, "complex64", x.device)
        if x.size:
            _whole(height, width, back)(x, out)
    return out


@cache
def _whole(height: int, width: int, back: bool, **choices: Any) -> Callable[[Any, Any], None]:
    """Return what transforms complex arrays of a size, on the current GPU."""
    points = height * width
    few = choices.pop("few", FEW if points > LARGE else 0)
    rows = _rows(height, width, back, False, **choices)
    columns = _columns(height, width, back, False, **choices)
    whole = kernel("whole", height, width, back, False, **choices)
    threads = _constant(whole, "threads")
    tables = _constant(whole, "down_turns") + _constant(whole, "across_turns")
    shared = CELL * (tables + points)

    def run(x: Any, out: Any) -> None:
        batch = x.size // points
        if batch > few and points <= RESIDENT:
            whole(batch, threads, x, out, shared=shared)
        else:
            rows(x, out, batch * height)
            columns(out, out, batch, width)

    return run


def _constant(made: Kernel, name: str) -> int:
    """Return what a kernel is compiled with."""
    return int(made.constants[name.upper()])


@cache
def _rows(
    height: int, width: int, back: bool, real: bool, **choices: Any
) -> Callable[[Any, Any, int], None]:
    """Return what transforms so many lines, pairs of real rows or complex rows."""
    made = kernel("rows", height, width, back, real, **choices)
    threads, turned = _constant(made, "threads"), _constant(made, "across_turns")
    each = threads * _constant(made, "width_values") // width
    shared = CELL * (turned + threads // 32 * _constant(made, "across_cells"))

    def run(x: Any, out: Any, lines: int) -> None:
        made(-(-lines // each), threads, x, out, lines, shared=shared)

    return run


@cache
def _columns(
    height: int, width: int, back: bool, real: bool, **choices: Any
) -> Callable[..., None]:
    """Return what transforms the columns of so many pictures."""
    made = kernel("columns", height, width, back, real, **choices)
    threads = _constant(made, "threads")
    shared = CELL * (_constant(made, "down_turns") + height * STRIP)

    def run(x: Any, out: Any, batch: int, across: int) -> None:
        made(batch * -(-across // STRIP), threads, x, out, across, shared=shared)

    return run


def _checked(x: Any, dtype: str, half: int) -> tuple[int, int]:
    """Return height and width of the real or complex picture."""
    shape: tuple[int, ...] = tuple(getattr(x, "shape", ()))
    sides: tuple[int, ...] = shape[-2:] if len(shape) > 1 else ()
    if half and sides:
        sides = sides[0], 2 * (sides[1] - 1)
    if not sides or not set(sides) <= set(SIDES) or str(x.dtype) != dtype:
        raise InputError(
            f"an array {shape} of {getattr(x, 'dtype', type(x).__name__)} came, expected {dtype} "
            f"(..., H, {'W / 2 + 1' if half else 'W'}) with H and W of {SIDES}; for other sizes "
            "take cupy.fft"
        )
    if not hasattr(x, "__cuda_array_interface__"):
        raise InputError("a NumPy array came, expected CuPy's: take scipy.fft for it")
    return int(sides[0]), int(sides[1])


def _target(out: Any, shape: tuple[int, ...], dtype: str, device: Any) -> Any:
    """Return where to write, on a GPU, which is the current one: checked or new."""
    if out is None:
        import cupy

        return cupy.empty(shape, dtype)
    if not hasattr(out, "__cuda_array_interface__") or out.device != device:
        came = f"{type(out).__module__}.{type(out).__name__} on {getattr(out, 'device', 'cpu')!r}"
        raise InputError(
            f"out={came} came, expected CuPy's array on x's GPU, {device!r}: leave it out, or make "
            "it there"
        )
    if out.shape != shape or str(out.dtype) != dtype or not out.flags.c_contiguous:
        raise InputError(
            f"out={out.shape} of {out.dtype} came, expected {shape} of {dtype}, C-contiguous"
        )
    return out
