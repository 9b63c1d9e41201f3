"""The pictures and tables of docs/mad.md: chelsea.png (CC0) made worse by degrees, and its MAD.

Usage: python examples/mad_levels.py docs
"""

import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter

import snellen
from snellen.mad import heatmap as heat

BOX = (112, 66, 252, 171)  # what is shown: an eye and the nose; scores are of the whole picture
MAPPED = [("JPEG", 10), ("blur", 2)]  # with heat maps
LEVELS = {"JPEG": [90, 50, 25, 10, 5], "blur": [0.5, 1, 1.5, 2, 4], "noise": [2, 5, 10, 20, 40]}
UNITS = {"JPEG": "quality", "blur": "σ, pixels", "noise": "σ, grey levels"}
VERSIONS = {
    '`variant="2011"`, the default': {},
    "`eight_bit_lut=True`": {"eight_bit_lut": True},
    '`variant="paper"`': {"variant": "paper"},
    "`hi_scale=10`": {"hi_scale": 10},
    "`hi_scale=1`": {"hi_scale": 1},
}
FOOT = 22  # rows for a caption
FONT = ImageFont.load_default(13)


def main() -> None:
    """Write mad-levels.png and mad-maps.png into a folder, and print the tables."""
    folder = Path(sys.argv[1])
    grey = Image.open(Path(__file__).with_name("chelsea.png")).convert("L")
    reference = np.asarray(grey)
    made = {
        kind: [(level, distorted(reference, kind, level)) for level in LEVELS[kind]]
        for kind in LEVELS
    }
    scores = {kind: [score(reference, one) for _, one in made[kind]] for kind in made}
    print(*levels(scores), "", *versions(reference), sep="\n")
    captions = [
        [
            (crop(one), f"{kind} {level}: {found.mad:.1f}")
            for (level, one), found in zip(made[kind], scores[kind], strict=True)
        ]
        for kind in made
    ]
    sheet(captions).convert("L").save(folder / "mad-levels.png", optimize=True)
    coarse = sheet(maps(reference)).quantize(256, dither=Image.Dither.NONE)
    coarse.save(folder / "mad-maps.png", optimize=True)


def distorted(reference: np.ndarray, kind: str, level: float) -> np.ndarray:
    """Return the picture made worse."""
    if kind == "JPEG":
        file = BytesIO()
        Image.fromarray(reference).save(file, "JPEG", quality=level)
        return np.asarray(Image.open(file))
    floats = reference.astype(np.float64)
    if kind == "blur":
        floats = gaussian_filter(floats, level, mode="nearest")
    else:
        floats += np.random.default_rng(2010).normal(0, level, floats.shape)
    return np.clip(np.rint(floats), 0, 255).astype(np.uint8)


def score(reference: np.ndarray, picture: np.ndarray, **how: object) -> snellen.Score:
    """Return the score in float64, so that every machine prints the same."""
    return snellen.score(reference, picture, device="cpu", **how)


def levels(scores: dict[str, list[snellen.Score]]) -> Iterator[str]:
    """Yield the lines of the table of levels."""
    yield "| distortion | level | MAD | HI | LO |"
    yield "| --- | --- | --- | --- | --- |"
    for kind, found in scores.items():
        for level, one in zip(LEVELS[kind], found, strict=True):
            numbers = f"{one.mad:.1f} | {one.hi:.4g} | {one.lo:.3f}"
            yield f"| {kind} ({UNITS[kind]}) | {level} | {numbers} |"


def versions(reference: np.ndarray) -> Iterator[str]:
    """Yield the lines of the table of versions."""
    picture = distorted(reference, "JPEG", 10)
    yield "| version | MAD | HI | LO |"
    yield "| --- | --- | --- | --- |"
    for name, how in VERSIONS.items():
        one = score(reference, picture, **how)
        yield f"| {name} | {one.mad:.4f} | {one.hi:.4f} | {one.lo:.4f} |"


def maps(reference: np.ndarray) -> Iterator[list[tuple[Image.Image, str]]]:
    """Yield a row of pictures for each of MAPPED: what it is of, detection, appearance."""
    for kind, level in MAPPED:
        picture = distorted(reference, kind, level)
        found = score(reference, picture, maps=True)
        yield [
            (Image.fromarray(picture), f"{kind} {level}: MAD {found.mad:.1f}"),
            (coloured(found.detection, "detection"), f"detection: HI {found.hi:.0f}"),
            (coloured(found.appearance, "appearance"), f"appearance: LO {found.lo:.2f}"),
        ]


def coloured(values: np.ndarray, kind: str) -> Image.Image:
    """Return a map as `snellen score --map-out` draws it."""
    shown = heat.DETECTION * values if kind == "detection" else values
    return Image.fromarray(heat.palette()[heat.shades(shown, heat.BRIGHTEST[kind])])


def crop(picture: np.ndarray) -> Image.Image:
    """Return the part that is shown."""
    return Image.fromarray(picture).crop(BOX)


def sheet(rows: object) -> Image.Image:
    """Return pictures of one size in rows, each above its caption."""
    rows = list(rows)
    width, height = (side + gap for side, gap in zip(rows[0][0][0].size, (4, FOOT), strict=True))
    whole = Image.new("RGB", (len(rows[0]) * width - 4, len(rows) * height), "white")
    draw = ImageDraw.Draw(whole)
    for i, row in enumerate(rows):
        for j, (picture, caption) in enumerate(row):
            whole.paste(picture, (j * width, i * height))
            draw.text((j * width + 2, (i + 1) * height - FOOT + 2), caption, "black", FONT)
    return whole


if __name__ == "__main__":
    main()
