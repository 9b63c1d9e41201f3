"""Commands over one harmed file: films, pictures, models, PSFs, positions, settings, jobs, LUTs."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import commands, films, kinds, names, pictures
from fuzz.case import Case, Random
from fuzz.kinds import kind, odd, perhaps
from fuzz.mutators import mutated


@kind(10)
def film(random: Random) -> Case:
    """A harmed film that is converted."""
    made, data = films.drawn(random)
    harmed, note = perhaps(random, data, films.drawn(random)[1])
    source = "in/film" + (made.suffix if random.random() < 0.9 else ".mkv")
    words, outputs = commands.film(random, source)
    partly = {"--frames", "--start", "--duration", "--strict", "--deinterlace", "--ivtc"} & set(
        words
    )
    return Case(words, {source: harmed}, outputs, f"{made.codec} in {made.format}: {note}",
                whole=note == "whole" and not partly, film=None if partly else source,
                original=data)  # fmt: skip


@kind(2)
def film_score(random: Random) -> Case:
    """A harmed film that is compared with what it was."""
    made, data = films.drawn(random, commands.SCORED)
    harmed, note = perhaps(random, data)
    ours, theirs = "in/reference" + made.suffix, "in/distorted" + made.suffix
    pair = (ours, theirs) if random.random() < 0.7 else (theirs, ours)
    words, outputs = commands.score(random, *pair)
    return Case(words, {ours: data, theirs: harmed}, outputs, f"{made.codec}: {note}",
                whole=note == "whole", film=theirs, original=data)  # fmt: skip


@kind(1)
def pipe(random: Random) -> Case:
    """A harmed y4m on standard input."""
    data = films.y4m(random, 48, 32, random.randrange(1, 6))
    harmed, note = perhaps(random, data)
    words = ["upscale", "-", "--device", "cpu", "-o", "out/result.y4m"]
    return Case(words, {"in/pipe.y4m": harmed}, ("out/result.y4m",), note, stdin="in/pipe.y4m",
                whole=note == "whole")  # fmt: skip


@kind(8)
def picture(random: Random) -> Case:
    """A harmed picture that is converted."""
    suffix, data = pictures.drawn(random)
    harmed, note = perhaps(random, data, pictures.drawn(random)[1])
    source = "in/picture" + (suffix if random.random() < 0.9 else ".png")
    words, outputs = commands.picture(random, source, suffix)
    return Case(words, {source: harmed}, outputs, f"{suffix}: {note}")


@kind(1)
def picture_score(random: Random) -> Case:
    """A harmed picture that is compared with what it was."""
    suffix, data = pictures.drawn(random, commands.SCORED)
    harmed, note = perhaps(random, data)
    ours, theirs = "in/reference" + suffix, "in/distorted" + suffix
    words, outputs = commands.score(random, ours, theirs)
    return Case(words, {ours: data, theirs: harmed}, outputs, f"{suffix}: {note}")


@kind(1)
def folder(random: Random) -> Case:
    """A folder of films and pictures, most of them whole."""
    files, outputs = {}, []
    for number in range(random.randrange(1, 5)):
        suffix, data = pictures.drawn(random)
        if random.random() < 0.3:
            made, data = films.drawn(random)
            suffix = made.suffix
        if random.random() < 0.5:
            data = mutated(random, data)[0]
        stem = names.hostile(random) if random.random() < 0.3 else "file"
        files[f"in/{number}{stem[:230]}{suffix}"] = data
        outputs += [f"out/{number}{stem[:230]}{end}" for end in (suffix, ".mkv", ".png")]
    words = ["upscale", "in", "--device", "cpu", *commands.FAST, "-o", "out"]
    return Case(words, files, tuple(outputs), "folder")


@kind(0.5)
def folder_score(random: Random) -> Case:
    """Two folders of pictures, which meet by their names."""
    files = {}
    for number in range(random.randrange(1, 4)):
        suffix, data = pictures.drawn(random, commands.SCORED)
        stem = names.hostile(random)[:200] if random.random() < 0.3 else "file"
        for side in ("in/a", "in/b"):
            harmed = perhaps(random, data)[0] if random.random() < 0.4 else data
            files[f"{side}/{number}{stem}{suffix}"] = harmed
    words, outputs = commands.score(random, "in/a", "in/b")
    return Case(words, files, outputs, "folders")


@kind(0.3)
def training(random: Random) -> Case:
    """A folder of pictures, one of them harmed, from which a model is learnt."""
    files = {}
    for number in range(4):
        suffix, data, note = ".png", pictures.grey(random, 48, 40), "whole"
        if number == 0:
            suffix, data = pictures.drawn(random, (48, 40))
            data, note = perhaps(random, data)
        files[f"in/{number}{suffix}"] = data
    words = ["train", "--images", "in", "--anchors", "4", "--samples", "400", "--iterations", "1",
             "--neighbours", "16", "-o", "out/model.safetensors"]  # fmt: skip
    return Case(words, files, ("out/model.safetensors",), note)


@kind(2)
def model(random: Random) -> Case:
    """A harmed model."""
    noise = np.random.default_rng(random.randrange(1 << 30))
    anchors = noise.normal(size=(6, 5)).astype(np.float32)
    anchors /= np.linalg.norm(anchors, axis=1, keepdims=True)
    basis = np.linalg.qr(noise.normal(size=(144, 5)))[0].astype(np.float32)
    projections = noise.normal(size=(6, 36, 5)).astype(random.choice(("f2", "f4")))
    data = safetensors({"anchors": anchors, "basis": basis, "projections": projections})
    harmed, note = perhaps(random, data)
    return _beside(random, "model.safetensors", harmed, note, "--model", "upscale")


def safetensors(tensors: dict[str, np.ndarray]) -> bytes:
    """Return a model file. (The library writes the header in another order each time.)"""
    header: dict = {"__metadata__": {"format": "snellen-aplus-1", "scale": "2", "window": "3"}}
    start = 0
    for name, one in tensors.items():
        kind, end = f"F{8 * one.itemsize}", start + one.nbytes
        header[name] = {"dtype": kind, "shape": one.shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(header).encode()
    samples = b"".join(one.tobytes() for one in tensors.values())
    return len(text).to_bytes(8, "little") + text + samples


@kind(2)
def psf(random: Random) -> Case:
    """A harmed PSF."""
    noise = np.random.default_rng(random.randrange(1 << 30))
    samples = 1 + 9 * noise.random(random.choice(((5, 5), (3, 3), (5, 5), (2, 5, 5), (1, 1))))
    out, suffix = BytesIO(), ".npy"
    np.save(out, samples.astype(random.choice(("f4", "f8", "f2", "u1", ">f8"))))
    data = out.getvalue()
    if random.random() < 0.3:
        suffix, data = random.choice((".png", ".pgm")), pictures.grey(random, 5, 5)
    harmed, note = perhaps(random, data)
    option = random.choice(("--psf", "--psf-start"))
    return _beside(random, "psf" + suffix, harmed, note, option, "deblur")


@kind(1)
def positions(random: Random) -> Case:
    """A harmed file of positions."""
    count = random.choice((5, 5, 12, 1))
    text = "# x,y\n" + "".join(f"{random.randrange(20)},{random.randrange(20)}\n"
                               for _ in range(count))  # fmt: skip
    harmed, note = perhaps(random, text.encode())
    film = films.y4m(random, 48, 40, 5)
    words = ["deblur", "in/film.y4m", "--device", "cpu", "-o", "out/result.y4m", "--roi", "16,16",
             "--roi-file", "in/positions.txt", "--iterations", "1", "--psf-size", "3"]  # fmt: skip
    files = {"in/film.y4m": film, "in/positions.txt": harmed}
    return Case(words, files, ("out/result.y4m",), note)


@kind(1)
def configuration(random: Random) -> Case:
    """A harmed snellen.toml, which --config names."""
    values = ("0.5", "3", "true", '"x"', '"libx264"', '["a=b"]', "[]", "{}", "1e400", "nan", "-1",
              "1979-05-27", '"x.npy"', "99999999999999999999")  # fmt: skip
    keys = ("scale", "model", "codec", "encoder-option", "log", "quality", "deinterlace", "threads",
            "config", "x", "help", "output", "verbose", "json")  # fmt: skip
    tables = ("upscale", "recipe.r.upscale", "recipe.r", "recipe", "score", "bench.mad", "doctor")
    text = '[recipe.r.upscale]\ncrf = 20\n[score]\nmetrics = "mad,psnr"\n'
    harmed, note = perhaps(random, text.encode())
    if note != "whole":
        for table in random.sample(tables, 2):
            pairs = {random.choice(keys): random.choice(values) for _ in range(2)}
            harmed += f"\n[{table}]\n".encode()
            harmed += "".join(f"{key} = {value}\n" for key, value in pairs.items()).encode()
    words = ["upscale", "in/a.png", "--device", "cpu", "--config", "in/snellen.toml"]
    words += ["--recipe", "r", "-o", "out/result.png"]
    files = {"in/a.png": pictures.grey(random, 40, 36), "in/snellen.toml": harmed}
    return Case(words, files, ("out/result.png",), note, whole=note == "whole")


@kind(2)
def name(random: Random) -> Case:
    """A whole file under a hostile name, beside files that a pattern or a URL would take."""
    if random.random() < 0.75:
        suffix, data = pictures.drawn(random)
        ends = (suffix, suffix)
    else:
        drawn, data = films.drawn(random)
        suffix, ends = drawn.suffix, (".y4m", ".y4m")
    stem = names.hostile(random)
    stem = stem.encode(errors="surrogateescape")[: 250 - len(suffix)].decode(
        errors="surrogateescape"
    )
    files = {f"in/{one}": pictures.drawn(random)[1] for one in names.decoys(stem, suffix)}
    files[f"in/{stem}{suffix}"] = data
    words = ["upscale", f"in/{stem}{suffix}", "--device", "cpu", "-o", f"out/result{ends[0]}"]
    twin = ["upscale", f"twin/a{suffix}", "--device", "cpu", "-o", f"out/twin{ends[1]}"]
    return Case(words, files, (words[-1], twin[-1]), f"name {stem!r}", twin=twin,
                twin_files={f"twin/a{suffix}": data})  # fmt: skip


@kind(1.5)
def job(random: Random) -> Case:
    """A job's JSON with odd values, over whole files."""
    from snellen import jobs

    source = Path(random.choice(("in/a.png", "in/a.y4m")))
    target = Path("out/result" + source.suffix)
    video = jobs.VideoOptions(jobs.Clip(frames=2), jobs.Encoding(options={}))
    made: Any = random.choice((
        jobs.UpscaleJob(source=source, target=target, device="cpu", video=video),
        jobs.DeblurJob(source=source, target=target, device="cpu", video=video,
                       region=jobs.Region(16, 16), mia=jobs.MiaSettings(psf=_CROSS, iterations=2)),
        jobs.DeblurJob(source=source, target=target, device="cpu", psf_out=Path("out/psf.npy"),
                       mia=jobs.MiaSettings(psf_size=3, iterations=2)),
        jobs.ScoreJob(reference=source, distorted=source, device="cpu",
                      table=Path("out/table.csv")),
    ))  # fmt: skip
    note = "whole" if random.random() < kinds.WHOLE else "odd values"
    facts = json.loads(made.to_json())
    text = json.dumps(facts if note == "whole" else odd(random, facts)).encode()
    if note != "whole" and random.random() < 0.2:
        text = mutated(random, text)[0]
    files = {"in/job.json": text, "in/a.png": pictures.grey(random, 80, 72),
             "in/a.y4m": films.y4m(random, 80, 72, 3)}  # fmt: skip
    return Case(["job", "in/job.json"], files, ("",), note, whole=note == "whole")


