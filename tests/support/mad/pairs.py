"""Pictures and clips with the scores of the authors' own code.

Three pairs lie in the folder authors: two cut from scikit-image's "chelsea" (CC0, Stéfan van der
Walt), one made from nothing. The others are research data, which SNELLEN_DATA points to.

Columns of a pair's scores: MAD, HI, LO and sig are version 2011 on floats; _uint8_path reads its
table for 8 bits; _apr2010 scales HI by 1; _kinside is the paper's lightness.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

CLONE = ("tiny35x34_chelsea_awgn20", "small64x48_chelsea_jpeg10", "flat128_awgn5")
NAMES = (
    "camera_jpeg10",
    "camera_blur2",
    "camera_identical",
    "camera_dark_awgn6",
    "astronaut_jp2k120",
    "coffee512_awgn25",
    "china481x321_blur2",
    "china321x481_awgn15",
    "chelsea451x300_jpeg50",
    "flower640x427_jpeg10",
    "black_awgn5",
    "saturated_jpeg10",
    "rgb_china481x321_awgn15",
    *CLONE,
)
QUICK = (
    "china481x321_blur2",
    "china321x481_awgn15",
    "chelsea451x300_jpeg50",
    "black_awgn5",
    "rgb_china481x321_awgn15",
    *CLONE,
)
"""Of every shape, with and without colour and maps, but none of 512 × 512 pixels and more."""
MAPPED = (
    "china321x481_awgn15",
    "chelsea451x300_jpeg50",
    "small64x48_chelsea_jpeg10",
    "tiny35x34_chelsea_awgn20",
)


class Pair(NamedTuple):
    """Two pictures of 8 bits, (M, N) or (M, N, 3), with the scores and maps ("hi", "lo")."""

    name: str
    reference: np.ndarray
    distorted: np.ndarray
    scores: dict[str, float]
    maps: dict[str, np.ndarray] | None


class Clips(NamedTuple):
    """A clip (T, M, N) and its JPEG version; the scores of the clip itself and of that version."""

    reference: np.ndarray
    distorted: np.ndarray
    of_itself: dict[str, float]
    scores: dict[str, float]


def table(path):
    """The scores in scores.csv by the first column."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = next(iter(rows[0]))
    others = {first, "width", "height", "channels", "desc"}
    return {row[first]: {k: float(v) for k, v in row.items() if k not in others} for row in rows}


def pair(name, pictures, scores, maps=None):
    """One pair, from its folder of pictures, the table of scores and perhaps a folder of maps."""
    reference, distorted = (
        np.asarray(Image.open(pictures / f"{name}_{side}.png")) for side in ("ref", "dst")
    )
    file = maps / f"{name}.npz" if maps else None
    found = dict(np.load(file)) if file and file.exists() else None
    return Pair(name, reference, distorted, scores[name], found)


def authors(names=CLONE):
    """The pairs that lie here."""
    folder = Path(__file__).parent / "authors"
    scores = table(folder / "scores.csv")
    return [pair(name, folder, scores) for name in names]


def shared(data, names=NAMES):
    """The pairs in the research data; four have maps."""
    folder = Path(data) / "mad"
    scores = table(folder / "scores.csv")
    return [pair(name, folder / "pairs", scores, folder / "maps") for name in names]


def clips(data):
    """The clip in the research data."""
    folder = Path(data) / "mad" / "stmad"
    scores = table(folder / "scores.csv")
    lumas = [np.load(folder / f"{name}.npz")["luma"] for name in ("pan_ref", "pan_jpeg20")]
    return Clips(*lumas, scores["pan_ref"], scores["pan_jpeg20"])
