"""Training pictures in one file: planes of luma, lossless, as small as they go.

A pack is a ZIP of WebP pictures without loss and of `pack.json`, which says what they are. An item
is a picture as it should come out, and, for sources that a formula does not make, the small
pictures that were made of it (coded, blurred). Items without these are shrunk when they are read.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.errors import InputError
from snellen.files.signatures import UNREADABLE_ZIP

FORMAT = "snellen-pack-1"
DATE = (1980, 1, 1, 0, 0, 0)  # of each member: equal packs give equal files
METHOD, QUALITY = 5, 90  # effort of WebP; the last 3 % would take thrice as long

Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Item:
    """A picture to learn from, or to be measured on."""

    name: str
    """Its name, different for each."""
    high: Codes
    """Luma as it should come out, 8-bit codes (BT.601 limited range)."""
    lows: Mapping[int, Codes] = field(default_factory=dict)
    """Scale s → the small picture, (H // s, W // s). Empty: `high` shrunk by bicubic."""
    held_out: bool = False
    """It is kept for validation, and never learnt from."""
    group: str = ""
    """Kind of picture, or the name of its set; PSNR is reported for each."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """How its small pictures were made; exact as JSON."""

    def __post_init__(self) -> None:
        for scale, low in self.lows.items():
            wanted = tuple(side // scale for side in self.high.shape)
            if low.shape != wanted:
                raise InputError(f"{self.name} at ×{scale}: got {low.shape}; expected {wanted}")


@dataclass(frozen=True, eq=False)
class Pack:
    """The contents of a pack's file."""

    items: tuple[Item, ...]
    about: Mapping[str, str]
    """Source (clean, film, soft), how it was made, and attribution, as strings."""
    digest: str
    """SHA-256 of the samples, as hexadecimal digits."""


def write(
    path: Path, items: Iterable[Item], about: Mapping[str, str], most: float = float("inf")
) -> int:
    """Write a pack; return how many items it holds.

    A picture that several items in a row share is kept once.

    Parameters
    ----------
    items : iterable of Item
        Each is written before the next is asked for.
    about : mapping
        See `Pack`; it holds at least "source".
    most : float
        Bytes of pictures; the first item that would pass it ends the pack.
    """
    size = 0
    listed: list[dict[str, Any]] = []
    last: tuple[Codes | None, int] = None, 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for number, item in enumerate(items):
            planes = {f"low{s}": low for s, low in item.lows.items()}
            if item.high is not last[0]:
                planes["high"] = item.high
            coded = {key: _coded(plane) for key, plane in planes.items()}
            size += sum(map(len, coded.values()))
            if size > most:
                break
            last = item.high, number if "high" in coded else last[1]
            for key, data in coded.items():
                file.writestr(zipfile.ZipInfo(f"{number:04d}.{key}.webp", DATE), data)
            listed.append(
                {
                    "name": item.name, "scales": sorted(item.lows), "held_out": item.held_out,
                    "group": item.group, "high": last[1], "facts": dict(item.facts),
                }
            )  # fmt: skip
        text = json.dumps({"format": FORMAT, "about": dict(about), "items": listed}, indent=1)
        file.writestr(zipfile.ZipInfo("pack.json", DATE), text)
    return len(listed)


def read(path: Path) -> Pack:
    """Read a pack that `write` wrote.

    Raises
    ------
    InputError
        It is no such file.
    """
    try:
        with zipfile.ZipFile(path) as file:
            told = json.loads(file.read("pack.json"))
            if told["format"] != FORMAT:
                raise InputError(f"{path}: got format {told['format']!r}; expected {FORMAT!r}")
            items = tuple(_items(file, told["items"]))
    except UNREADABLE_ZIP as error:
        raise InputError(f"{path} is not a pack of training pictures: {error}") from error
    return Pack(items, told["about"], digest(items))


def digest(items: Iterable[Item]) -> str:
    """Return the SHA-256 of the samples, as hexadecimal digits."""
    found = hashlib.sha256()
    for item in items:
        for plane in (item.high, *item.lows.values()):
            found.update(repr(plane.shape).encode() + plane.tobytes())
    return found.hexdigest()


def _items(file: zipfile.ZipFile, listed: list[dict[str, Any]]) -> Iterator[Item]:
    high = np.zeros((0, 0), np.uint8)
    for number, one in enumerate(listed):
        lows = {
            scale: _decoded(file.read(f"{number:04d}.low{scale}.webp")) for scale in one["scales"]
        }
        if one.get("high", number) == number:
            high = _decoded(file.read(f"{number:04d}.high.webp"))
        yield Item(one["name"], high, lows, one["held_out"], one["group"], one["facts"])


def _coded(plane: Codes) -> bytes:
    from PIL import Image

    found = BytesIO()
    picture = Image.fromarray(plane).convert("RGB")  # equal channels cost WebP nothing
    picture.save(found, "WEBP", lossless=True, quality=QUALITY, method=METHOD)
    return found.getvalue()


def _decoded(data: bytes) -> Codes:
    from PIL import Image

    with Image.open(BytesIO(data)) as picture:
        return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[..., 0])
