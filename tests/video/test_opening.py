"""Films: their sizes are limited before they are decoded; pipes with names; names of 255 bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import av
import pytest

from snellen.errors import InputError
from snellen.frames import limits
from snellen.video.clip import Clip
from snellen.video.source.decode import Source
from support.video.checks import FAST, refused
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest


@pytest.mark.parametrize("size", [10**9, 30_000])
def test_y4m_that_claims_much(tmp_path, size):
    source = tmp_path / "in.y4m"
    source.write_bytes(b"YUV4MPEG2 W%d H%d F25:1 Ip C420\nFRAME\n" % (size, size))
    refused(source, tmp_path / "out.mp4", f"got {size}×{size}, .* pixels; expected at most")
    with source.open("rb") as stream, pytest.raises(InputError, match=f"got {size}×{size}"):
        Source(stream, Clip())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.mkv", "a.mp4", "a.flv", "a.ts", "a.avi"])
def test_films_beyond_the_limit(tmp_path, name):
    source = tmp_path / name
    with av.open(str(source), "w") as out:
        stream = out.add_stream("libx264" if name != "a.avi" else "mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for _ in range(3):
            out.mux(stream.encode(av.VideoFrame(320, 240, "yuv420p")))
        out.mux(stream.encode(None))
    with limits.at_most(320 * 240):
        convert(source, tmp_path / "out.mkv", Nearest(), encoding=FAST)
    with limits.at_most(320 * 240 - 1):
        refused(source, tmp_path / "no.mkv", "got 320×240, 76,800 pixels; expected at most 76,799")


def test_pictures_that_grow_beyond_the_limit(tmp_path):
    """In the middle of a stream: what came before is kept, and the loss is said."""
    parts = []
    for size in (64, 640):
        encoder = av.CodecContext.create("mpeg4", "w")
        encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = size, size, "yuv420p", 1
        frames = [av.VideoFrame(size, size, "yuv420p") for _ in range(3)]
        parts += [bytes(p) for f in [*frames, None] for p in encoder.encode(f)]
    source = tmp_path / "in.m4v"
    source.write_bytes(b"".join(parts))
    with limits.at_most(64 * 64):
        opened = Source(source, Clip())
        items = list(opened.items())
    assert 1 <= sum(item.frame is not None for item in items) <= 3
    assert opened.report().damage
    opened.close()


@pytest.mark.parametrize("name", ["in.mkv", "in.y4m", "in"])
def test_a_pipe_with_a_name(plain, tmp_path, name):
    fifo = tmp_path / name
    os.mkfifo(fifo)
    data = plain.read_bytes()
    if name == "in.y4m":
        convert(plain, tmp_path / "made.y4m", Nearest())
        data = (tmp_path / "made.y4m").read_bytes()
    thread = threading.Thread(target=fifo.write_bytes, args=(data,))
    thread.start()
    convert(fifo, tmp_path / "out.mkv", Nearest(), encoding=FAST)
    thread.join()
    assert len(read(tmp_path / "out.mkv").frames) == 25


def target_of(link):
    """Return what a descriptor of another process is; "": it has been closed meanwhile."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["in.mkv", "in.png"])
def test_signals_while_a_pipe_opens(tmp_path, number, name):
    os.mkfifo(tmp_path / name)
    process = subprocess.Popen(
        [sys.executable, "-m", "snellen", "upscale", name, "-o", f"out{Path(name).suffix}",
         "--device", "cpu"],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    descriptors = Path(f"/proc/{process.pid}/fd")
    while str(tmp_path / name) not in map(target_of, descriptors.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    assert "interrupted" in process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_links_are_followed(plain, tmp_path):
    (tmp_path / "link.mkv").symlink_to(plain)
    (tmp_path / "loop.mkv").symlink_to("loop.mkv")
    (tmp_path / "broken.mkv").symlink_to("none.mkv")
    Source(tmp_path / "link.mkv", Clip()).close()
    refused(tmp_path / "broken.mkv", tmp_path / "out.mkv", "no such file")
    refused(tmp_path / "loop.mkv", tmp_path / "out.mkv", "cannot be read|no such file")


def test_no_descriptor_stays_open(tmp_path):
    source = make(tmp_path / "a.mkv")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        Source(source, Clip()).close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


@pytest.mark.parametrize("name", ["in.gif", "in.y4m"])
def test_a_claim_that_the_file_cannot_hold(tmp_path, name):
    source = tmp_path / name
    gif = b"GIF89a\x88\x13\x88\x13\xf0\0\0" + bytes(6)
    gif += b",\0\0\0\0\x88\x13\x88\x13\0\x02\x02\x4c\x01\0;"
    y4m = b"YUV4MPEG2 W5000 H5000 F25:1 Ip C420\nFRAME\n" + bytes(99)
    source.write_bytes({"in.gif": gif, "in.y4m": y4m}[name])
    refused(source, tmp_path / "out.mkv", "claims 5000×5000 pixels, more than .* bytes can hold")


def test_flat_films_are_not_refused(tmp_path):
    source = tmp_path / "in.gif"
    with av.open(str(source), "w") as out:
        stream = out.add_stream("gif", rate=10)
        stream.width, stream.height, stream.pix_fmt = 2000, 1500, "gray"
        out.mux(stream.encode(av.VideoFrame(2000, 1500, "gray")))
        out.mux(stream.encode(None))
    Source(source, Clip()).close()
