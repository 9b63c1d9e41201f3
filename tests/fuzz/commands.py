"""Command lines over a film or a picture."""

from __future__ import annotations

from fuzz.case import Random

FAST = ("--preset", "ultrafast")
_X264 = (".mkv", ".mp4", ".mov", ".ts", ".m2ts")
"""Suffixes of outputs whose encoder has these presets."""
LIMIT = ("--max-pixels", "100000")
"""Most cases set it: what a harmed header may claim is small, and so are memory and time."""
FITS = ("pad", "crop", "stretch")
SCORED = (80, 72)
"""Pictures that MAD can score: it leaves a margin of 33 pixels out."""


def film(random: Random, source: str) -> tuple[list[str], tuple[str, ...]]:
    """Return a command that converts a film, and its outputs."""
    words = ["upscale", source, *_common(random)]
    if random.random() < 0.25:
        words[0] = "deblur"
        words += ["--iterations", "2", "--psf-size", "3"]
        words += random.choice(([], [], ["--window", "2"], ["--roi", "4,4,20,20"],
                                ["--roi", "4,4,20,20", "--paste-back"]))  # fmt: skip
    else:
        words += random.choice(([], [], [], ["--scale", "1.5"], ["--height", "130"],
                                ["--size", "150x150", "--fit", random.choice(FITS)]))  # fmt: skip
        words += random.choice(([], [], [], ["--grain", "3"]))
    target = "out/result" + random.choice(
        (*_X264, ".mkv", ".y4m", ".webm", ".gif", ".webp", ".avif")
    )
    if source.endswith(".gif") and target.endswith((".webp", ".avif")):
        target = "out/result.gif"  # those are of its first picture
    if random.random() < 0.1:
        target = "-"
    words += ["-o", target]
    if target.endswith(_X264):
        words += FAST
    words += random.choice(([], [], [], [], ["--frames", "3"], ["--start", "0.1"], ["--strict"],
                            ["--deinterlace"], ["--deinterlace", "field"], ["--ivtc"],
                            ["--interlaced", "top", "--deinterlace"], ["--profile"],
                            ["--duration", "0.2"], ["--audio", "none"], ["--map", "0:a?"],
                            _audio(target)))  # fmt: skip
    words += random.choice(([], ["--json"]))
    return words, () if target == "-" else (target,)


def _audio(target: str) -> list[str]:
    """Return a kind of audio that an output takes."""
    if not target.endswith((*_X264, ".webm")):
        return []
    return ["--audio", "opus" if target.endswith((".mkv", ".mp4", ".ts", ".webm")) else "aac"]


def picture(random: Random, source: str, suffix: str) -> tuple[list[str], tuple[str, ...]]:
    """Return a command that converts a picture, and its outputs."""
    words = ["upscale", source, *_common(random)]
    if random.random() < 0.3:
        words[0] = "deblur"
        words += ["--iterations", "2", "--psf-size", "3"]
        words += random.choice(([], ["--roi", "0,0,8,8"], ["--tile", "8"], ["--psf-out",
                                "out/psf.png"], ["--prior", "l0"],
                                ["--prior", "none"]))  # fmt: skip
    target = "out/result" + random.choice((suffix, suffix, ".png", ".tif"))
    words += ["-o", target, *random.choice(([], ["--json"]))]
    return words, (target, "out/psf.png") if "--psf-out" in words else (target,)


def score(random: Random, reference: str, distorted: str) -> tuple[list[str], tuple[str, ...]]:
    """Return a command that scores a film or a picture, and its outputs."""
    words = ["score", reference, distorted, *_common(random)]
    more, outputs = random.choice((
        ([], ()), ([], ()), (["--csv", "out/table.csv"], ("out/table.csv",)),
        (["--map-out", "out/maps"], ("out/maps/",)), (["--resize"], ()),
    ))  # fmt: skip
    return [*words, *more, *random.choice(([], ["--json"]))], outputs


def _common(random: Random) -> list[str]:
    return ["--device", "cpu", *(LIMIT if random.random() < 0.9 else ())]
