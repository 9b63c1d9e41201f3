"""Films and pictures that are compared, shown in reports, tried, and enhanced by files."""

from __future__ import annotations

from io import BytesIO

import numpy as np

from fuzz import commands, films, kinds, names, pictures
from fuzz.case import Case, Random
from fuzz.kinds import kind, perhaps

_PAGE = "out/report.html"


@kind(1)
def compare(random: Random) -> Case:
    """Harmed films or pictures in a report."""
    if random.random() < 0.5:
        made, data = films.drawn(random, commands.SCORED)
        suffix = made.suffix
    else:
        suffix, data = pictures.drawn(random, commands.SCORED)
    stem = names.hostile(random)[:200] if random.random() < 0.4 else "variant"
    others = [f"in/{number}{stem}{suffix}" for number in range(random.choice((1, 1, 2)))]
    files = {name: perhaps(random, data)[0] for name in others}
    files["in/reference" + suffix] = data if random.random() < 0.7 else perhaps(random, data)[0]
    words = ["compare", *others, "--reference", "in/reference" + suffix, "--device", "cpu",
             "--pictures", random.choice("14"), *commands.LIMIT, "-o", _PAGE]  # fmt: skip
    words += random.choice(([], [], ["--align"], ["--every", "2"], ["--metrics", "psnr"],
                            ["--report-size", "0.1"], ["--frames", "2"], ["--json"],
                            ["--start", "0.1"]))  # fmt: skip
    return Case(words, files, (_PAGE,), f"report about {suffix}, {stem!r}")


@kind(0.5)
def preview(random: Random) -> Case:
    """A harmed film of which a preview is made."""
    made, data = films.drawn(random, commands.SCORED)
    harmed, note = perhaps(random, data)
    source = "in/film" + made.suffix
    words = [random.choice(("upscale", "upscale", "deblur")), source, "--device", "cpu",
             *commands.LIMIT, "--preview", random.choice("12"), "--preview-seconds", "0.1",
             "--report", _PAGE, "-o", "out/result.mkv", *commands.FAST]  # fmt: skip
    if words[0] == "upscale":
        words += random.choice(([], [], ["--preview-with", "--crf 30"], ["--vf", "hflip"],
                                ["--preview-at", "0.2"], ["--preview-at", "99"],
                                ["--preview-with", "--grain 3 --deband"],
                                ["--crop", "auto"]))  # fmt: skip
    else:
        words += ["--iterations", "1", "--psf-size", "3"]
    return Case(words, {source: harmed}, (_PAGE,), f"{made.codec}: {note}")


@kind(0.7)
def tried(random: Random) -> Case:
    """A harmed film of which is said what would be done; nothing is written."""
    made, data = films.drawn(random)
    harmed, note = perhaps(random, data)
    words = ["upscale", "in/film" + made.suffix, "--device", "cpu", *commands.LIMIT, "--dry-run",
             "-o", "out/result" + random.choice((".mkv", ".mp4", ".y4m"))]  # fmt: skip
    words += random.choice(([], ["--json"], ["--deinterlace"], ["--crop", "auto"], ["--lut",
                            "in/none.cube"], ["--target-mad", "5"], ["--vf", "fps=5"]))  # fmt: skip
    return Case(words, {words[1]: harmed}, (), f"{made.codec}: {note}", judged=False)


@kind(0.5)
def target(random: Random) -> Case:
    """A harmed film whose encoder has a target."""
    made, data = films.drawn(random, commands.SCORED)
    harmed, note = perhaps(random, data)
    words = ["upscale", "in/film" + made.suffix, "--device", "cpu", *commands.LIMIT,
             "--target-mad", random.choice(("0.1", "3", "40", "1e300")), *commands.FAST,
             "-o", "out/result" + random.choice((".mkv", ".mp4"))]  # fmt: skip
    words += random.choice(([], ["--target-pool", "p95"], ["--max-bitrate", "20k"], ["--json"]))
    return Case(words, {words[1]: harmed}, (words[words.index("-o") + 1],),
                f"{made.codec}: {note}")  # fmt: skip


@kind(1)
def enhanced(random: Random) -> Case:
    """A film that is sharpened by a harmed PSF, cropped and has grain."""
    plain = random.random() < kinds.WHOLE
    noise = np.random.default_rng(random.randrange(1 << 30))
    out = BytesIO()
    shape = random.choice(((5, 5), (3, 3), (3, 3), (3, 3) if plain else (2, 3, 3)))
    np.save(out, noise.random(shape).astype(random.choice(("f4", "f8", "u1"))))
    harmed, note = (out.getvalue(), "odd numbers")
    if random.random() < 0.6:
        harmed, note = perhaps(random, harmed)
    words = ["upscale", "in/film.y4m", "--device", "cpu", *commands.LIMIT, "--deblur", "in/p.npy",
             *commands.FAST, "-o", "out/result.mkv"]  # fmt: skip
    if random.random() < 0.4:
        crop = random.choice(("40 20 4 6", "16 16 0 0", "48 32 0 0")).split()
        if random.random() < 0.4 and not plain:
            crop[random.randrange(4)] = random.choice(("0", "1", "31", "-1", "9" * 19))
        words += ["--crop", ":".join(crop)]
    if random.random() < 0.4:
        words += [
            "--grain",
            random.choice(("3", "64", "3", "0", "1e9", "nan", "1e-300")[: 3 if plain else 7]),
        ]
        words += ["--grain-seed", random.choice(("0", "7", "-1", "9" * 30)[: 2 if plain else 4])]
    if random.random() < 0.3:
        words += [
            "--sharpen",
            random.choice(("0.3", "1", "nan", "1.5", "1e-320")[: 2 if plain else 5]),
        ]
    if random.random() < 0.3:
        words += ["--denoise", random.choice(("strong", "medium", "light"))]
    files = {"in/film.y4m": films.y4m(random, 48, 32, 3), "in/p.npy": harmed}
    return Case(words, files, ("out/result.mkv",), note)
