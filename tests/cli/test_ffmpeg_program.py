"""y4m pipes from and to the real ffmpeg program; without it these tests skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import snellen

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

SIZE, FRAMES = (96, 64), 7
TWICE = (192, 128)
FORMATS = ("yuv420p", "gray", "yuv422p10le", "yuv444p16le")


@pytest.fixture(scope="module")
def ffmpeg():
    """Run ffmpeg on a line of words; return what it writes."""
    if (program := shutil.which("ffmpeg")) is None:
        pytest.skip("there is no ffmpeg program here")

    def run(line, data=None):
        words = [program, "-loglevel", "error", "-nostdin", *line.split()]
        return subprocess.run(
            words, input=data, capture_output=True, check=True, timeout=100
        ).stdout

    return run


def piped(*words, data):
    """What the command writes, fed through standard input."""
    command = [sys.executable, "-m", "snellen", *words, "--device", "cpu", "-q"]
    place = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        command, input=data, capture_output=True, timeout=100, env=os.environ | place
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def source(format):
    size = "x".join(map(str, SIZE))
    return f"-f lavfi -i testsrc2=size={size}:rate=30000/1001 -frames:v {FRAMES} -pix_fmt {format}"


def raw(ffmpeg, data):
    return np.frombuffer(ffmpeg("-f yuv4mpegpipe -i - -f rawvideo -", data), np.uint8)


@pytest.mark.parametrize("format", FORMATS)
def test_between_two_ffmpegs(ffmpeg, tmp_path, format):
    """ffmpeg … | snellen upscale - -o - | ffmpeg …: the frames are those of files."""
    given = ffmpeg(f"{source(format)} -strict -1 -f yuv4mpegpipe -")
    larger = piped("upscale", "-", "-o", "-", "--source", "clean", data=given)
    ffmpeg(f"-f yuv4mpegpipe -i - -c:v ffv1 -strict -1 {tmp_path}/out.mkv", larger)
    (tmp_path / "in.y4m").write_bytes(given)
    made = snellen.upscale_file(
        tmp_path / "in.y4m",
        tmp_path / "file.mkv",
        codec="ffv1",
        source_kind="clean",
        device="cpu",
    )
    assert made.summary.frames == FRAMES and (made.width, made.height) == TWICE
    frames = [
        ffmpeg(f"-i {tmp_path}/{name}.mkv -f rawvideo -pix_fmt {format} -")
        for name in ("out", "file")
    ]
    assert frames[0] == frames[1] and len(frames[0]) >= FRAMES * TWICE[0] * TWICE[1]
    times = ffmpeg(f"-i {tmp_path}/out.mkv -f framecrc -").decode()
    assert "#tb 0: 1001/30000" in times and times.count("\n0,") == FRAMES


def test_a_score_of_what_ffmpeg_pipes(ffmpeg, tmp_path):
    ffmpeg(f"{source('yuv420p')} -c:v ffv1 {tmp_path}/a.mkv")
    worse = ffmpeg(f"-i {tmp_path}/a.mkv -vf boxblur=2 -f yuv4mpegpipe -")
    out = piped("score", f"{tmp_path}/a.mkv", "-", "--csv", "-", data=worse).decode()
    rows = [line.split(",") for line in out.splitlines()]
    assert len(rows) == FRAMES + 1
    assert all(float(row[rows[0].index("mad")]) > 1 for row in rows[1:])


def test_what_ffmpeg_encodes_of_a_pipe_is_what_was_piped(ffmpeg):
    given = ffmpeg(f"{source('yuv420p')} -f yuv4mpegpipe -")
    same = piped("deblur", "-", "-o", "-", "--iterations", "1", "--psf-size", "1", data=given)
    both = [raw(ffmpeg, one).astype(int).reshape(FRAMES, -1) for one in (given, same)]
    luma = SIZE[0] * SIZE[1]
    assert (both[0][:, luma:] == both[1][:, luma:]).all()  # chroma is not touched
    assert np.abs(both[0] - both[1]).mean() < 2  # a PSF of one pixel changes nothing but rounding
