"""Sharp pictures times known blurs: the set by which prior="auto" was developed, made on the spot.

Pictures of the folders Set14 and trainset/pictures in SNELLEN_DATA, of scikit-image where it is
installed; the eight PSFs of Levin et al. 2009 (levin09), and lines, Gaussians and discs; noise, and
some highlights that are cut off. One half of the pictures, by a digest of their names, was looked
at while constants were chosen ("development"); the other one was not ("test"). Evaluated as
Levin's, see benchmarks/levin.py.

`SNELLEN_DATA=… python -m benchmarks.blurs`: the test half; `--half development`, `--half both`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from itertools import islice
from math import log10
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage, signal

from benchmarks.command import arguments, write
from benchmarks.levin import BLURRED, PRIOR, REFERENCE, SUCCESS, TRUE, evaluate, pictures
from snellen import deblur
from snellen.bench import runner
from snellen.frames.colour import KB, KG, KR
from snellen.gpu import device as devices

HALVES = "development", "test"
SIDE = 255
"""Rows and columns of a picture, at most."""
EVERY = 8
"""So many pictures of the trainset are left out from one to the next."""
EACH = 3
"""Blurs of each picture."""
NOISES = (0.002, 0.005, 0.01)
"""Standard deviations, white being 1, one after another; 8 bits after it."""
WORSE = 0.1
"""dB; less is no difference."""
BRIGHT = 1.4
"""Factor of every fifth picture, before it is cut off at white."""

AUTO = "the default"
Float64 = npt.NDArray[np.float64]


class Case(NamedTuple):
    """One picture, blurred."""

    name: str
    half: str
    """"development" or "test"."""
    sharp: Float64
    blurred: Float64
    psf: Float64 | None
    """None: it was not blurred."""


def half(name: str) -> str:
    """Return to which half a picture belongs."""
    return HALVES[zlib.crc32(name.encode()) % 2]


def psfs(data: Path) -> dict[str, Float64 | None]:
    """Return all blurs; None is none."""
    found: dict[str, Float64 | None] = {}
    for one in pictures(data):
        found.setdefault(one.name.split("_")[1], one.psf)
    for length, degrees in ((9, 20), (17, 65), (23, 130)):
        found[f"line{length}"] = line(length, degrees)
    for sigma in (1.0, 1.8, 2.6):
        plane = np.zeros((21, 21))
        plane[10, 10] = 1
        found[f"gauss{sigma}"] = ndimage.gaussian_filter(plane, sigma, truncate=5)
    for radius in (2.5, 4.5):
        found[f"disc{radius}"] = disc(radius)
    found["none"] = None
    return found


def line(length: int, degrees: float) -> Float64:
    """Return the PSF of a straight motion, (31, 31)."""
    plane = np.zeros((31, 31))
    along = np.linspace(-(length - 1) / 2, (length - 1) / 2, 20 * length)
    down, right = (15 + along * f(np.radians(degrees)) for f in (np.sin, np.cos))
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = abs(1 - i - down % 1) * abs(1 - j - right % 1)
        np.add.at(plane, (np.int64(down) + i, np.int64(right) + j), weight)
    return plane / plane.sum()


def disc(radius: float) -> Float64:
    """Return the PSF of a defocus, (15, 15)."""
    at = (np.arange(15 * 9) - 67) / 9
    fine = (at[:, None] ** 2 + at**2 <= radius**2).astype(float)
    plane: Float64 = fine.reshape(15, 9, 15, 9).sum((1, 3))
    return plane / plane.sum()


def sharp_pictures(data: Path) -> Iterator[tuple[str, Float64]]:
    """Give names and luma of 0 … 1."""
    for path in sorted((data / "Set14").glob("*.png")):
        yield path.stem, luma(np.asarray(Image.open(path)))
    for path in sorted((data / "trainset" / "pictures").iterdir())[::EVERY]:
        yield path.stem, luma(np.asarray(Image.open(path)))
    try:
        from skimage import data as samples
    except ImportError:
        return
    for name in ("astronaut", "camera", "coffee", "rocket", "text", "page", "coins", "moon"):
        yield name, luma(getattr(samples, name)())


def luma(pixels: Any) -> Float64:
    """Return luma of 0 … 1 of 8-bit pixels, grey or RGB."""
    plane = pixels / 255
    if plane.ndim == 3:
        plane = plane[..., :3] @ np.array([KR, KG, KB])
    found: Float64 = plane
    return found


def cases(data: Path, wanted: str | None = None) -> Iterator[Case]:
    """Give the pictures of one half, or of both."""
    blurs = list(psfs(data).items())
    for number, (name, plane) in enumerate(sharp_pictures(data)):
        if wanted not in (None, half(name)):
            continue
        size = [min(SIDE, side - 30) for side in plane.shape]
        middle = [(side - one) // 2 for side, one in zip(plane.shape, size, strict=True)]
        part = tuple(slice(a, a + b) for a, b in zip(middle, size, strict=True))
        for k in range(EACH):
            turn = EACH * number + k
            what, psf = blurs[(turn * 7) % len(blurs)]
            plane_ = plane * BRIGHT if turn % 5 == 4 else plane
            blurred = plane_ if psf is None else signal.fftconvolve(plane_, psf, "same")
            random = np.random.default_rng(turn)
            noisy = blurred[part] + NOISES[turn % 3] * random.standard_normal(size)
            noisy = np.rint(255 * noisy.clip(0, 1)) / 255
            yield Case(f"{name}*{what}", half(name), plane_[part].clip(0, 1), noisy, psf)


def measure(case: Case, device: str) -> dict[str, Any]:
    """Restore a picture; return PSNR in dB of all ways, and the outcome of prior="auto"."""
    begun = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # which `outcome` tells
        found = deblur(case.blurred, device=device)
    seconds = process_time() - begun
    searched = found.image
    if found.outcome != "restored":
        searched = deblur(case.blurred, prior="l0", device=device).image
    true = case.blurred
    if case.psf is not None:
        true = deblur(case.blurred, case.psf, **REFERENCE, device=device).image
    ways = {BLURRED: case.blurred, AUTO: found.image, PRIOR: searched, TRUE: true}
    psnr = {name: evaluate(image, case.sharp).psnr for name, image in ways.items()}
    return {
        "case": case.name, "half": case.half, "blurred": case.psf is not None,
        "outcome": found.outcome, "seconds": seconds, "psnr_db": psnr,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return means of blurred pictures, and how many are worse than they came."""
    found: dict[str, Any] = {"pictures": len(rows)}
    found["psnr_db"] = {
        name: float(np.mean([row["psnr_db"][name] for row in rows])) for name in rows[0]["psnr_db"]
    }
    for name in (AUTO, PRIOR):
        gains = [row["psnr_db"][name] - row["psnr_db"][BLURRED] for row in rows]
        lost = [row["psnr_db"][TRUE] - row["psnr_db"][name] for row in rows]
        found[name] = {
            "worse": sum(gain < -WORSE for gain in gains), "least_gain_db": min(gains),
            "within": sum(loss <= 10 * log10(SUCCESS) for loss in lost),
        }  # fmt: skip
    outcomes = [row["outcome"] for row in rows]
    return {**found, "outcomes": {one: outcomes.count(one) for one in sorted({*outcomes})}}


