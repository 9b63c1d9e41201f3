"""Real camera shake: the pictures of Levin et al. 2009, restored and evaluated by their protocol.

A blind restoration may be shifted, since the PSF can hold the opposite shift. So the sharp picture
is compared with the restored one at the shift of the least error, in quarters of a pixel, without
the outermost pixels.
The error ratio is the sum of squared differences beside that of a restoration with the true PSF,
which is known here, by 100 iterations and total variation of 0.004: at most 2 is called a success.

`SNELLEN_DATA=… python -m benchmarks.levin`, with the pictures in its folder levin09.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from itertools import product
from math import floor, log10
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.command import arguments, write
from snellen import deblur
from snellen.bench import runner
from snellen.gpu import device as devices

CROP = 15
"""Pixels at each edge that are not compared; Levin et al. 2009."""
REACH = CROP - 1
"""Pixels of the longest shift, so that all that is compared lies in the picture."""
QUARTERS = np.arange(-3, 4) / 4
"""Fractions of a pixel around the best whole shift."""
SUCCESS = 2.0
"""Error ratio of a success; Levin et al. 2009 count those up to 2, 3, …"""
REFERENCE = {"iterations": 100, "tv": 0.004}
"""The restoration with the true PSF, whose error is 1 in the error ratio."""
BLURRED, PLAIN, PRIOR, TRUE = "as they are", "MIA", 'MIA with prior="l0"', "the true PSF"

Say = Callable[[str], None]
Float64 = npt.NDArray[np.float64]


class Picture(NamedTuple):
    """One of them: grey of 0 … 1, (rows, columns)."""

    name: str
    sharp: Float64
    blurred: Float64
    psf: Float64


class Evaluation(NamedTuple):
    """The distance of a picture from the sharp one."""

    error: float
    """Mean of squared differences."""
    shift: tuple[float, float]
    """Rows and columns by which it was moved."""

    @property
    def psnr(self) -> float:
        """In dB."""
        return -10 * log10(self.error)


def measure(device: str, say: Say) -> dict[str, Any]:
    """Restore all pictures in SNELLEN_DATA/levin09 and evaluate them.

    Returns
    -------
    dict
        "pictures", how many; "rows", for each way to restore them the means; "each", all figures.
    """
    say("\nPictures of Levin et al. 2009, PSNR in dB (error ratio)")
    each = [
        evaluate_all(picture, device, say) for picture in pictures(Path(os.environ["SNELLEN_DATA"]))
    ]
    rows = []
    for name in (BLURRED, PLAIN, PRIOR, TRUE):
        ratios = [one["ways"][name]["ratio"] for one in each]
        rows.append({
            "name": name, "psnr_db": float(np.mean([one["ways"][name]["psnr_db"] for one in each])),
            "ratio": float(np.mean(ratios)), "within": sum(ratio <= SUCCESS for ratio in ratios),
        })  # fmt: skip
    say("  " + "; ".join(f"{row['name']} {row['psnr_db']:.2f}" for row in rows))
    return {"pictures": len(each), "rows": rows, "each": each}


def pictures(folder: Path) -> Iterator[Picture]:
    """Give the pictures of the folder levin09 there, with the PSF as `snellen.deblur` takes it."""
    for path in sorted((folder / "levin09").glob("*.npz")):
        with np.load(path) as file:
            sharp, blurred, kernel = (
                file[name].astype(np.float64) for name in ("sharp", "blurred", "kernel")
            )
        yield Picture(path.stem, sharp, blurred, kernel[::-1, ::-1])


def evaluate_all(picture: Picture, device: str, say: Say) -> dict[str, Any]:
    """Restore one picture every way; return the figures of each."""
    ways: dict[str, dict[str, Any]] = {
        PLAIN: {"prior": None}, PRIOR: {"prior": "l0"},
        TRUE: {"psf": picture.psf, **REFERENCE},
    }  # fmt: skip
    found = {BLURRED: (evaluate(picture.blurred, picture.sharp), 0.0)}
    for name, how in ways.items():
        start = perf_counter()
        image = deblur(picture.blurred, device=device, **how).image
        seconds = perf_counter() - start
        found[name] = evaluate(image, picture.sharp), seconds
    best = found[TRUE][0].error
    rows = {
        name: {"psnr_db": one.psnr, "ratio": one.error / best, "shift": one.shift, "seconds": took}
        for name, (one, took) in found.items()
    }
    say(f"  {picture.name}: " + ", ".join(
        f"{name} {row['psnr_db']:.2f} ({row['ratio']:.2f})" for name, row in rows.items()
    ))  # fmt: skip
    return {"picture": picture.name, "ways": rows}


def evaluate(restored: Float64, sharp: Float64) -> Evaluation:
    """Compare a picture with the sharp one, both (rows, columns), at the shift of the least error.

    First the best whole shift, then quarters of a pixel around it, linear between pixels.
    """
    whole = range(-REACH, REACH + 1)
    _, (down, right) = min(_moved(restored, sharp, by) for by in product(whole, whole))
    near = product(down + QUARTERS, right + QUARTERS)
    return Evaluation(*min(_moved(restored, sharp, (float(i), float(j))) for i, j in near))


def _moved(
    restored: Float64, sharp: Float64, by: tuple[float, float]
) -> tuple[float, tuple[float, float]]:
    """Return the mean of squared differences at a shift, and the shift."""
    inner = sharp[CROP:-CROP, CROP:-CROP]
    moved = restored
    for axis, (shift, size) in enumerate(zip(by, inner.shape, strict=True)):
        first, part = CROP + floor(shift), shift - floor(shift)
        moved = moved.swapaxes(0, axis)
        near = moved[first : first + size]
        moved = (1 - part) * near + part * moved[first + 1 : first + 1 + size] if part else near
        moved = moved.swapaxes(0, axis)
    return float(np.mean((moved - inner) ** 2)), by


def main() -> int:
    """Restore and evaluate all pictures, and write the report."""
    given = arguments(__doc__)
    folder = os.environ.get("SNELLEN_DATA")
    if not folder or not any((Path(folder) / "levin09").glob("*.npz")):
        print("error: SNELLEN_DATA names no folder with pictures in levin09", file=sys.stderr)
        return 2
    device = devices.resolve(given.device)
    report = runner.header("mia", device, given.repeats, given.quick, print)
    report["levin"] = measure(device, print)
    write(report, given.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
