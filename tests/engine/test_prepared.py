"""Objects that are kept between calls: lent to one at a time, bounded, closed in time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import snellen
from snellen.engine import prepared
from snellen.engine.prepared import borrowed, retried
from snellen.errors import DeviceError, DeviceMemoryError, InputError


class Thing:
    """What is made, used and closed, with so many bytes of a GPU."""

    def __init__(self, log, size=0):
        self.log, self.size, self.closed = log, size, False
        log.append("made")
        Gpu.used += size

    def close(self):
        assert not self.closed
        self.closed = True
        self.log.append("closed")
        Gpu.used -= self.size


class Gpu:
    """Snellen's pool."""

    used = held = depth = 0


@pytest.fixture(autouse=True)
def kept(monkeypatch):
    """Nothing is idle, and a GPU is numbers."""
    Gpu.used = Gpu.held = Gpu.depth = 0

    @contextmanager
    def own():
        Gpu.depth += 1
        try:
            yield
        finally:
            Gpu.depth -= 1

    @contextmanager
    def using(device):
        yield

    def held():
        Gpu.held = max(Gpu.held, Gpu.used)
        return Gpu.held

    def trim():
        Gpu.held = Gpu.used

    monkeypatch.setattr(prepared.gpus, "using", using)
    monkeypatch.setattr(prepared.memory, "own", own)
    monkeypatch.setattr(prepared.memory, "held", held)
    monkeypatch.setattr(prepared.memory, "trim", trim)
    monkeypatch.setattr(prepared.memory, "unused", lambda: held() - Gpu.used)
    monkeypatch.setattr(prepared.memory, "budget", lambda: 100)
    monkeypatch.setattr(prepared, "_idle", [])
    yield
    snellen.clear_cache()
    assert Gpu.used == 0 and Gpu.depth == 0


@pytest.mark.parametrize("device", ["cpu", "cuda:0", ("cuda:0", "cuda:1")])
def test_the_next_call_gets_what_the_last_one_had(device):
    log = []
    for _ in range(5):
        with borrowed(device, "a", lambda: Thing(log)) as one:
            assert not one.closed and Gpu.depth == (device != "cpu")
    assert log == ["made"]
    with borrowed(device, "b", lambda: Thing(log)) as other:
        assert other is not one
    with borrowed("cuda:7", "a", lambda: Thing(log)) as other:
        assert other is not one
    assert log == ["made"] * 3
    snellen.clear_cache()
    assert one.closed and log == ["made"] * 3 + ["closed"] * 3
    with borrowed(device, "a", lambda: Thing(log)) as again:
        assert again is not one


def test_it_is_lent_to_one_at_a_time():
    log = []

    def make():
        return Thing(log)

    with borrowed("cpu", "a", make) as one, borrowed("cpu", "a", make) as other:
        assert one is not other  # as in a call from within a callback
        snellen.clear_cache()
        assert not one.closed and not other.closed
    assert log == ["made", "made"]
    with borrowed("cpu", "a", make) as first, borrowed("cpu", "a", make) as second:
        assert {first, second} == {one, other}
    assert first is one  # used last


def test_threads_never_share():
    log, gate, seen = [], threading.Barrier(6), set()

    def work(number):
        gate.wait()
        for _ in range(50):
            with borrowed("cuda:0", number % 2, lambda: Thing(log)) as one:
                assert one not in seen
                seen.add(one)
                seen.remove(one)
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))
    assert log.count("made") <= 6 and "closed" not in log


@pytest.mark.parametrize(
    ("error", "stays"),
    [(InputError, True), (snellen.ModelError, True), (DeviceError, False), (ValueError, False),
     (KeyboardInterrupt, False)],
)  # fmt: skip
def test_errors(error, stays):
    log = []
    with pytest.raises(error), borrowed("cuda:0", "a", lambda: Thing(log)) as one:
        raise error("wrong")
    assert one.closed != stays
    with borrowed("cuda:0", "a", lambda: Thing(log)) as other:
        assert (one is other) == stays
    assert Gpu.depth == 0


@pytest.mark.parametrize("device", ["cpu", "cuda:0", ("cuda:0", "cuda:1")])
def test_what_is_queued_is_done_before_another_stream_uses_the_object(monkeypatch, device):
    idle = []
    monkeypatch.setattr(prepared.gpus, "settle", lambda: idle.append(len(prepared._idle)))
    with pytest.raises(InputError), borrowed(device, "a", lambda: Thing([])):
        raise InputError("of a callback")
    assert idle == [0] * (2 if isinstance(device, tuple) else 1) and len(prepared._idle) == 1


def test_another_number_of_threads(monkeypatch):
    """An object of the CPU has the threads of when it was made."""
    log = []
    for cores in (4, 4, 2, 4):
        monkeypatch.setattr(prepared.threads, "available", lambda n=cores: n)
        for device in ("cpu", "cuda:0"):
            with borrowed(device, "a", lambda: Thing(log)):
                pass
    assert log == ["made"] * 3


def test_one_that_cannot_be_made():
    with pytest.raises(ZeroDivisionError), borrowed("cpu", "a", lambda: 1 / 0):
        pytest.fail("there is nothing")
    assert not prepared._idle


def test_one_that_cannot_be_closed():
    class Stuck(Thing):
        def close(self):
            super().close()
            raise DeviceError("CUDA has failed")

    log = []
    with borrowed("cuda:0", "a", lambda: Stuck(log)):
        pass
    with borrowed("cuda:0", "b", lambda: Thing(log)):
        pass
    snellen.clear_cache()
    assert log == ["made", "made", "closed", "closed"]