_CROSS = [[0, 1, 0], [1, 2, 1], [0, 1, 0]]


def _beside(random: Random, file: str, data: bytes, note: str, option: str, command: str) -> Case:
    """Return a case whose command reads a whole picture, and a harmed file by an option."""
    words = [command, "in/a.png", "--device", "cpu", option, f"in/{file}", "-o", "out/result.png"]
    if command == "deblur":
        words += ["--iterations", "2"]
    picture = pictures.grey(random, 40, 36)
    return Case(words, {"in/a.png": picture, f"in/{file}": data}, ("out/result.png",), note)


@kind(1)
def lut(random: Random) -> Case:
    """A harmed table of colours, which a film goes through."""
    size, shades = random.choice((2, 3, 5)), random.random() < 0.3
    lines = [f"LUT_1D_SIZE {size**2}" if shades else f"LUT_3D_SIZE {size}"]
    if random.random() < 0.5:
        lines.insert(random.randrange(2), 'TITLE "a look"')
    if random.random() < 0.3:
        lines += ["DOMAIN_MIN -0.5 0 0", "DOMAIN_MAX 1 1.5 1", "# colours"]
    count = size**2 if shades else size**3
    lines += [" ".join(f"{random.uniform(-0.1, 1.1):.5f}" for _ in range(3)) for _ in range(count)]
    end = random.choice(("\n", "\r\n"))
    harmed, note = perhaps(random, (end.join(lines) + end).encode())
    words = ["upscale", "in/film.y4m", "--device", "cpu", "--lut", "in/look.cube",
             "-o", "out/result.y4m"]  # fmt: skip
    files = {"in/film.y4m": films.y4m(random, 48, 32, 2), "in/look.cube": harmed}
    return Case(words, files, ("out/result.y4m",), note)


