"""The README's picture: a crop of chelsea.png (CC0) made small, then enlarged ×2 in two ways.

Usage: python examples/before_after.py docs/before-after.png
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import snellen

SCALE = 2
BOX = (106, 60, 306, 190)  # both eyes, in the original's pixels
ZOOM = 2  # each pixel of the result is shown so large


def main() -> None:
    """Write bicubic (left) and ours (right), side by side."""
    original = Image.open(Path(__file__).with_name("chelsea.png")).convert("RGB")
    small = original.resize(
        (original.width // SCALE, original.height // SCALE), Image.Resampling.BICUBIC
    )
    before = small.resize((small.width * SCALE, small.height * SCALE), Image.Resampling.BICUBIC)
    after = Image.fromarray(snellen.upscale(np.asarray(small), scale=SCALE))
    panels = [image.crop(BOX) for image in (before, after)]
    width, height = (side * ZOOM for side in panels[0].size)
    sheet = Image.new("RGB", (2 * width + 8, height), "white")
    for i, panel in enumerate(panels):
        sheet.paste(panel.resize((width, height), Image.Resampling.NEAREST), (i * (width + 8), 0))
    sheet.save(sys.argv[1])


if __name__ == "__main__":
    main()
