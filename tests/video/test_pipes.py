"""Standard input and output, y4m, and signals while a pipe waits."""

import errno
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import av
import pytest

from snellen.errors import OutputError
from snellen.video import pipes, threads
from snellen.video.convert import Clip, Encoding
from snellen.video.sink import sink
from support.video.checks import FAST, PATHS, refused
from support.video.clips import make, read
from support.video.converting import convert
from support.video.steps import Nearest


class TestY4m:
    def stream(self, source, **encoding):
        target = io.BytesIO()
        summary = convert(source, target, Nearest(1), encoding=Encoding(**encoding))
        target.seek(0)
        return target, summary

    @pytest.mark.parametrize("pix_fmt", ["yuv420p", "yuv422p10le", "yuv444p16le", "gray"])
    def test_both_ways(self, tmp_path, pix_fmt):
        source = make(tmp_path / "in.mkv", codec="ffv1", pix_fmt=pix_fmt, frames=7)
        pipe, summary = self.stream(source)
        assert summary.pixel_format == pix_fmt
        target = tmp_path / "out.mkv"
        convert(pipe, target, Nearest(), encoding=Encoding(codec="ffv1"))
        import numpy as np

        before, after = read(source), read(target)
        assert after.times == before.times
        for old, new in zip(before.frames, after.frames, strict=True):
            for p, q in zip(old.planes, new.planes, strict=True):
                p, q = np.from_dlpack(p), np.from_dlpack(q)
                assert np.array_equal(p.repeat(2, 0).repeat(2, 1), q)

    def test_says_how_chroma_lies(self, tmp_path):
        for location, name in (("left", b"420mpeg2"), ("center", b"420jpeg")):
            source = make(tmp_path / f"{location}.mp4", frames=1,
                          options={"chroma_sample_location": location})  # fmt: skip
            pipe, _ = self.stream(source)
            assert name in pipe.getvalue()[:100]

    def test_vp9_says_nothing_so_it_is_left(self, tmp_path):
        source = make(tmp_path / "in.webm", codec="libvpx-vp9", frames=1)
        pipe, _ = self.stream(source)
        assert b"420mpeg2" in pipe.getvalue()[:100]

    def test_sound_and_variable_times_are_named(self, tmp_path, plain):
        _, summary = self.stream(plain)
        assert summary.dropped == ("audio stream 1 (aac, eng): y4m cannot hold it",)
        source = make(tmp_path / "in.mkv", times=[0, 40, 500, 540])
        _, summary = self.stream(source)
        assert any("variable frame rate" in w for w in summary.warnings)

    def test_interlaced_is_refused(self, tmp_path):
        source = make(tmp_path / "in.mp4", frames=2)
        pipe, _ = self.stream(source)
        woven = io.BytesIO(pipe.getvalue().replace(b" Ip ", b" It ", 1))
        refused(woven, tmp_path / "out.mkv", "deinterlace makes")
        woven.seek(0)
        convert(woven, tmp_path / "o.mkv", Nearest(), clip=Clip(deinterlace=True), encoding=FAST)
        assert len(read(tmp_path / "o.mkv").frames) == 2

    def test_anything_else_on_the_pipe(self, tmp_path, plain):
        refused(io.BytesIO(plain.read_bytes()), tmp_path / "out.mkv", "y4m")
        refused(io.BytesIO(b""), tmp_path / "out.mkv", "y4m")

    def test_cut(self, tmp_path):
        pipe, _ = self.stream(make(tmp_path / "in.mp4", frames=5))
        short = io.BytesIO(pipe.getvalue()[: int(len(pipe.getvalue()) * 0.7)])
        summary = convert(short, tmp_path / "out.mkv", Nearest(), encoding=FAST)
        assert summary.frames in (3, 4)
        assert summary.lost

    def test_broken_pipe(self, plain):
        class Gone(io.RawIOBase):
            taken = 0

            def writable(self):
                return True

            def write(self, data):
                self.taken += len(data)
                if self.taken > 30_000:
                    raise BrokenPipeError(errno.EPIPE, "Broken pipe")
                return len(data)

        refused(plain, Gone(), "Broken pipe", error=OutputError, encoding=Encoding())

    @pytest.mark.slow
    def test_short_writes_are_completed(self, plain):
        class Slow(io.RawIOBase):
            def __init__(self):
                self.data = bytearray()

            def writable(self):
                return True

            def write(self, data):
                self.data += data[:1000]
                return min(1000, len(data))

        slow = Slow()
        convert(plain, slow, Nearest(1))
        whole, _ = self.stream(plain)
        assert bytes(slow.data) == whole.getvalue()

    def test_a_codec_makes_no_sense(self, plain):
        refused(plain, io.BytesIO(), "raw pictures only", encoding=Encoding(codec="libx264"))


