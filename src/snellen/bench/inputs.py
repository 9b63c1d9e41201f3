"""What is measured: sizes, and pictures that anybody can draw again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from snellen.aplus.training import protocol
from snellen.frames.frame import Plane

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Case:
    """One picture size."""

    scale: int
    width: int
    height: int
    beside: bool = True
    """Whether the other libraries' lines are measured, too."""

    @property
    def name(self) -> str:
        """Name in tables and JSON."""
        return f"{self.width}×{self.height} ×{self.scale}"


CASES = (
    Case(2, 1920, 1080),
    Case(3, 1280, 720),
    Case(4, 960, 540),
    Case(2, 3840, 2160, beside=False),
)

GPU_CASES = (
    *CASES,
    Case(2, 1280, 720, beside=False),
    Case(2, 960, 540, beside=False),
)


def picture(width: int, height: int) -> Float32:
    """Return a picture with edges, texture and flat parts, (height, width) float32 in 0 … 1."""
    y, x = np.mgrid[:height, :width].astype(np.float32)
    waves = np.sin(x * x / 3000) * np.cos(y * y / 5000)
    discs = ((x % 97 - 48) ** 2 + (y % 89 - 44) ** 2 < 900) * np.float32(0.5)
    noise = np.random.default_rng(0).normal(0, 0.02, (height, width)).astype(np.float32)
    noise[: height // 3] = 0
    mixed: Float32 = (0.4 + 0.2 * waves + discs + noise).clip(0, 1).astype(np.float32)
    return mixed


def kinds(width: int, height: int) -> dict[str, Float32]:
    """Return a picture of each kind; "real" only where `photograph` finds one."""
    found = {
        "drawn": picture(width, height),
        "noise": np.random.default_rng(1).random((height, width), np.float32),
        "flat": np.full((height, width), 0.4, np.float32),
    }
    path = photograph()
    return found | ({} if path is None else {"real": tiled(protocol.luma(path), width, height)})


def photograph() -> Path | None:
    """Return a picture of Set14 in the folder that SNELLEN_DATA names, if it is there."""
    folder = os.environ.get("SNELLEN_DATA")
    path = Path(folder or ".") / "Set14" / "barbara.png"
    return path if folder and path.is_file() else None


def tiled(plane: Float32, width: int, height: int) -> Float32:
    """Return the picture and its mirror images side by side, up to a size."""
    missing = [max(0, size - had) for size, had in zip((height, width), plane.shape, strict=True)]
    wide = np.pad(plane, [(0, rows) for rows in missing], mode="symmetric")
    return np.ascontiguousarray(wide[:height, :width])


def codes(plane: Float32, bits: int) -> Plane:
    """Return a picture in 0 … 1 as code values; bits 0: as it is."""
    if not bits:
        return plane
    white = (1 << bits) - 1
    rounded: Float32 = np.rint(plane * np.float32(white))
    return rounded.astype(np.uint8) if bits == 8 else rounded.astype(np.uint16)
