"""Film grain on luma: a step whose random numbers depend on a frame's time and a seed only.

The model: white noise, blurred by a small Gaussian (the size of the grain grows with the picture,
as that of a film which is projected larger), times a strength that depends on luma u (black 0,
white 1) as 2·√(u·(1 − u)). That is the standard deviation of the Boolean model of grain, where a
point of the film is covered or not (Newson, Delon, Galerne 2017): greatest in the middle tones, and
none in black and white, so that bars stay black.

The random numbers are Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): a function of place, time
and seed, whatever frames and threads come before. All that follows is in integers, and does not
depend on the machine either.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from snellen.cpu import threads
from snellen.cpu.blas import single_threaded
from snellen.cpu.compiled import compiled
from snellen.cpu.pool import Pool, results
from snellen.errors import InputError, quoted
from snellen.frames.frame import Format, Frame, Plane
from snellen.frames.luma import levels
from snellen.frames.quantise import recode
from snellen.frames.step import Step, Traits, Unchanged
from snellen.frames.values import number, whole
from snellen.process import Holder, Home

GREATEST = 64.0
"""Greatest amount: standard deviation in code values of 8 bits."""
SEEDS = 2**32
"""So many seeds there are."""

_SIZE = 0.6 / 1080
"""Standard deviation of the blur, in rows, for each row of a picture of 16:9."""
_SHAPE = 16 / 9
_SPREAD = 2.5
"""Standard deviations after which the blur ends."""
_FINEST, _COARSEST = 0.4, 3.2
"""Bounds of the standard deviation of the blur, in rows."""
_UNIT = 256
"""Sum of the blur's weights along an axis, before they are rounded."""
_SHIFT = 40
"""Bits behind the point of code values in tables."""
_VARIANCE = 4 * (256**2 - 1) / 12
"""The variance of a random number, a sum of four bytes."""
_MEAN = 2 * 255

_MARGIN = 64
"""Rows and columns of random numbers beyond the edge that there may be."""
_WORD = 2**32 - 1

_ROWS = 64
"""Rows that a task makes."""

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


class Grain(Holder, Step):
    """Add grain to luma; chroma stays.

    Parameters
    ----------
    amount : float
        Standard deviation of the grain in the middle tones, in code values of 8 bits: 1 is hardly
        seen, 4 is a grainy film. Up to 64.
    seed : int
        Frames of the same time and size get other grain for another seed.

    Raises
    ------
    InputError
        A value that is out of range.
    """

    _what = "this Grain"

    def __init__(self, amount: float, seed: int = 0) -> None:
        found = number(amount)
        if found is None or not 0 < found <= GREATEST:
            raise InputError(
                f"got `grain`={quoted(amount)}; expected a number above 0, up to {GREATEST:g}",
                parameter="grain",
            )
        self.amount, self.seed = found, whole("grain_seed", seed, 0, SEEDS - 1)
        seeded = f", seed {self.seed}" if self.seed else ""
        self.traits = Traits(label=f"grain {found:g}{seeded}")
        self._home = Home(self._what)
        self._pool: Pool | None = None
        self._unchanged = Unchanged()

    def outcome(self, format: Format, frames: int) -> Format:
        """Return the format of the results, except for their depth."""
        if not format.bits:
            raise InputError("got float samples; grain expects 8 to 16 bits", parameter="grain")
        return format

    def prepare(
        self, format: Format, bits: int | None = None, *, on_device: bool = False
    ) -> Format:
        """Get ready for frames of this format; return that of the results."""
        if on_device:
            raise InputError("grain is made in main memory", parameter="on_device")
        self.close()
        target = replace(self.outcome(format, 0), bits=format.bits if bits is None else bits)
        self.outcome(target, 0)
        self._unchanged.prepare(format, bits)
        self._format, self._target = format, target
        self._weights = weights(format.width, format.height)
        self._base, self._gain = tables(self.amount, self._weights, format, target)
        self._pool = Pool(threads.available())
        self._home = Home(self._what)
        return target

    def run(self, frame: Frame) -> Frame:
        """Return the frame with grain, its luma in a new plane."""
        assert self._pool is not None
        self._home.check()
        luma = frame.planes[0]
        out = np.empty(luma.shape, self._target.dtype)
        with single_threaded():
            tasks = list(self._tasks(luma, frame.pts, out))
            results(tasks)
        rest = (self._unchanged.plane(one, chroma=True) for one in frame.planes[1:])
        return replace(frame, planes=(out, *rest))

    def alpha(self) -> Unchanged:
        """Return a step for the alpha channel of such frames, which has no grain."""
        return Unchanged()

    def close(self) -> None:
        """End the threads."""
        pool, self._pool = self._pool, None
        if pool is not None and not self._home.keep(pool):
            pool.shutdown()

    def _tasks(self, luma: Plane, time: int, out: Plane) -> Iterator[Future[None]]:
        assert self._pool is not None
        for first in range(0, len(out), _ROWS):
            rows = slice(first, first + _ROWS)
            yield self._pool.submit(self._strip, luma[rows], first, time, out[rows])

    def _strip(self, luma: Plane, first: int, time: int, out: Plane) -> None:
        """Add grain to rows from `first` on."""
        height, width = luma.shape
        noise = blurred(self._weights, first, height, width, time, self.seed)
        most = (1 << self._target.bits) - 1
        _add(luma, noise, self._base, self._gain, most, out)