_FILTERS = (
    "null", "hflip", "vflip", "transpose", "scale=32:24", "crop=20:20", "fps=7", "fps=60",
    "framestep=2", "setpts=2*PTS", "setpts=PTS/3", "select=mod(n\\,2)", "tblend", "atadenoise=s=5",
    "format=gray", "format=yuv444p10le", "format=rgb24", "curves=vintage", "negate", "deband",
    "gradfun", "unsharp", "cas", "tile=2x1", "pad=100:90", "setsar=2", "trim=start=0.05", "tpad=2",
    "loop=3:2", "reverse", "telecine", "separatefields", "thumbnail=2", "drawbox",
    "fade", "noise=alls=9", "minterpolate=fps=40", "rotate=0.3", "colorspace=all=bt709:iall=bt709",
    "lut3d=in/none.cube", "metadata=print", "settb=1/7", "setfield=tff", "bwdif", "palettegen",
)  # fmt: skip


@kind(1)
def chain(random: Random) -> Case:
    """A chain of FFmpeg's filters, some of them harmed, before or after the frames are enlarged."""
    words = random.choices(_FILTERS, k=random.choice((1, 1, 2, 3, 5)))
    text = ",".join(words)
    note = f"filters {text}"
    if random.random() < 0.4:
        at = random.randrange(len(text))
        text = text[:at] + random.choice("'\\[];,=:@ %0-9e\n*") + text[at + random.choice((0, 1)) :]
        note += f", as {text!r}"
    option = random.choice(("--vf", "--post-vf"))
    target = "out/result" + random.choice((".mkv", ".mp4", ".y4m"))
    command = ["upscale", "in/film.y4m", "--device", "cpu", "--model", "t91-x2", *commands.LIMIT,
               f"{option}={text}", "-o", target]  # fmt: skip
    command += random.choice(([], ["--deband"], ["--denoise", "light"], ["--crop", "40:32:4:0"],
                              ["--pix-fmt", "yuv420p10le"], ["--sharpen", "1"]))  # fmt: skip
    return Case(command, {"in/film.y4m": films.y4m(random, 48, 32, 5)}, (target,), note)
