"""Films whose container has no times: what rate is taken, that it is said, and `fps`."""

import io
import os
import struct
import threading
from contextlib import closing
from fractions import Fraction

import numpy as np
import pytest

from snellen import upscale_file
from snellen.errors import InputError
from snellen.jobs import UpscaleJob, VideoOptions
from snellen.jobs.calls.previews import preview
from snellen.video.clip import Clip
from snellen.video.source.decode import Source
from support.cli import run
from support.video.clips import make

FRAMES = 6
SAID = "no frame rate is stated: 25 frames a second are taken (`fps` states another one)"


def y4m(path, rate):
    """Write a y4m of grey frames, whose header has these words about its rate."""
    head = " ".join(("YUV4MPEG2 W64 H48", *rate, "Ip C420jpeg"))
    frames = [b"FRAME\n" + bytes([40 * n]) * (64 * 48) + b"\x80" * (64 * 24) for n in range(FRAMES)]
    path.write_bytes(head.encode() + b"\n" + b"".join(frames))
    return path


def ser(path):
    """Write a SER of grey frames (the format's description, version 3)."""
    numbers = struct.pack("<7i", 0, 0, 0, 64, 48, 8, FRAMES)
    frames = [bytes([40 * n]) * (64 * 48) for n in range(FRAMES)]
    path.write_bytes(b"LUCAM-RECORDER" + numbers + bytes(136) + b"".join(frames))
    return path


UNSTATED = {
    "F0:0": lambda folder: y4m(folder / "a.y4m", ["F0:0"]),
    "F0:1": lambda folder: y4m(folder / "a.y4m", ["F0:1"]),
    "no F": lambda folder: y4m(folder / "a.y4m", []),
    "ser": lambda folder: ser(folder / "a.ser"),
    "mjpeg": lambda folder: make(
        folder / "a.mjpeg", codec="mjpeg", pix_fmt="yuvj420p", frames=FRAMES, size=(64, 48)
    ),
}


def opened(source, **clip):
    """Return the rate, the times of the frames in seconds and what is lost."""
    film = Source(source, Clip(**clip))
    times = [one.frame.pts * film.info.time_base for one in film.items() if one.frame is not None]
    film.close()
    return film.info.rate, times, film.info.picture.losses


@pytest.mark.cases
@pytest.mark.parametrize("kind", UNSTATED)
def test_a_rate_that_nobody_states_is_said_and_stated_by_fps(tmp_path, kind):
    source = UNSTATED[kind](tmp_path)
    rate, times, lost = opened(source)
    assert rate == 25 and SAID in lost
    assert times == [Fraction(n, 25) for n in range(FRAMES)]
    for fps in (Fraction(30), Fraction(24000, 1001)):
        rate, times, lost = opened(source, fps=fps)
        assert rate == fps and SAID not in lost
        assert times == [n / fps for n in range(FRAMES)]
    _, times, _ = opened(source, fps=Fraction(10), start=Fraction(2, 10), duration=Fraction(3, 10))
    assert times == [0, Fraction(1, 10), Fraction(2, 10)]


def test_standard_input(tmp_path):
    file = io.BytesIO(y4m(tmp_path / "a.y4m", ["F0:0"]).read_bytes())
    assert opened(file)[0] == 25
    file.seek(0)
    rate, times, lost = opened(file, fps=Fraction(50))
    assert rate == 50 and times[1] == Fraction(1, 50) and SAID not in lost


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["pipe.y4m", "pipe"])
def test_a_pipe_with_a_name(tmp_path, name):
    data = y4m(tmp_path / "a.y4m", ["F0:0"]).read_bytes()
    os.mkfifo(pipe := tmp_path / name)
    writer = threading.Thread(target=pipe.write_bytes, args=(data,), daemon=True)
    writer.start()
    how = {"method": "cnn-fast", "device": "cpu", "strict": True, "segments": False}
    upscale_file(pipe, tmp_path / "b.mkv", fps=50, **how)
    writer.join()
    with closing(Source(tmp_path / "b.mkv", Clip())) as source:
        assert source.info.rate == 50


def test_a_rate_that_is_stated_is_kept(tmp_path):
    """Also that of raw streams: their headers state it, and FFmpeg takes 25 all the same."""
    sources = [
        y4m(tmp_path / "a.y4m", ["F30:1"]),
        make(tmp_path / "a.mkv", rate=Fraction(30), frames=FRAMES),
    ]
    for suffix, codec in (("h264", "libx264"), ("hevc", "libx265"), ("m2v", "mpeg2video")):
        sources.append(
            make(tmp_path / f"a.{suffix}", codec=codec, rate=Fraction(30), frames=FRAMES)
        )
    for source in sources:
        rate, times, lost = opened(source)
        assert rate == 30 and SAID not in lost, source
        steps = np.diff([float(one) for one in times])
        assert steps == pytest.approx(1 / 30, abs=1e-3), source  # Matroska's clock
        with pytest.raises(InputError, match=r"has 30 frames a second; `?fps"):
            opened(source, fps=Fraction(24))


@pytest.mark.parametrize("target", ["b.mkv", "b.y4m"])
def test_files_that_are_made(tmp_path, target):
    source, target = y4m(tmp_path / "a.y4m", ["F0:0"]), tmp_path / target
    how = {"method": "cnn-fast", "device": "cpu", "overwrite": True}
    assert upscale_file(source, target, **how).warnings == (SAID,)
    assert upscale_file(source, target, fps="30", strict=True, **how).warnings == ()
    assert opened(target)[0] == 30
    with pytest.raises(InputError, match=r"strict.*no frame rate is stated"):
        upscale_file(source, target, strict=True, **how)


def test_the_command(tmp_path, capsys):
    source = y4m(tmp_path / "a.y4m", ["F0:0"])
    words = ["upscale", source, "-o", tmp_path / "b.y4m", "--method", "cnn-fast", "--device", "cpu"]
    assert run(*words, "--fps", 12) == 0
    assert "frame rate" not in capsys.readouterr().err
    assert b" F12:1 " in (tmp_path / "b.y4m").read_bytes()[:80]
    assert run(*words, "--overwrite") == 0
    assert "(--fps states another one)" in capsys.readouterr().err
    words = ["deblur", source, "-o", tmp_path / "c.y4m", "--prior", "none", "--iterations", 1]
    assert run(*words, "--frames", 1, "--device", "cpu", "--fps", 12) == 0
    assert b" F12:1 " in (tmp_path / "c.y4m").read_bytes()[:80]


def test_previews_are_at_the_places_of_that_rate(tmp_path, small_model):
    job = UpscaleJob(
        source=y4m(tmp_path / "a.y4m", ["F0:0"]), target=tmp_path / "b.mkv", model=small_model,
        device="cpu", video=VideoOptions(fps=Fraction(2)),
    )  # fmt: skip
    assert job.video.clip.fps == 2
    assert preview(job, tmp_path / "p.html", count=1).pictures
    page = (tmp_path / "p.html").read_text()
    assert "2 a second" in page and "25 a second" not in page


@pytest.mark.cases
@pytest.mark.parametrize("fps", [0, -1, True, "fast", 10**10, [25]])
def test_a_clip_takes_frames_a_second(fps):
    assert Clip(fps=30).fps == Fraction(30) and Clip(fps=23.976).fps == Fraction(24000, 1001)
    with pytest.raises(InputError, match=r"fps.*expected pictures a second"):
        Clip(fps=fps)