def weights(width: int, height: int) -> Int64:
    """Return the weights of the blur along an axis, for pictures of this size."""
    deviation = _SIZE * max(height, width / _SHAPE)
    deviation = min(max(deviation, _FINEST), _COARSEST)
    radius = int(np.ceil(_SPREAD * deviation))
    exact = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    found: Int64 = np.rint(_UNIT * exact / exact.sum()).astype(np.int64)
    return found


def tables(amount: float, blur: Int64, format: Format, target: Format) -> tuple[Int64, Int64]:
    """Return, for each code value of luma, its value in the result, and that of a unit of noise.

    Both are whole numbers, of which 2^`_SHIFT` are one code value of the result.
    """
    codes = np.arange(1 << 8 * format.dtype.itemsize)
    black, white = levels(format)
    luma = np.clip((codes - black) / (white - black), 0, 1)
    factor, offset = recode(format, target, chroma=False)
    unit = 2.0 ** (target.bits - 8) / (np.sqrt(_VARIANCE) * (blur**2).sum())
    strength = amount * unit * 2 * np.sqrt(luma * (1 - luma))
    base, gain = ((one * 2.0**_SHIFT) for one in (factor * codes + offset, strength))
    return np.rint(base).astype(np.int64), np.rint(gain).astype(np.int64)


def blurred(blur: Int64, first: int, height: int, width: int, time: int, seed: int) -> Int32:
    """Return (height, width): the blurred noise of rows from `first` on, in units of `tables`."""
    radius = len(blur) // 2
    groups = -(-(width + _MARGIN + radius) // 4)
    white = np.empty((height + 2 * radius, 4 * groups), np.int32)
    _fill(white, first + _MARGIN - radius, time & _WORD, time >> 32 & _WORD, seed)
    across = np.empty((len(white), width), np.int32)
    out = np.empty((height, width), np.int32)
    _blur(white, blur, _MARGIN - radius, across, out)
    return out


@compiled
def _fill(out, first, low, high, seed):  # type: ignore[no-untyped-def]
    """Fill rows from `first` on with random numbers: sums of the four bytes of a random word."""
    # A call of Philox makes those of four columns. Its numbers have 32 bits, in 64: of a product,
    # the high half is what a shift leaves, whatever the sign.
    word = 0xFFFFFFFF
    for i in range(out.shape[0]):
        for j in range(out.shape[1] // 4):
            a, b, c, d = j, first + i, low, high
            k, m = seed, 0
            for _ in range(10):
                p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
                a, b = ((q >> 32) & word) ^ b ^ k, q & word
                c, d = ((p >> 32) & word) ^ d ^ m, p & word
                k, m = (k + 0x9E3779B9) & word, (m + 0xBB67AE85) & word
            out[i, 4 * j] = (a & 255) + ((a >> 8) & 255) + ((a >> 16) & 255) + (a >> 24)
            out[i, 4 * j + 1] = (b & 255) + ((b >> 8) & 255) + ((b >> 16) & 255) + (b >> 24)
            out[i, 4 * j + 2] = (c & 255) + ((c >> 8) & 255) + ((c >> 16) & 255) + (c >> 24)
            out[i, 4 * j + 3] = (d & 255) + ((d >> 8) & 255) + ((d >> 16) & 255) + (d >> 24)


@compiled
def _blur(white, weights, left, across, out):  # type: ignore[no-untyped-def]
    """Blur random numbers, less their mean, across and down; the first column is at `left`."""
    for i in range(across.shape[0]):
        for x in range(across.shape[1]):
            across[i, x] = 0
        for k in range(weights.shape[0]):
            weight = np.int32(weights[k])
            row = white[i, left + k :]
            for x in range(across.shape[1]):
                across[i, x] += weight * (row[x] - np.int32(_MEAN))
    for i in range(out.shape[0]):
        for x in range(out.shape[1]):
            out[i, x] = 0
        for k in range(weights.shape[0]):
            weight = np.int32(weights[k])
            row = across[i + k]
            for x in range(out.shape[1]):
                out[i, x] += weight * row[x]


@compiled(strided=("luma", "out"))
def _add(luma, noise, base, gain, most, out):  # type: ignore[no-untyped-def]
    """Add noise to code values, rounded and clipped to 0 … `most`."""
    half = 1 << (_SHIFT - 1)
    for i in range(out.shape[0]):
        for x in range(out.shape[1]):
            code = luma[i, x]
            value = (base[code] + gain[code] * noise[i, x] + half) >> _SHIFT
            out[i, x] = min(max(value, 0), most)