@pytest.mark.parametrize(
    ("device", "most"), [("cpu", prepared.ON_CPU), ("cuda:3", prepared.ON_GPU)]
)
def test_the_number_of_idle_objects_is_bounded(device, most):
    made = {}
    for key in range(most + 3):
        with borrowed(device, key, lambda: Thing([])) as one:
            made[key] = one
        with borrowed(device, 0, lambda: Thing([])):  # the first one is used again and again
            pass
    assert [key for key, one in made.items() if one.closed] == [1, 2, 3]


def test_bytes_of_a_gpu_are_bounded():
    made = []
    for key in range(50):
        with borrowed("cuda:0", key, lambda size=30 + key % 4: Thing([], size)) as one:
            made.append(one)
        assert Gpu.held <= 100
    assert [one.closed for one in made] == [True] * 47 + [False] * 3
    with borrowed("cuda:0", "large", lambda: Thing([], 200)) as one:
        pass
    assert one.closed and Gpu.held == 0
    with borrowed("cuda:1", "elsewhere", lambda: Thing([], 20)), \
         borrowed(("cuda:0", "cuda:1"), "both", lambda: Thing([], 20)):  # fmt: skip
        pass
    assert Gpu.held == 40


def test_memory_that_is_fragments_is_given_back():
    """Where as many objects are idle as may be, and their sizes change."""
    for key in range(100):
        with borrowed("cuda:0", key, lambda size=1 + key % 7: Thing([], size)):
            pass
        assert Gpu.held <= 2 * Gpu.used
    assert Gpu.held < 80


def test_bytes_of_the_cpu_are_bounded(monkeypatch):
    monkeypatch.setattr(prepared.limits, "memory", lambda: 1600)
    for key, size, idle in [
        (0, 40, 1),
        (1, 40, 2),
        (2, 40, 2),
        (3, 101, 0),
        (4, 100, 1),
        (5, 0, 2),
    ]:
        with borrowed("cpu", key, lambda: Thing([]), host=size):
            pass
        assert len(prepared._idle) == idle


@pytest.mark.parametrize("error", [DeviceMemoryError, MemoryError])
def test_idle_objects_go_where_memory_does_not_suffice(error):
    log, tried = [], []
    for key in range(3):
        with borrowed("cuda:0", key, lambda: Thing(log, 20)):
            pass
    with borrowed("cuda:1", "elsewhere", lambda: Thing(log)) as elsewhere:
        pass

    def make():
        tried.append(Gpu.used)
        if Gpu.used:
            raise error("full")
        return Thing(log, 50)

    with borrowed("cuda:0", "large", make) as one:
        assert tried == [60, 0] and log.count("closed") == 3 and not elsewhere.closed
    assert not one.closed
    snellen.clear_cache()
    Gpu.held = 0

    def never():
        tried.append(None)
        raise error("full")

    with pytest.raises(error):
        retried("cuda:0", never)
    assert tried == [60, 0, None]  # there was nothing to release
    with borrowed("cuda:0", "a", lambda: Thing(log)):
        pass
    with pytest.raises(error):
        retried("cuda:0", never)
    assert tried == [60, 0, None, None, None]


@pytest.mark.slow
def test_fragments_are_given_back_where_memory_does_not_suffice():
    """Also where nothing is idle: the pool holds memory that nobody uses."""
    tried = []

    def make():
        tried.append(Gpu.held)
        if Gpu.held:
            raise DeviceMemoryError("full")
        return Thing([])

    Gpu.held = 70
    with borrowed("cuda:0", "a", make):
        assert tried == [70, 0]


def test_what_runs_short_elsewhere_releases_idle_objects():
    with borrowed("cuda:0", "a", lambda: Thing([])) as one:
        assert not prepared._short(0)
    assert not prepared._short(1) and not one.closed
    assert prepared._short(0) and one.closed
    with borrowed("cuda:0", "a", lambda: Thing([])) as one:
        pass
    assert prepared._short(None) and one.closed  # page-locked memory
    assert prepared._short in prepared.memory.relieved


def test_nothing_of_the_parent_is_used_in_a_child(monkeypatch):
    log = []
    with borrowed("cpu", "idle", lambda: Thing(log)) as idle:
        pass
    with borrowed("cpu", "lent", lambda: Thing(log)) as lent:
        monkeypatch.setattr("os.getpid", lambda: -1)
    with borrowed("cpu", "idle", lambda: Thing(log)) as other:
        assert other is not idle
    with borrowed("cpu", "lent", lambda: Thing(log)) as other:
        assert other is not lent
    snellen.clear_cache()
    assert log == ["made"] * 4 + ["closed"] * 2 and not idle.closed and not lent.closed
    monkeypatch.undo()


def end(then=""):
    code = (
        "from snellen.engine.prepared import borrowed\n"
        "class Thing:\n"
        "    def close(self):\n"
        "        print('closed')\n"
        "with borrowed('cpu', 'a', Thing):\n"
        "    pass\n"
    )
    line = [sys.executable, "-W", "ignore", "-c", code + then]
    return subprocess.run(line, capture_output=True, text=True, timeout=60)


def test_the_end_of_the_interpreter():
    done = end()
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_end_of_a_child():
    """What is idle belongs to the parent, which closes it once."""
    done = end("import os; os.fork()\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "closed\n", "")
