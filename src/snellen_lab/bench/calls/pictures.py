"""The functions for pictures: from host memory to host memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import snellen
from snellen.bench.inputs import codes, picture
from snellen.errors import SnellenError
from snellen.frames.frame import Format, Frame
from snellen_lab.bench.calls.case import Call, Figures, Sizes

Array = npt.NDArray[Any]

NOISE = 0.03
"""Standard deviation of the noise of distorted pictures, white being 1."""
BLUR = 5
"""Samples over which blurred pictures are averaged along a row."""
SAME = 1e-6
"""Relative difference of scores on several GPUs: sums over subbands in another order."""
LIKE = 35.0
"""PSNR in dB of what prior="l0" gives on another device: its search is chaotic in the last bits."""


class Upscale(Call):
    """snellen.upscale of one plane, or of a batch."""

    def __init__(self, device: str, sizes: Sizes, batch: int = 1):
        super().__init__(device, sizes)
        self.batch = batch
        self.name = f"snellen.upscale, {_many(batch, sizes.plane)}"

    def prepare(self, folder: Path) -> None:
        """Draw the planes."""
        self.planes = _rolled(codes(picture(*self.sizes.plane), 8), self.batch)

    def run(self) -> Any:
        """Enlarge them."""
        given: Any = self.planes[0] if self.batch == 1 else self.planes
        return snellen.upscale(given, device=_list(self.device), channel_axis=None)

    def check(self, result: Any) -> Figures:
        """Compare with an Upscaler, plane by plane."""
        width, height = self.sizes.plane
        with snellen.Upscaler(2, device=self.single) as upscaler:
            upscaler.prepare(Format(width, height))
            wanted = [upscaler.run(Frame((plane,), 0, 1)).planes[0] for plane in self.planes]
        return _equal(result.reshape(-1, *wanted[0].shape), wanted)


class Score(Call):
    """snellen.score of one pair, or of a batch."""

    def __init__(self, device: str, sizes: Sizes, size: tuple[int, int], batch: int = 1):
        super().__init__(device, sizes)
        self.size, self.batch = size, batch
        self.name = f"snellen.score, {_many(batch, size, 'pair')}"

    def prepare(self, folder: Path) -> None:
        """Draw the pairs."""
        clean = picture(*self.size)
        noise = np.random.default_rng(2).normal(0, NOISE, clean.shape)
        noisy = (clean + noise).clip(0, 1).astype(np.float32)
        self.pairs = [_rolled(codes(plane, 8), self.batch) for plane in (clean, noisy)]

    def run(self) -> Any:
        """Score them."""
        one, other = (planes[0] if self.batch == 1 else planes for planes in self.pairs)
        return snellen.score(one, other, device=self.device, channel_axis=None)

    def check(self, result: Any) -> Figures:
        """Compare with a Scorer, pair by pair."""
        width, height = self.size
        with snellen.Scorer(device=self.single) as scorer:
            scorer.prepare(Format(width, height))
            wanted = [scorer.run(*pair) for pair in zip(*self.pairs, strict=True)]
        found = [np.ravel(number) for number in (result.mad, result.hi, result.lo)]
        off = apart(np.transpose(found), [[one.mad, one.hi, one.lo] for one in wanted])
        if not off <= (SAME if "," in self.device else 0):
            raise SnellenError(f"scores differ by {off:.1e} of those of a Scorer")
        return {"relative": off}


class Deblur(Call):
    """snellen.deblur of one picture, of a batch, or in tiles."""

    def __init__(
        self, device: str, sizes: Sizes, size: tuple[int, int], what: str = "", batch: int = 1,
        **settings: Any,
    ):  # fmt: skip
        super().__init__(device, sizes)
        self.size, self.batch = size, batch
        self.settings = {
            "prior": None,
            "channel_axis": None,
            "iterations": sizes.iterations,
            **settings,
        }
        self.name = f"snellen.deblur, {_many(batch, size)}{what and f', {what}'}"

    def prepare(self, folder: Path) -> None:
        """Draw blurred pictures."""
        self.pictures = _rolled(blurred(*self.size), self.batch)

    def run(self) -> Any:
        """Deblur them."""
        given: Any = self.pictures[0] if self.batch == 1 else self.pictures
        return snellen.deblur(given, device=_list(self.device), **self.settings)

    def check(self, result: Any) -> Figures:
        """Compare with calls for one picture on one device; prior="l0" with the CPU's."""
        if self.settings["prior"] is not None:
            return self._alike(result.image)
        few = slice(None, None, max(1, self.batch // 8))
        wanted = [
            snellen.deblur(one, device=self.single, **self.settings).image
            for one in self.pictures[few]
        ]
        found = result.image.reshape(-1, *wanted[0].shape)[few]
        return _equal(found, wanted, within=1 if self.batch > 1 else 0)

    def _alike(self, found: Array) -> Figures:
        wanted = snellen.deblur(self.pictures[0], device="cpu", **self.settings).image
        error = np.square(found.astype(np.float64) - wanted).mean()
        psnr = 99.0 if error == 0 else float(10 * np.log10(255**2 / error))
        if not psnr >= LIKE:
            raise SnellenError(f"{psnr:.1f} dB from the CPU's result; expected {LIKE} or more")
        return {"psnr_db": psnr}


def blurred(width: int, height: int) -> Array:
    """Return a blurred picture with noise, (height, width) uint8."""
    wide = picture(width + BLUR - 1, height)
    mean = sum(wide[:, i : i + width] for i in range(BLUR)) / np.float32(BLUR)
    drawn: Array = codes(np.asarray(mean, np.float32), 8)
    return drawn


def apart(found: Any, wanted: Any) -> float:
    """Return how far scores are from others, relative to these, or to 1 where they are smaller."""
    plain = np.array(wanted, np.float64)
    return float((np.abs(np.array(found) - plain) / np.maximum(plain, 1)).max())


def _rolled(plane: Array, count: int) -> Array:
    """Return so many different pictures."""
    return np.stack([np.roll(plane, 7 * i, axis=1) for i in range(count)])


def _equal(found: Array, wanted: list[Array], within: int = 0) -> Figures:
    """Compare pictures; SnellenError: samples differ by more than `within` code values."""
    if found.shape != (len(wanted), *wanted[0].shape) or found.dtype != wanted[0].dtype:
        raise SnellenError(f"got {found.shape} of {found.dtype}")
    pairs = zip(found, wanted, strict=True)
    off = max(int(np.abs(one.astype(int) - other).max()) for one, other in pairs)
    if off > within:
        raise SnellenError(f"samples differ by {off} code values; expected {within} at most")
    return {"codes": off}


def _many(count: int, size: tuple[int, int], what: str = "picture") -> str:
    """Return the words for so many pictures of a size."""
    return f"{f'{count} {what}s' if count > 1 else f'one {what}'} of {size[0]}×{size[1]}"


def _list(device: str) -> Any:
    """Return a device, or a list of several."""
    return device.split(",") if "," in device else device