def main() -> int:
    """Restore and evaluate the pictures of a half, and write the report."""
    given = arguments(__doc__, _add)
    data = Path(os.environ.get("SNELLEN_DATA", ""))
    if not os.environ.get("SNELLEN_DATA") or not any((data / "levin09").glob("*.npz")):
        print("error: SNELLEN_DATA names no folder with pictures in levin09", file=sys.stderr)
        return 2
    device = devices.resolve(given.device)
    report = runner.header("mia", device, given.repeats, given.quick, print)
    rows = []
    for case in islice(cases(data, None if given.half == "both" else given.half), 0, None,
                       4 if given.quick else 1):  # fmt: skip
        rows.append(row := measure(case, device))
        figures = ", ".join(f"{name} {psnr:.2f}" for name, psnr in row["psnr_db"].items())
        print(f"  {row['case']}: {row['outcome']}; {figures}", flush=True)
    parts = {"blurred": [row for row in rows if row["blurred"]]}
    parts["sharp"] = [row for row in rows if not row["blurred"]]
    report["blurs"] = {name: summary(part) for name, part in parts.items() if part}
    print(json.dumps(report["blurs"], indent=1))
    report["blurs"]["each"] = rows
    write(report, given.output)
    return 0


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--half", choices=(*HALVES, "both"), default=HALVES[1])


if __name__ == "__main__":
    sys.exit(main())
