"""A frame of video, and the format that describes its planes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError, quoted
from snellen.frames import values
from snellen.frames.brief import Brief

Plane = npt.NDArray[np.uint8 | np.uint16 | np.float32]
"""One component of a picture, (height, width), rows may have a pitch. CuPy's on a GPU."""

_DEPTHS = (0, *range(8, 17))
"""Values of `Format.bits`."""
_DEEPEST = 4
"""Greatest log2 of a subsampling."""
_MOST_TICKS = 2**63 - 1

LEFT = (0.25, 0.5)
"""Chroma on the left column of its luma pair, between the rows: MPEG-2, H.264, HEVC default."""
CENTRE = (0.5, 0.5)
"""Chroma in the middle of its luma samples: JPEG, MPEG-1."""
TOP_LEFT = (0.25, 0.25)
"""Chroma on the top left luma sample: BT.2020 video."""


@dataclass(frozen=True, slots=True, repr=False)
class Format(Brief):
    """Shape and meaning of the planes of a frame."""

    width: int
    """Luma samples a row."""
    height: int
    """Luma rows."""
    bits: int = 8
    """Significant bits of an integer sample, 8 to 16; 0: float32 samples, never clipped."""
    subsampling: tuple[int, int] | None = None
    """log2 of luma samples to chroma samples (across, down): 4:2:0 is (1, 1), 4:4:4 is (0, 0);
    None: luma only."""
    siting: tuple[float, float] = LEFT
    """Where a chroma sample lies in its luma samples (across, down), 0.25: on the first of two,
    0.5: in their middle. Without effect in a direction that is not subsampled."""
    full_range: bool = False
    """Black and white are the ends of the code range. Only a change of depth uses this."""
    white: float | None = None
    """Sample value of white; None: the greatest value of the depth. What None means for float
    samples, each method says."""

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            object.__setattr__(self, name, values.whole(name, getattr(self, name)))
        if not _is_subsampling(self.subsampling):
            raise InputError(
                f"got `subsampling`={quoted(self.subsampling)}; expected (across, down), as (1, 1) "
                "of 4:2:0, or None",
                parameter="subsampling",
            )
        bits = values.integer(self.bits)
        if bits not in _DEPTHS:
            raise InputError(
                f"got `bits`={quoted(self.bits)}; expected 8 to 16, or 0 for float32",
                parameter="bits",
            )
        object.__setattr__(self, "bits", bits)
        if not _is_siting(self.siting):
            raise InputError(
                f"got `siting`={quoted(self.siting)}; expected (across, down), as (0.25, 0.5)",
                parameter="siting",
            )
        object.__setattr__(self, "full_range", values.flag("full_range", self.full_range))
        white = None if self.white is None else values.number(self.white)
        if self.white is not None and (white is None or not white > 0):
            raise InputError(
                f"got `white`={quoted(self.white)}; expected a positive number", parameter="white"
            )
        object.__setattr__(self, "white", white)
        for name, kind in (("subsampling", int), ("siting", float)):  # hashable, whatever was given
            if (both := getattr(self, name)) is not None:
                object.__setattr__(self, name, tuple(kind(one) for one in both))

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """NumPy type of the samples: uint8, uint16 (more than 8 bits) or float32."""
        if self.bits == 0:
            return np.dtype(np.float32)
        return np.dtype(np.uint8 if self.bits == 8 else np.uint16)

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """(height, width) of each plane; subsampled chroma is rounded up."""
        luma = (self.height, self.width)
        if self.subsampling is None:
            return (luma,)
        across, down = self.subsampling
        chroma = (-(-self.height >> down), -(-self.width >> across))
        return (luma, chroma, chroma)

    @property
    def nbytes(self) -> int:
        """Bytes of the planes of a frame."""
        return sum(height * width for height, width in self.shapes) * self.dtype.itemsize

    def scaled(self, scale: int, bits: int | None = None) -> Format:
        """Return this format `scale` times larger, at another depth if `bits` says so.

        At another depth `white` is None again.
        """
        scale = values.whole("scale", scale)
        depth = self.bits
        if bits is not None:
            depth = values.whole("bits", bits, 0, 16)
        return replace(
            self,
            width=self.width * scale,
            height=self.height * scale,
            bits=depth,
            white=self.white if depth == self.bits else None,
        )


def check_format(format: object) -> None:
    """Refuse (InputError) what is no Format."""
    if not isinstance(format, Format):
        raise InputError(
            f"got a {type(format).__name__}; expected a Format, as Format(width, height)",
            parameter="format",
        )


def _is_subsampling(value: object) -> bool:
    return value is None or (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all(
            (found := values.integer(one)) is not None and 0 <= found <= _DEEPEST for one in value
        )
    )


def _is_siting(value: object) -> bool:
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and all((found := values.number(one)) is not None and 0 <= found <= 1 for one in value)
    )


@dataclass(frozen=True, slots=True, repr=False)
class Frame(Brief):
    """One picture: its planes and its time."""

    planes: tuple[Plane, ...]
    """Luma, or luma and two chroma planes, shaped as `Format.shapes` says: NumPy arrays, or CuPy
    arrays of one GPU."""
    pts: int = 0
    """Presentation time in ticks of the stream's time base."""
    duration: int = 0
    """Ticks until the next frame; 0: unknown."""
    ready: Any = None
    """CUDA event after which planes on a GPU may be read; None: at once."""
    alpha: Plane | None = None
    """Opacity, shaped as luma and as deep, of full range: 0 is transparent. None: opaque. Steps of
    video do not see it, see `snellen.video.steps.alpha`."""

    def __post_init__(self) -> None:
        for name in ("pts", "duration"):
            if type(value := getattr(self, name)) is not int:
                held = values.whole(name, value, -_MOST_TICKS, _MOST_TICKS)
                object.__setattr__(self, name, held)
