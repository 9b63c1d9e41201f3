"""Packs of clean pictures: folders of images, cropped, and where each comes from."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from snellen_lab.protocol import luma, pictures
from snellen_lab.sources.pack import Codes, Item


@dataclass(frozen=True)
class Folder:
    """A folder of images, and what is taken of it."""

    path: Path
    side: int | None = None
    """Greatest height and width of a picture, which is cropped in its middle; None: whole."""
    held_out: tuple[str, ...] = ()
    """Beginnings of the names of files that are kept for validation."""
    group: str = ""
    """See `Item`."""

    def items(self) -> Iterator[Item]:
        """Yield the pictures, by name."""
        for path in pictures(self.path):
            codes = np.rint(luma(path) * 255).astype(np.uint8)
            held = path.name.startswith(self.held_out) if self.held_out else False
            name = f"{self.path.name}/{path.name}"
            yield Item(name, _middle(codes, self.side), {}, held, self.group or self.path.name)


def _middle(codes: Codes, side: int | None) -> Codes:
    if side is None:
        return codes
    top, left = (max(0, (length - side) // 2) for length in codes.shape)
    return np.ascontiguousarray(codes[top : top + side, left : left + side])


def names(path: Path) -> tuple[str, ...]:
    """Return the lines of a text file but comments."""
    lines = path.read_text().splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def attribution(path: Path) -> str:
    """Return a line for each author and licence of a SOURCES.csv, with the places of the pictures.

    Parameters
    ----------
    path : Path
        Table with the columns source, author and licence.
    """
    found: dict[tuple[str, str], set[str]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["author"], row["licence"]), set()).add(row["source"])
    lines = (
        f"{author} ({licence}): {', '.join(sorted(s))}" for (author, licence), s in found.items()
    )
    return "\n".join(sorted(lines))


def every(folders: Sequence[Folder], held_out: bool = False) -> Iterator[Item]:
    """Yield the pictures of all folders; `held_out`: all of them as held out."""
    for folder in folders:
        for item in folder.items():
            yield replace(item, held_out=True) if held_out else item
