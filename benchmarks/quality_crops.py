"""Rows of a page of crops as one picture: `python -m benchmarks.quality_crops PAGE.html -o x.png`.

`snellen bench quality --page PAGE.html` makes the page. --row chooses rows by what is in their
titles, --method the methods; without these all are taken.
"""

from __future__ import annotations

import argparse
import io
import sys
from base64 import b64decode
from html import unescape
from pathlib import Path
from re import S, findall, sub

from PIL import Image, ImageDraw, ImageFont

LARGER = 2  # each pixel is shown as so many
GAP = 8  # pixels between crops
TEXT = 14  # pixels: height of letters
LINE = 20  # pixels: height of a line of text

Crop = tuple[str, Image.Image]


def rows(page: str) -> list[tuple[str, list[Crop]]]:
    """Return title and crops of each row of a page; a crop with its caption."""
    found = []
    for title, body in findall(r"<h2>(.*?)</h2><div>(.*?)</div>", page, S):
        crops = findall(r'alt="(.*?)" src="data:image/png;base64,(.*?)"', body)
        found.append((unescape(title), [(unescape(alt), opened(code)) for alt, code in crops]))
    return found


def opened(code: str) -> Image.Image:
    """Return a picture in base64."""
    with Image.open(io.BytesIO(b64decode(code))) as image:
        return image.resize([LARGER * side for side in image.size], Image.Resampling.NEAREST)


def method(caption: str) -> str:
    """Return the name of a method without its PSNR."""
    return sub(r" [\d.]+ dB$", "", caption)


def sheet(chosen: list[tuple[str, list[Crop]]]) -> Image.Image:
    """Return rows below one another."""
    wide = max(sum(crop.width + GAP for _, crop in crops) for _, crops in chosen)
    heights = [max(crop.height for _, crop in crops) + 2 * LINE + GAP for _, crops in chosen]
    image = Image.new("L", (wide + GAP, sum(heights) + GAP), 238)
    draw, font, top = ImageDraw.Draw(image), ImageFont.load_default(TEXT), GAP
    for (title, crops), height in zip(chosen, heights, strict=True):
        draw.text((GAP, top), title, 0, font)
        left = GAP
        for caption, crop in crops:
            image.paste(crop, (left, top + LINE))
            draw.text((left, top + LINE + crop.height + 2), caption, 0, font)
            left += crop.width + GAP
        top += height
    return image


def main() -> int:
    """Draw the picture; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--row", action="append", default=[], help="part of a title")
    parser.add_argument("--method", action="append", default=[], help="name of a method")
    given = parser.parse_args()
    wanted = {"original", *given.method}
    chosen = [
        (title, [one for one in crops if not given.method or method(one[0]) in wanted])
        for title, crops in rows(given.page.read_text(encoding="utf-8"))
        if not given.row or any(part in title for part in given.row)
    ]
    if not chosen:
        parser.error("no such row")
    sheet(chosen).save(given.output, optimize=True)
    print(f"{given.output}: {len(chosen)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
