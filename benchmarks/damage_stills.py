"""Damages images inside, and counts what is visible, what is refused and what Snellen says.

``python -m benchmarks.damage_stills -o benchmarks/results/damage-stills.json``. Each image is hit
once: one bit is flipped, bytes are set to zero, or bytes are removed, between 5 % and 98 % of the
file; or its end is cut off there. It is compared with the whole image.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.command import write
from snellen.errors import InputError
from snellen.stills import still

HITS = ("bit", "zeros", "removed", "cut")
OUTCOMES = ("refused", "said", "unsaid", "not visible")

DEFLATE, GROUP4 = "tiff_adobe_deflate", "group4"
IMAGES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "JPEG": ("x.jpg", "RGB", {"quality": 90}),
    "JPEG, progressive": ("x.jpg", "RGB", {"quality": 90, "progressive": True}),
    "JPEG, restart markers": ("x.jpg", "RGB", {"quality": 90, "restart_marker_rows": 1}),
    "PNG": ("x.png", "RGB", {}),
    "PNG, 16 bit grey": ("x.png", "I;16", {}),
    "TIFF, Deflate": ("x.tif", "RGB", {"compression": DEFLATE}),
    "TIFF, LZW": ("x.tif", "RGB", {"compression": "tiff_lzw"}),
    "TIFF, JPEG": ("x.tif", "RGB", {"compression": "jpeg", "quality": 90}),
    "TIFF, Group 4": ("x.tif", "1", {"compression": GROUP4}),
    "TIFF, PackBits": ("x.tif", "RGB", {"compression": "packbits"}),
    "TIFF, uncompressed": ("x.tif", "RGB", {}),
    "WebP": ("x.webp", "RGB", {"quality": 90}),
    "WebP, lossless": ("x.webp", "RGB", {"lossless": True}),
    "BMP": ("x.bmp", "RGB", {}),
    "PPM": ("x.ppm", "RGB", {}),
}


def picture(mode: str, side: int = 256) -> Image.Image:
    """Return waves with some noise: detail as a photograph has."""
    y, x = np.mgrid[:side, :side]
    grey = 120 + 70 * np.sin(x / 9) * np.cos(y / 7)
    grey += np.random.default_rng(5).normal(0, 8, (side, side))
    if mode == "I;16":
        return Image.fromarray((grey.clip(0, 255) * 257).astype(np.uint16))
    colours = np.stack([grey, np.roll(grey, 5, 1), 255 - grey], 2)
    return Image.fromarray(colours.clip(0, 255).astype(np.uint8)).convert(mode)


def hit(data: bytes, kind: str, chance: random.Random) -> bytes:
    """Damage a file once."""
    at = chance.randrange(len(data) // 20, len(data) * 98 // 100)
    size = chance.choice((4, 64, max(64, len(data) // 100)))
    if kind == "bit":
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
    if kind == "zeros":
        return data[:at] + bytes(min(size, len(data) - at)) + data[at + size :]
    return data[:at] + (data[at + size :] if kind == "removed" else b"")


def outcome(path: Path, whole: Any) -> str:
    """Return what becomes of a damaged image; "unsaid": its damage is visible, and not said."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's, of metadata
            found = still.read(path)
    except InputError:
        return "refused"
    if found.damage:
        return "said"
    return "not visible" if np.array_equal(found.pixels, whole) else "unsaid"


def measure(folder: Path, name: str, hits: int, seed: int) -> dict[str, dict[str, int]]:
    """Hit an image so many times in each way; count the outcomes."""
    file, mode, options = IMAGES[name]
    path, chance = folder / file, random.Random(f"{seed} {name}")
    picture(mode).save(path, **options)
    data, whole = path.read_bytes(), still.read(path).pixels
    found = {kind: dict.fromkeys(OUTCOMES, 0) for kind in HITS}
    for kind in HITS:
        for _ in range(hits):
            path.write_bytes(hit(data, kind, chance))
            found[kind][outcome(path, whole)] += 1
    return found


def main() -> None:
    """Hit all images, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hits", type=int, default=60, help="of each kind, on each image")
    parser.add_argument("-o", "--output", type=Path, help="write JSON here")
    parsed = parser.parse_args()
    report: dict[str, Any] = {"seed": parsed.seed, "hits": parsed.hits, "images": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name in IMAGES:
            report["images"][name] = measure(Path(folder), name, parsed.hits, parsed.seed)
            print(name, report["images"][name], flush=True)
    write(report, parsed.output)


if __name__ == "__main__":
    main()