HEADER = b"YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\n"
PICTURE = b"FRAME\n" + bytes(64 * 48 * 3 // 2)


def test_the_encoders_error_is_reported_while_the_decoder_waits(tmp_path, monkeypatch):
    """A pipe that gives two pictures and then nothing: the disk is full meanwhile."""

    def failing(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sink.Sink, "write", failing)
    reading, writing = os.pipe()
    os.write(writing, HEADER + PICTURE * 2)
    ended = threading.Event()  # the other end of the pipe, which would let the decoder go on
    watchdog = threading.Timer(60, lambda: (ended.set(), os.close(writing)))
    watchdog.start()
    with os.fdopen(reading, "rb") as source:
        refused(source, tmp_path / "out.mp4", "No space", error=OutputError)
    watchdog.cancel()
    watchdog.join()
    assert not ended.is_set()
    os.close(writing)


def test_a_stream_that_never_takes_anything_ends_after_a_while(plain, monkeypatch):
    """Not a pipe, so nothing can be done for it but to leave it alone."""
    monkeypatch.setattr(threads, "PATIENCE", 0.3)
    free = threading.Event()

    class Stuck(io.RawIOBase):
        def writable(self):
            return True

        def write(self, data):
            if threading.current_thread() is not threading.main_thread():
                free.wait(30)
            return len(data)

    class Interrupted(Nearest):
        def run(self, frame):
            if self.ran == 3:
                raise KeyboardInterrupt
            return super().run(frame)

    try:
        with pytest.raises(KeyboardInterrupt):
            convert(plain, Stuck(), Interrupted())
    finally:
        free.set()
    for thread in threading.enumerate():
        if thread.name == "encode":
            thread.join(10)


@pytest.mark.parametrize("again", [True, False])
def test_pipes_take_and_give_everything(plain, tmp_path, monkeypatch, again):
    """Through a real pipe, read slowly and in pieces, back through another."""
    if not again:  # as where a pipe cannot be opened once more
        monkeypatch.setattr(pipes, "_reopened", lambda descriptor: None)
    reading, writing = os.pipe()
    data = bytearray()

    def drain():
        while piece := os.read(reading, 10_007):
            data.extend(piece)
            time.sleep(0.001)

    thread = threading.Thread(target=drain)
    thread.start()
    with os.fdopen(writing, "wb") as target:
        convert(plain, target, Nearest())
        assert os.get_blocking(writing)  # whoever shares it relies on that
    thread.join(10)
    assert not thread.is_alive()  # it has seen the end: no descriptor keeps the pipe open
    os.close(reading)
    whole = io.BytesIO()
    convert(plain, whole, Nearest())
    assert bytes(data) == whole.getvalue()
    reading, writing = os.pipe()

    def feed():
        with os.fdopen(writing, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    with os.fdopen(reading, "rb") as source:
        assert source.read(0) == b""
        summary = convert(source, tmp_path / "out.mkv", Nearest(1), encoding=FAST)
    thread.join(10)
    assert (summary.frames, summary.lost) == (25, ())


def test_libavs_level_stays_as_it_was(plain):
    from snellen.video.logs import logs

    for level in (av.logging.ERROR, av.logging.DEBUG, av.logging.INFO):
        av.logging.set_libav_level(level)
        with av.open(str(plain)) as container:
            assert "Video: h264" in logs.description(container)
        assert logs.libav_level() == level


@pytest.fixture
def process():
    """Start Python processes that import what the tests do; end them afterwards."""
    started = []

    def start(script):
        child = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": PATHS},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


PRELUDE = """
import os, signal, sys, threading
from pathlib import Path
from support.video.steps import Nearest
from support.video.converting import convert

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGTERM, stop)

class Telling(Nearest):
    def run(self, frame):
        os.write(2, b"running\\n")  # at once: a signal between text and line feed would tear it
        return super().run(frame)

def attempt(*arguments):
    print("ready", file=sys.stderr, flush=True)
    try:
        convert(*arguments)
    except KeyboardInterrupt:
        left = [t.name for t in threading.enumerate() if t.name in ("decode", "encode")]
        print("interrupted", left, file=sys.stderr)
        sys.exit(130)
"""


def interrupted(child, number):
    """Send the signal once; the process must end soon, without more output."""
    time.sleep(0.3)  # let it come to rest in its wait
    child.send_signal(number)
    assert child.wait(60) == 130
    return child.stderr.read().decode().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("given", [b"", HEADER[:9], HEADER, HEADER + PICTURE, HEADER + PICTURE * 9])
def test_a_signal_while_standard_input_gives_nothing(tmp_path, process, number, given):
    out = str(tmp_path / "out.mp4")
    child = process(f"attempt(sys.stdin.buffer, Path({out!r}), Telling())")
    assert child.stderr.readline() == b"ready\n"
    child.stdin.write(given)
    child.stdin.flush()
    running = max(0, given.count(PICTURE) - 1)  # the last one waits for the next one's time
    for _ in range(running):
        assert child.stderr.readline() == b"running\n"
    assert interrupted(child, number) == ["interrupted []"]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("scale", [2, 40])
def test_a_signal_while_nobody_reads_standard_output(plain, process, number, scale):
    """Even the first picture may be more than a pipe holds."""
    child = process(f"attempt(Path({str(plain)!r}), sys.stdout.buffer, Telling({scale}))")
    assert child.stderr.readline() == b"ready\n"
    assert child.stderr.readline() == b"running\n"
    message = interrupted(child, number)
    assert [line for line in message if line != "running"] == ["interrupted []"]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_ctrl_c_ends_everything(plain, tmp_path, suffix):
    """A real signal, in a process of its own, while all threads work."""
    script = f"""
        import os, signal, sys, threading
        from pathlib import Path
        from support.video.steps import Nearest
        from support.video.converting import convert

        class Interrupted(Nearest):
            def run(self, frame):
                if self.ran == 9:
                    os.kill(os.getpid(), signal.SIGINT)
                return super().run(frame)

        try:
            convert(Path({str(plain)!r}), Path({str(tmp_path)!r}) / "out{suffix}", Interrupted())
        except KeyboardInterrupt:
            print("interrupted", threading.active_count())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "PYTHONPATH": PATHS},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("interrupted 1\n", "")
    assert not list(tmp_path.iterdir())
