"""Work is captured once and replayed; where it cannot be captured, it is called."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from snellen.gpu import device, profile
from snellen.gpu.graph import capture, record, synchronize


class Stream:
    """A stream that captures, unless it is made to fail; it records what happens."""

    def __init__(self, fails=""):
        self.fails, self.log = fails, []

    def _do(self, name):
        self.log.append(name)
        if name == self.fails:
            raise RuntimeError(name)

    def begin_capture(self):
        self._do("begin")

    def end_capture(self):
        self._do("end")
        return self

    def upload(self, stream):
        self._do("upload")

    def launch(self, stream):
        self._do("launch")


@pytest.fixture
def fake(monkeypatch):
    """Make a stream the current one of a module that stands for CuPy."""

    def make(fails=""):
        stream = Stream(fails)
        cuda = SimpleNamespace(get_current_stream=lambda: stream)
        monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
        return stream

    return make


def test_it_is_captured_once_and_launched_at_each_call(fake):
    stream = fake()
    replay = capture(lambda: stream.log.append("work"))
    assert stream.log == ["begin", "work", "end", "upload"]
    replay()
    replay()
    assert stream.log[4:] == ["launch", "launch"]


def test_it_is_called_while_stages_are_recorded(fake):
    stream = fake()
    replay = capture(lambda: stream.log.append("work"))
    with profile.recording():
        replay()
    replay()
    assert stream.log[4:] == ["work", "launch"]


@pytest.mark.parametrize("fails", ["begin", "work", "end", "upload"])
def test_what_cannot_be_captured_is_called(fake, fails):
    stream = fake(fails)

    def work():
        stream._do("work")

    assert capture(work) is work
    # A capture that has begun is ended, whatever happens: else the stream would take nothing more.
    assert ("end" in stream.log) == (fails != "begin")
    with pytest.raises(RuntimeError, match=fails):
        record(work)


def test_other_errors_are_not_hidden(fake):
    stream = fake()

    def work():
        raise KeyError("a fault of ours")

    with pytest.raises(KeyError):
        capture(work)
    assert stream.log == ["begin", "end"]


def test_nobody_waits_for_the_gpu_during_a_capture(fake, monkeypatch):
    stream = fake()
    waits = SimpleNamespace(synchronize=lambda: stream.log.append("wait"))
    monkeypatch.setattr(sys.modules["cupy"].cuda, "Device", lambda: waits, raising=False)
    thread = threading.Thread(target=synchronize)

    def work():
        thread.start()
        thread.join(0.2)  # much longer than it takes where nothing holds it up
        stream.log.append("work")

    capture(work)
    thread.join()
    assert stream.log.index("wait") > stream.log.index("end")


@pytest.mark.gpu
def test_threads_that_capture_and_threads_that_wait_for_the_gpu(cuda):
    """CUDA breaks a capture off where another thread waits for the whole GPU meanwhile."""
    ended, errors = threading.Event(), []

    def wait():
        try:
            with device.using("cuda:0"):
                while not ended.wait(1e-4):  # so that the others get a turn
                    synchronize()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True):
        values = cuda.zeros(1000, cuda.int32)

        def work():
            for _ in range(20):
                cuda.add(values, 1, out=values)

        work()
        thread.start()
        captured = [capture(work) is not work for _ in range(50)]
        ended.set()
        thread.join()
    assert all(captured) and not errors


@pytest.mark.gpu
def test_a_graph_reads_what_its_arrays_hold(cuda):
    with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True) as stream:
        given, out = cuda.zeros(1000, cuda.int32), cuda.empty(1000, cuda.int32)

        def work():
            cuda.multiply(given, 3, out=out)

        work()
        replay = capture(work)
        assert replay is not work
        stream.synchronize()
    for value in (2, 5):
        with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True) as other:
            given.fill(value)
            replay()  # on the stream that is current now
            other.synchronize()
            assert (out == 3 * value).all()


@pytest.mark.gpu
def test_what_waits_for_the_gpu_cannot_be_captured(cuda):
    with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True) as stream:
        values = cuda.ones(10, cuda.int32)

        def work():
            cuda.add(values, 1, out=values)
            stream.synchronize()

        work()
        assert capture(work) is work
        work()  # the stream takes work as before
        assert int(values[0]) == 3
