"""Several frames at once in the step: order, errors, bounds; and a run without an encoder."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import numpy as np
import pytest

from snellen.errors import InputError, OutputError
from snellen.frames.frame import Format, Frame
from snellen.video import channel as channels
from snellen.video import pixels, threads
from snellen.video.channel import Channel, Workers
from snellen.video.comparing.compare import compare
from snellen.video.convert import Clip, Encoding
from snellen.video.media import Item
from snellen.video.sink import sink
from snellen.video.source.decode import Source
from snellen.video.source.read import Reader
from support.video.checks import PATHS
from support.video.clips import make, read
from support.video.comparisons import Difference
from support.video.converting import convert, drain
from support.video.steps import Nearest, Wide

LOSSLESS = Encoding(codec="ffv1")


def same(one, other):
    assert one.times == other.times
    for a, b in zip(one.frames, other.frames, strict=True):
        for p, q in zip(a.planes, b.planes, strict=True):
            assert np.array_equal(np.from_dlpack(p), np.from_dlpack(q))


@pytest.mark.slow
@pytest.mark.parametrize("slots", [2, 3, 7, 40])
def test_slots_change_nothing(plain, tmp_path, slots):
    """Every frame, time and packet as with one slot, whichever frame is ready first."""
    wide, reported = Wide(slots), []
    convert(plain, tmp_path / "one.mkv", Nearest(), encoding=LOSSLESS)
    convert(plain, tmp_path / "wide.mkv", wide, encoding=LOSSLESS, on_progress=reported.append)
    one, other = read(tmp_path / "one.mkv"), read(tmp_path / "wide.mkv")
    same(one, other)
    assert one.packets == other.packets
    assert [p.frames for p in reported] == list(range(1, 26))
    assert 2 <= wide.most <= slots
    assert all(name.startswith("worker ") for name in wide.threads)
    assert (wide.closed, wide.at_close) == (1, 0)


@pytest.mark.slow
def test_all_slots_are_used_at_once(plain, tmp_path):
    """A step that needs three frames inside at the same time gets them."""
    meet = threading.Barrier(3, timeout=20)

    class Together(Wide):
        def work(self, frame):
            meet.wait()
            return super().work(frame)

    step = Together(3)
    convert(plain, tmp_path / "o.mkv", step, encoding=LOSSLESS, clip=Clip(frames=24))
    assert (step.ran, step.most) == (24, 3)


class TestFailures:
    @pytest.mark.parametrize("when", [0, 1, 12, 24])
    @pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, InputError, OSError])
    def test_in_a_worker(self, plain, tmp_path, when, kind):
        class Failing(Wide):
            def work(self, frame):
                if round(frame.pts / frame.duration) == when:
                    raise kind("the step is broken")
                return super().work(frame)

        step = Failing()
        with pytest.raises(kind, match="the step is broken") as caught:
            convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS)
        assert type(caught.value) is kind
        assert (step.closed, step.at_close) == (1, 0)
        assert step.ran < when + 2 * step.traits.slots
        assert not list(tmp_path.iterdir())

    def test_the_earliest_frames_error_wins(self, plain, tmp_path):
        later = threading.Event()

        class Failing(Wide):
            def work(self, frame):
                number = round(frame.pts / frame.duration)
                if number == 6:
                    later.set()
                    raise RuntimeError("the later frame")
                if number == 5:
                    assert later.wait(20)
                    time.sleep(0.05)
                    raise RuntimeError("the earlier frame")
                return super().work(frame)

        with pytest.raises(RuntimeError, match="the earlier frame"):
            convert(plain, tmp_path / "out.mkv", Failing(), encoding=LOSSLESS)

    def test_progress(self, plain, tmp_path):
        def fail(progress):
            if progress.frames == 5:
                raise ZeroDivisionError("no luck")

        step = Wide()
        with pytest.raises(ZeroDivisionError, match="no luck"):
            convert(plain, tmp_path / "o.mkv", step, encoding=LOSSLESS, on_progress=fail)
        assert (step.closed, step.at_close) == (1, 0)

    @pytest.mark.parametrize("when", [0, 1, 9])
    def test_the_decoder(self, plain, tmp_path, monkeypatch, when):
        real, calls = pixels.planes, []

        def failing(frame):
            calls.append(frame)
            if len(calls) == when + 2:  # the first is looked at before the threads start
                raise RuntimeError("decoding is broken")
            return real(frame)

        monkeypatch.setattr(pixels, "planes", failing)
        step = Wide()
        with pytest.raises(RuntimeError, match="decoding is broken"):
            convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS)
        assert step.at_close == 0

    @pytest.mark.slow
    @pytest.mark.parametrize("when", [0, 4])
    def test_the_encoder_while_slots_are_busy(self, plain, tmp_path, monkeypatch, when):
        real = sink.Sink.write
        busy = threading.Event()

        def failing(self, item):
            if self.written == when:
                assert busy.wait(20)
                raise OSError(28, "No space left on device")
            return real(self, item)

        class Busy(Wide):
            def work(self, frame):
                if round(frame.pts / frame.duration) > when:
                    busy.set()
                    time.sleep(0.05)
                return super().work(frame)

        monkeypatch.setattr(sink.Sink, "write", failing)
        step = Busy()
        with pytest.raises(OutputError, match="No space"):
            convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS)
        assert (step.closed, step.at_close) == (1, 0)
        assert not list(tmp_path.iterdir())

    def test_a_worker_that_hangs_is_left_alone_after_a_while(self, plain, tmp_path, monkeypatch):
        monkeypatch.setattr(threads, "PATIENCE", 0.3)
        free = threading.Event()

        class Stuck(Wide):
            def work(self, frame):
                number = round(frame.pts / frame.duration)
                if number == 3:
                    raise RuntimeError("broken")
                if number == 4:
                    free.wait(30)
                return super().work(frame)

        step = Stuck(linger=0)
        try:
            with pytest.raises(RuntimeError, match="broken"):
                convert(plain, tmp_path / "out.mkv", step, encoding=LOSSLESS)
            assert step.closed == 1
        finally:
            free.set()
        for thread in threading.enumerate():
            if thread.name.startswith("worker"):
                thread.join(10)

    @pytest.mark.parametrize("waiting", ["decoder", "encoder", "worker"])
    def test_ctrl_c(self, plain, tmp_path, waiting):
        """A real signal, in a process of its own, whatever is waited for."""
        script = f"""
            import os, signal, sys, threading, time
            from pathlib import Path
            from support.video.steps import Wide
            from support.video.converting import convert
            from snellen.video.sink import sink

            def interrupt():
                time.sleep(0.3)
                os.kill(os.getpid(), signal.SIGINT)

            begun = threading.Thread(target=interrupt)

            class Slow(Wide):
                def work(self, frame):
                    with self.lock:
                        if self.ran == 5 and begun.ident is None:
                            begun.start()
                    if {waiting == "worker"} and begun.ident:
                        time.sleep(0.7)
                    return super().work(frame)

            source = Path({str(plain)!r})
            if {waiting == "encoder"}:
                def write(self, item, real=sink.Sink.write):
                    time.sleep(0.1)
                    return real(self, item)
                sink.Sink.write = write
            if {waiting == "decoder"}:
                reading, writing = os.pipe()
                head = b"YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\\n"
                os.write(writing, head + (b"FRAME\\n" + bytes(64 * 48 * 3 // 2)) * 9)
                source = os.fdopen(reading, "rb")
            step = Slow()
            try:
                convert(source, Path({str(tmp_path)!r}) / "out.mkv", step)
            except KeyboardInterrupt:
                begun.join()
                print("interrupted", threading.active_count(), step.at_close)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**os.environ, "PYTHONPATH": PATHS},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == ("interrupted 1 0\n", "")
        assert not list(tmp_path.iterdir())


class TestBounds:
    @pytest.mark.slow
    def test_results_alive(self, tmp_path, monkeypatch):
        """Slots, the queue behind them, one being encoded: never more, however slow that is."""
        source = make(tmp_path / "in.mkv", frames=40)
        alive, most, slots = set(), [0], 3

        class Counting(Wide):
            def work(self, frame):
                result = super().work(frame)
                key = id(result.planes[0])
                with self.lock:
                    alive.add(key)
                    most[0] = max(most[0], len(alive))
                weakref.finalize(result.planes[0], alive.discard, key)
                return result

        def write(self, item):  # an encoder that keeps nothing
            time.sleep(0.005)
            if item.frame is not None:
                self.written += 1

        monkeypatch.setattr(sink.Sink, "write", write)
        monkeypatch.setattr(sink.Sink, "finish", sink.Sink.abandon)
        monkeypatch.setattr(channels, "DEPTHS", (4, 4))
        assert convert(source, tmp_path / "o.mkv", Counting(slots), encoding=LOSSLESS).frames == 40
        assert slots < most[0] <= slots + 4 + 1
        gc.collect()
        assert not alive

    def test_frames_taken(self, plain, tmp_path, monkeypatch):
        """The decoder waits for a slow worker, though the others are free."""
        seen, ahead, real = [], [], pixels.planes

        class Slow(Wide):
            def work(self, frame):
                if round(frame.pts / frame.duration) == 2:
                    time.sleep(0.3)
                    ahead.append(len(seen))
                return super().work(frame)

        monkeypatch.setattr(pixels, "planes", lambda frame: seen.append(1) or real(frame))
        monkeypatch.setattr(channels, "DEPTHS", (4, 4))
        convert(plain, tmp_path / "o.mkv", Slow(3, linger=0), encoding=LOSSLESS)
        # Two that were done, three in slots, the queue, one in the decoder's hand.
        assert ahead[0] <= 2 + 3 + 4 + 1
        assert len(seen) == 25

    @pytest.mark.parametrize(
        ("format", "wanted"),
        [
            (Format(128, 128, 8, (1, 1)), 32),
            (Format(1920, 1080, 8, (1, 1)), 21),
            (Format(1920, 1080, 10, (1, 1)), 10),
            (Format(3840, 2160, 16, (0, 0)), 4),
        ],
    )
    def test_frames_between_two_threads(self, format, wanted):
        """Many small ones, so that a slow one delays nobody; a few large ones."""
        assert channels.depth(format) == wanted

    @pytest.mark.slow
    def test_nothing_is_kept_while_waiting(self):
        """Workers that wait for a slow decoder keep none of the frames that they have given out."""
        channel = Channel(4)
        plane = np.zeros((2, 2), np.uint8)
        gone = weakref.ref(plane)
        with Workers(lambda item: item, 2, channel, channel.stop, 10) as items:
            flow = iter(items)
            channel.put(Item(Frame((plane,))))
            del plane
            next(flow)
            timer = threading.Timer(0.2, channel.close)
            timer.start()
            assert next(flow, None) is None  # whoever waits meanwhile
            gc.collect()
            assert gone() is None
            timer.join()


class TestDrain:
    @pytest.mark.slow
    @pytest.mark.parametrize("slots", [1, 3])
    def test_every_frame(self, plain, slots):
        step, reported = Wide(slots), []
        assert drain(plain, step, on_progress=reported.append) == 25
        assert (step.ran, step.closed, step.at_close) == (25, 1, 0)
        assert [p.frames for p in reported] == list(range(1, 26))
        assert step.prepared[1] is None
        assert ("MainThread" in step.threads) == (slots == 1)

    def test_a_part(self, plain):
        assert drain(plain, Nearest(), clip=Clip(frames=7)) == 7

    def test_wrong_use(self, tmp_path):
        step = Nearest()
        with pytest.raises(InputError, match="no such file"):
            drain(tmp_path / "no.mp4", step)
        assert (step.prepared, step.closed) == (None, 1)

    @pytest.mark.parametrize("slots", [1, 3])
    def test_an_error(self, plain, slots):
        class Failing(Wide):
            def work(self, frame):
                if frame.pts > 0:
                    raise RuntimeError("broken")
                return super().work(frame)

        step = Failing(slots)
        with pytest.raises(RuntimeError, match="broken"):
            drain(plain, step)
        assert (step.closed, step.at_close) == (1, 0)

    def test_an_interrupt_while_the_pipe_gives_nothing(self):
        reading, writing = os.pipe()
        head = b"YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\n"
        os.write(writing, head + (b"FRAME\n" + bytes(64 * 48 * 3 // 2)) * 5)
        timer = threading.Timer(0.5, signal.raise_signal, (signal.SIGINT,))
        step = Wide()
        with os.fdopen(reading, "rb") as source:
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                drain(source, step)
        os.close(writing)
        timer.join()
        assert (step.closed, step.at_close) == (1, 0)


def test_a_wait_that_is_interrupted_does_not_end_a_thread(monkeypatch):
    """Python's join takes it for ended then, until 3.13."""
    free, waits = threading.Event(), []
    thread = channels.Thread(free.wait, "slow")
    never = channels.Thread(free.wait, "not started")
    thread.start()
    real = threading.Event.wait

    def wait(self, timeout=None):
        waits.append(timeout)
        if len(waits) == 1:
            raise KeyboardInterrupt
        free.set()
        return real(self, timeout)

    assert not channels.join([thread], 0.01)
    monkeypatch.setattr(thread.ended, "wait", wait.__get__(thread.ended))
    with pytest.raises(KeyboardInterrupt):
        channels.join([thread, never])
    assert thread.is_alive()
    assert channels.join([thread, never]) and not thread.is_alive() and len(waits) > 1


def test_a_thread_of_the_parent_is_over_in_a_child(monkeypatch):
    """Its end would never be seen there; a lock that it held stays locked."""
    free = threading.Event()
    thread, channel = channels.Thread(free.wait, "slow"), Channel(1)
    thread.start()
    assert not channels.join([thread], 0.01)
    with channel._changed, monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: -1)
        child.setattr(thread, "join", lambda patience: None)
        assert channels.join([thread], 20)
        ending = threading.Thread(target=channel.stop)
        ending.start()
        ending.join(20)
        assert not ending.is_alive()
    free.set()
    assert channels.join([thread], 20)


@pytest.mark.slow
def test_nothing_of_a_film_waits_for_the_collector(plain, lossless, tmp_path):
    """Decoders have threads: a forked child that collects what its parent left would hang."""

    def sources():
        return {id(one) for one in gc.get_objects() if isinstance(one, Source | Reader)}

    gc.collect()
    gc.disable()
    try:
        before = sources()  # of other tests, which are kept for good
        convert(plain, tmp_path / "out.mkv", Nearest(), encoding=LOSSLESS)
        drain(plain, Nearest())
        compare(lossless, lossless, Difference(), lambda pair: None)
        left = sources() - before
    finally:
        gc.enable()
    assert not left
