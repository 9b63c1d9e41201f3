"""Samples of pictures to planes and back on the GPU, to the bytes of `frames.colour` on NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.frames.colour import TO_RGB, TO_YCC
from snellen.gpu.c_types import C_TYPES
from snellen.gpu.kernel import Kernel

FILE = Path(__file__).with_suffix(".cu")
THREADS = 256
BLOCKS = 1 << 12  # most blocks that look for samples which cannot be used
LARGEST = 1e35  # of float samples: float32 ends at 3.4e38, and features are sums of many


class Samples:
    """Conversion of pictures of one type and number of channels, on the current GPU.

    Parameters
    ----------
    dtype : dtype
        Of the samples: uint8, uint16, float16, float32 or float64.
    channels : int
        1, 3 (RGB) or 4 (RGBA).
    bits : int
        Significant bits of integers; 0: floats.
    plane : dtype
        Of luma's plane; others are float32.
    """

    def __init__(self, dtype: np.dtype[Any], channels: int, bits: int, plane: np.dtype[Any]):
        self._split, self._join = kernels(dtype, channels, bits, plane)[:2]
        self._limit = limit(dtype, bits)

    def split(self, picture: Any, planes: tuple[Any, ...]) -> None:
        """Fill the planes from a contiguous picture (H, W[, channels]): luma, chroma, alpha."""
        pixels = planes[0].size
        self._split(-(-pixels // THREADS), THREADS, picture, np.int64(pixels), *_four(planes))

    def join(self, planes: tuple[Any, ...], picture: Any) -> None:
        """Fill a contiguous picture from planes; round and clip to what its type holds."""
        pixels = planes[0].size
        self._join(
            -(-pixels // THREADS), THREADS, *_four(planes), np.int64(pixels), self._limit, picture
        )


class Check:
    """The search for samples that cannot be enlarged: not finite, too large, or too deep.

    Parameters
    ----------
    dtype : dtype
    bits : int
        Significant bits of integers; 0: floats.
    largest : float
        The greatest magnitude of floats that can be used.
    """

    def __init__(self, dtype: np.dtype[Any], bits: int, largest: float = LARGEST):
        self._kernel = kernels(dtype, 1, bits, dtype, largest)[2]

    @staticmethod
    def needed(dtype: np.dtype[Any], bits: int) -> bool:
        """Return whether samples of this type can be such."""
        return bits != 8 * int(dtype.itemsize)

    def __call__(self, samples: Any, found: Any) -> None:
        """Set `found` (1,) int32 to 1 if one of the contiguous `samples` cannot be used, else 0."""
        found.fill(0)
        blocks = min(BLOCKS, -(-samples.size // THREADS))
        self._kernel(blocks, THREADS, samples, np.int64(samples.size), found)


def limit(dtype: np.dtype[Any], bits: int) -> np.float32:
    """Return the greatest sample of a result."""
    if bits:
        return np.float32((1 << bits) - 1)
    return np.float32(min(float(np.finfo(dtype).max), float(np.finfo(np.float32).max)))


def kernels(
    dtype: np.dtype[Any],
    channels: int,
    bits: int,
    plane: np.dtype[Any],
    largest: float = LARGEST,
) -> tuple[Kernel, Kernel, Kernel]:
    """Return the kernels split, join and check, not yet compiled.

    Parameters are those of `Samples` and `Check`.
    """
    colour = channels > 1
    constants: dict[str, Any] = {
        "sample": C_TYPES[dtype.name], "half": int(dtype.name == "float16"),
        "integer": int(bits > 0), "channels": channels,
        "plane": "float" if colour or not bits else C_TYPES[plane.name],
        "to_ycc": _row(TO_YCC), "to_rgb": _row(TO_RGB), "most": _most(dtype, bits, largest),
    }  # fmt: skip
    split, join, check = (Kernel(FILE, name, **constants) for name in ("split", "join", "check"))
    return split, join, check


def _most(dtype: np.dtype[Any], bits: int, largest: float) -> str:
    """Return the greatest magnitude of a sample, as a literal of its type; of float16 its bits."""
    if bits:
        return str((1 << bits) - 1)
    if dtype.name == "float64":
        return repr(largest)
    kind = np.float16 if dtype.name == "float16" else np.float32
    most = kind(min(largest, float(np.finfo(kind).max)))
    if float(most) > largest:
        most = np.nextafter(most, kind(0))
    return str(most.view(np.uint16)) if kind is np.float16 else f"{float(most)!r}f"


def _row(matrix: npt.NDArray[np.float64]) -> str:
    """Return a matrix in float32 as the initialiser of a C array."""
    return "{" + ", ".join(f"{float(x)!r}f" for x in matrix.astype(np.float32).ravel()) + "}"


def _four(planes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return luma, two planes of chroma and alpha; None for each that there is not."""
    return (*planes, None, None, None)[:4]
