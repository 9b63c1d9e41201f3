"""Every Python and shell block of README and docs is run here, or says why not.

A comment before a block, `<!-- not run: the reason -->`, leaves it out. The Python blocks of a page
are run one after another in one namespace, which begins with the names of `samples`. Of shell
blocks every line is a `snellen` command, run in a folder that holds the files of `files`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.cli import main
from support.video.clips import make

ROOT = Path(__file__).parents[2]
APART = "remastering.md"  # whose commands test_remastering.py runs, on films of their own
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if page.name != APART]
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+?) -->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SHELL = ("sh", "console", "bash")
SIZE = (480, 736)  # of the pictures: the regions in the examples lie inside


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    reason: str | None


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page.name,
            text.count("\n", 0, found.start("text")),
            found["language"],
            found["text"],
            found["reason"],
        )
        for found in FENCE.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks(page)]
QUICK = ("README.md", "start.md")  # the other pages are run by the slow tests


def by_page(value, page):
    """Return a test's parameter, marked slow unless the page is one of the first that one reads."""
    return pytest.param(value, marks=() if page in QUICK else pytest.mark.slow)


COMMANDS = [
    by_page(block, block.page)
    for block in BLOCKS
    if block.language in SHELL and block.reason is None
]
WITH_PYTHON = [
    by_page(page, page)
    for page in sorted({b.page for b in BLOCKS if b.language == "python" and b.reason is None})
]


def scene(random, height, width):
    """Draw a picture with edges, smooth parts and a little noise, uint8."""
    rows, columns = np.mgrid[:height, :width]
    waves = 110 + 60 * np.sin(columns / 9) * np.cos(rows / 7)
    boxes = 50 * ((rows // 16 + columns // 16) % 2)
    noise = random.normal(0, 2, (height, width))
    return np.clip(waves + boxes + noise, 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("pages")
    random = np.random.default_rng(2026)
    small = np.stack([scene(random, 60, 80)] * 3, axis=-1)
    Image.fromarray(small).save(folder / "photo.png")
    Image.fromarray(small).save(folder / "photo.tif")
    Image.fromarray(small).save(folder / "photo.jpg", quality=30)
    for name in ("film.mkv", "film.mp4", "encoded.mp4"):
        options = {"options": {"crf": "40"}} if name.startswith("encoded") else {}
        make(folder / name, size=SIZE[::-1], frames=3, rate=Fraction(1), **options)
    for part, suffix, quality in (("originals", "png", None), ("encoded", "jpg", 20)):
        (folder / part).mkdir()
        for number in range(2):
            picture = Image.fromarray(scene(random, 48, 64))
            picture.save(folder / part / f"{number}.{suffix}", quality=quality or 95)
    (folder / "haze").mkdir()
    for number in range(3):
        Image.fromarray(scene(random, 48, 64)).save(folder / "haze" / f"{number}.png")
    (folder / "images").mkdir()
    for number in range(3):
        Image.fromarray(scene(random, 96, 96)).save(folder / "images" / f"{number}.png")
    taps = np.exp(-(np.arange(-4, 5) ** 2) / 4.0)
    blur = np.outer(taps, taps)
    np.save(folder / "psf.npy", blur.astype(np.float32))
    Image.fromarray(np.uint8(255 * blur)).save(folder / "point.png")
    page = [block for block in BLOCKS if block.page == "configuration.md"]
    (settings,) = [block.text for block in page if block.language == "toml"]
    (folder / "snellen.toml").write_text(settings.replace("~/", f"{folder}/"), encoding="utf-8")
    (folder / "track.txt").write_text("".join(f"{4 * n},{3 * n}\n" for n in range(3)))
    return folder


@pytest.fixture
def samples(files):
    """The names that the Python blocks take for given."""
    random = np.random.default_rng(7)
    image = scene(random, 64, 64)
    other = np.clip(image + random.normal(0, 8, image.shape), 0, 255).astype(np.uint8)
    taps = np.exp(-(np.arange(-3, 4) ** 2) / 3.0)
    full = scene(random, 270, 480).astype(np.uint16) << 2
    half = np.full((135, 240), 512, np.uint16)
    return {
        "image": image, "images": np.stack([image, other]), "frames": np.stack([image] * 3),
        "reference": image, "distorted": other, "many": np.stack([other, image]),
        "several": [other, other], "references": [image, image], "a": image, "b": other,
        "psf": np.outer(taps, taps), "regions": [image, other],
        "y": full, "u": half, "v": half, "show": lambda number, picture: None,
        "camera": [(scene(random, 96, 128), (4, 5))] * 3,
    }  # fmt: skip


def test_each_block_names_its_language():
    wanted = {
        *SHELL, "python", "text", "json", "toml", "yaml", "cuda", "eval", "toctree", "dockerfile",
    }  # fmt: skip
    assert {block.language for block in BLOCKS if "{" not in block.text[:1]} <= wanted | {""}


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_PYTHON)
def test_python(page, samples, files, monkeypatch):
    monkeypatch.chdir(files)
    namespace = dict(samples)
    for block in BLOCKS:
        if block.page == page and block.language == "python" and block.reason is None:
            code = compile("\n" * block.line + block.text, page, "exec")
            exec(code, namespace)


def commands(block):
    """Return the commands of a block; a backslash at a line's end continues it."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words:
            yield words


@pytest.mark.parametrize("block", COMMANDS, ids=lambda block: f"{block.page}:{block.line}")
def test_shell(block, files, monkeypatch, signals, capsys):
    monkeypatch.chdir(files)
    if block.page == "configuration.md":
        monkeypatch.setenv("SNELLEN_CONFIG", str(files))
    for words in commands(block):
        assert words[0] == "snellen", f"not a command of ours: say why it is not run: {words}"
        arguments = []
        for word in words[1:]:
            found = sorted(map(str, Path().glob(word))) if "*" in word else []
            arguments += found or [word]
        writes = words[1] in ("upscale", "deblur") or {"-o", "--csv", "--map-out"} & {*words}
        if writes and "--skip-existing" not in words:
            arguments.append("--overwrite")
        code = 0
        try:
            main(arguments)
        except SystemExit as ended:
            code = ended.code or 0
        assert code == 0, f"{words}: {capsys.readouterr().err}"
