"""The picture of docs/mia.md: chelsea.png (CC0) blurred in two ways, and restored; its PSNR.

Usage: python examples/deblur_cat.py docs/deblur.png
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import center_of_mass, gaussian_filter
from scipy.signal import fftconvolve

import snellen

SHOWN = (104, 54, 268, 182)  # an eye and the nose
HAZY = (96, 46, 276, 190)  # what is restored in the upper row
SHAKEN = (30, 20, 430, 280)  # and in the lower one: a prior needs more to see
SIDE = 21  # of the blurs
FRAMES = 8
NOISE = 0.005  # standard deviation, white being 1
FOOT = 22  # rows for a caption
FONT = ImageFont.load_default(13)

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def main() -> None:
    """Write the sheet, and print PSNR in dB."""
    grey = np.asarray(Image.open(Path(__file__).with_name("chelsea.png")).convert("L")) / 255
    rows = [
        [(shown(picture, box), f"{name}: {psnr(picture, cut(grey, box)):.1f} dB")
         for picture, name in make(grey, np.random.default_rng(3))]
        for box, make in ((HAZY, frames), (SHAKEN, shaken))
    ]  # fmt: skip
    print(*(caption for row in rows for _, caption in row), sep="\n")
    sheet(rows).save(sys.argv[1], optimize=True)


def frames(grey: np.ndarray, random: np.random.Generator) -> list[tuple[np.ndarray, str]]:
    """Many short exposures through hot air: the best, restored alone, and from all."""
    several = np.stack([blurred(grey, haze(random), HAZY, random) for _ in range(FRAMES)])
    best = several[np.argmax([psnr(one, cut(grey, HAZY)) for one in several])]
    how = {"psf_size": SIDE, "tv": 0.001}
    alone = snellen.deblur(best, start=3, **how)
    together = snellen.deblur(several, multiframe=True, start=4, iterations=500, **how)
    return [
        (best, f"best of {FRAMES} frames"),
        (alone.image, "MIA of it"),
        (several.mean(0), "mean of all"),
        (together.image, f"MIA of {FRAMES}"),
    ]


def shaken(grey: np.ndarray, random: np.random.Generator) -> list[tuple[np.ndarray, str]]:
    """One exposure of a camera that moved: restored with no, and with more knowledge."""
    psf = shake(random)
    picture = blurred(grey, psf, SHAKEN, random)
    return [
        (picture, "shaken"),
        (snellen.deblur(picture, psf_size=SIDE, prior=None).image, "MIA"),
        (snellen.deblur(picture, psf_size=SIDE, prior="l0").image, 'prior="l0"'),
        (snellen.deblur(picture, psf, tv=0.001).image, "blur known"),
    ]


def blurred(grey: np.ndarray, psf: np.ndarray, box: Box, random: np.random.Generator) -> np.ndarray:
    """Return a blurred part, with noise; what is around it blurs into it, as in a camera."""
    part = cut(fftconvolve(grey, psf, "same"), box)
    return (part + random.normal(0, NOISE, part.shape)).clip(0, 1)


def haze(random: np.random.Generator) -> np.ndarray:
    """Return what a lens makes of a point behind air that bends light here and there."""
    away = np.hypot(*np.mgrid[-32:32, -32:32])
    phase = gaussian_filter(random.normal(size=away.shape), 5)
    wave = (away < 12.8) * np.exp(3j * phase / phase.std())
    power = np.abs(np.fft.fftshift(np.fft.fft2(wave))) ** 2
    down, right = center_of_mass(power)  # frames are taken to be registered
    power = np.roll(power, (32 - round(down), 32 - round(right)), (0, 1))
    middle = slice(32 - SIDE // 2, 33 + SIDE // 2)
    return power[middle, middle] / power[middle, middle].sum()


def shake(random: np.random.Generator) -> np.ndarray:
    """Return the trace of a point while a hand trembles."""
    path = np.cumsum(gaussian_filter(random.normal(size=(400, 2)), (40, 0)), 0)
    path *= 2.8 / path.std(0).mean()
    edges = np.arange(SIDE + 1) - SIDE / 2
    trace = gaussian_filter(np.histogramdd(path - path.mean(0), [edges] * 2)[0], 0.7)
    return trace / trace.sum()


def psnr(picture: np.ndarray, sharp: np.ndarray) -> float:
    """Return PSNR in dB of the middle; the picture may lie up to 6 pixels aside."""
    rows, columns = (size - 40 for size in sharp.shape)
    middle = sharp[20:-20, 20:-20]
    places = [(i, j) for i in range(14, 27) for j in range(14, 27)]
    errors = [np.mean((picture[i : i + rows, j : j + columns] - middle) ** 2) for i, j in places]
    return -10 * float(np.log10(min(errors)))


def cut(picture: np.ndarray, box: Box) -> np.ndarray:
    """Return a part."""
    left, top, right, bottom = box
    return picture[top:bottom, left:right]


def shown(picture: np.ndarray, box: Box) -> Image.Image:
    """Return what is shown of a picture that is the part `box` of the cat."""
    left, top, right, bottom = SHOWN
    part = cut(picture, (left - box[0], top - box[1], right - box[0], bottom - box[1]))
    return Image.fromarray(np.rint(part.clip(0, 1) * 255).astype(np.uint8))


def sheet(rows: list[list[tuple[Image.Image, str]]]) -> Image.Image:
    """Return pictures in rows, each above its caption."""
    width, height = rows[0][0][0].width + 4, rows[0][0][0].height + FOOT
    whole = Image.new("L", (len(rows[0]) * width - 4, len(rows) * height), "white")
    draw = ImageDraw.Draw(whole)
    for i, row in enumerate(rows):
        for j, (picture, caption) in enumerate(row):
            whole.paste(picture, (j * width, i * height))
            draw.text((j * width + 2, (i + 1) * height - FOOT + 2), caption, "black", FONT)
    return whole


if __name__ == "__main__":
    main()
