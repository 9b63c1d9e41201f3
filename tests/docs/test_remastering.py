"""Every command of docs/remastering.md, run by a shell on small films, and what it made."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from support.video.clips import make

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "remastering.md").read_text(encoding="utf-8")
SECTIONS = {
    title: re.findall(r"```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for title, text in (part.split("\n", 1) for part in TEXT.split("\n## ")[1:])
}
pytestmark = pytest.mark.slow


def photo(path):
    """A picture with edges, shaken along a line."""
    random = np.random.default_rng(5)
    picture = np.kron(random.integers(30, 220, (9, 12)), np.ones((14, 14))).astype(float)
    shaken = np.mean([np.roll(picture, (k // 2, k), (0, 1)) for k in range(6)], axis=0)
    Image.fromarray(np.rint(shaken).astype(np.uint8)).save(path, quality=95)


def prepare(folder):
    """Make the inputs that the page names."""
    small, tagged = {"size": (96, 64), "frames": 6}, (1, 1, 1, 1)
    make(folder / "00001.m2ts", size=(1920, 1080), frames=1, audio="ac3", colour=tagged)
    make(folder / "tape.avi", codec="dvvideo", size=(720, 576), pix_fmt="yuv420p", frames=4,
         fields="woven", aspect=Fraction(16, 15))  # fmt: skip
    make(folder / "recording.ts", fields="telecined", rate=Fraction(30000, 1001), frames=40)
    times = [0, 3, 7, 10, 14, 17]
    make(folder / "phone.mp4", times=times, time_base=Fraction(1, 90), rotation=90, audio="aac",
         **small)  # fmt: skip
    make(
        folder / "anime.mkv", size=(960, 540), frames=1, attachments=(("a.ttf", "font/ttf", b"x"),)
    )
    for name in ("archive.mkv", "film.mkv"):
        make(folder / name, audio="aac", colour=tagged, **small)
    photo(folder / "photo.jpg")
    rows = (f"{r} {g * g:g} {b}" for b in (0, 1) for g in (0, 1) for r in (0, 1))
    (folder / "look.cube").write_text("LUT_3D_SIZE 2\n" + "\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the inputs, and the command in one of its own."""
    folder = tmp_path_factory.mktemp("remastering")
    prepare(folder)
    (folder / "bin").mkdir()
    command = folder / "bin" / "snellen"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m snellen "$@"\n')
    command.chmod(0o755)
    return folder


def run(folder, title):
    """Run the shell's lines of a section; return what they print."""
    lines = "".join(text for language, text in SECTIONS[title] if language == "sh")
    path = [f"{folder}/bin", str(Path(sys.executable).parent), os.environ["PATH"]]
    place = {
        "PATH": os.pathsep.join(path), "PYTHONPATH": str(ROOT / "src"),
        "SNELLEN_CONFIG": str(folder), "XDG_CONFIG_HOME": str(folder), "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", lines],
        cwd=folder, env={**os.environ, **place}, capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def facts(path):
    with av.open(str(path)) as file:
        video = file.streams.video[0]
        frames = sum(1 for _ in file.decode(video))
        context = video.codec_context
        return context.name, (context.width, context.height), context.pix_fmt, frames


def needs(*programs):
    for program in programs:
        if (
            shutil.which(program, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
            is None
        ):
            pytest.skip(f"there is no {program} program here")


def test_every_section_is_here():
    tests = {word for name in globals() if name.startswith("test_") for word in [name]}
    assert len(SECTIONS) == 9 and len(tests) == 10
    for blocks in SECTIONS.values():
        assert any(language == "sh" for language, _ in blocks)


def test_blu_ray(folder):
    said = run(folder, "A Blu-ray as 4K HEVC with a colour table")
    assert facts(folder / "film-4k.mkv") == ("hevc", (3840, 2160), "yuv420p10le", 1)
    assert re.search("chain: 1920×1080 .*→ upscale ×2 → .*lut", said), said


def test_tape(folder):
    run(folder, "An interlaced tape, or a recording of television")
    assert facts(folder / "tape.mkv") == ("h264", (1440, 1080), "yuv420p", 8)
    assert facts(folder / "cinema.mkv")[1:] == ((128, 96), "yuv420p", 32)


def test_telephone(folder):
    run(folder, "A noisy clip from a telephone")
    assert facts(folder / "phone-x2.mp4")[3] == 6
    assert all((folder / name).is_file() for name in ("phone.html", "phone-preview.html"))


def test_animation(folder):
    run(folder, "Drawn animation")
    assert facts(folder / "anime-1440p.mkv") == ("hevc", (2560, 1440), "yuv420p10le", 1)


def test_archive(folder):
    run(folder, "An archive film whose grain stays")
    for name in ("archive-x2.mkv", "regrained.mkv"):
        assert facts(folder / name)[1] == (192, 128)


def test_encoders(folder):
    make(folder / "film.mkv", audio="aac", size=(96, 64), frames=6)
    run(folder, "Encoders compared, with curves")
    assert (folder / "encoders.html").is_file()
    assert len((folder / "x265.csv").read_text().splitlines()) == 7


def test_photograph(folder):
    run(folder, "A photograph that was shaken")
    assert all((folder / name).is_file() for name in ("blur.png", "large.png", "photo.html"))


def test_script(folder):
    needs("vspipe", "ffmpeg")
    title = "A VapourSynth script"
    (script,) = [text for language, text in SECTIONS[title] if language == "python"]
    (folder / "script.vpy").write_text(script)
    words = [f"{Path(sys.executable).parent}/vapoursynth", "config"]
    place = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
    subprocess.run(words, check=True, env=place, capture_output=True)
    run(folder, title)
    assert facts(folder / "script.mkv")[1:] == ((640, 360), "yuv420p10le", 5)


def test_pipes(folder):
    needs("ffmpeg")
    make(folder / "film.mkv", audio="aac", size=(96, 64), frames=6)
    run(folder, "Pipes")
    assert facts(folder / "piped.mkv")[1:] == ((192, 128), "yuv420p10le", 6)
    assert len((folder / "noise.csv").read_text().splitlines()) == 7
