"""Processes that run tickets: what fails or dies gives its ticket back."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from math import inf
from typing import ClassVar
from unittest.mock import Mock

import pytest

from snellen.errors import DeviceError, InputError, SnellenError
from snellen.jobs.events import Silent
from snellen.jobs.sharing import pool as pool_module
from snellen.jobs.sharing import tickets as tickets_module
from snellen.jobs.sharing.pool import TRIES, Pool
from snellen.jobs.sharing.tickets import Done
from snellen.jobs.sharing.worker import framed
from snellen.jobs.sharing.worker_process import MAIN
from snellen.video.progress import Meter
from support.heard import Heard
from support.tickets import Doing
from support.video.checks import PATHS


def run(tmp_path, plans, workers=2, devices=None):
    """Run tickets; return their results, what was said, and how many were counted."""
    heard, counts = Heard(), []
    meter = Meter(len(plans), lambda progress: counts.append(progress.frames))
    with Pool(devices or ["cpu"] * workers, 1, heard, meter) as pool:
        for number, plan in enumerate(plans):
            (tmp_path / str(number)).write_text(plan)
            pool.submit(Doing(number, tmp_path / str(number)))
        found = {done.key: done.result[1] for done in (pool.wait() for _ in plans)}
    assert sorted(found) == list(range(len(plans)))
    assert counts[-1] == len(plans)
    assert not any(map(alive, found.values()))
    return found, heard.warnings


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_ticket_that_fails_is_tried_again(tmp_path):
    _, warnings = run(tmp_path, ["memory", "", ""], workers=1)
    assert len(warnings) == 1
    assert warnings[0].startswith("segment 0: not enough memory")
    assert warnings[0].endswith("it is tried again")


@pytest.mark.slow
def test_a_result_that_cannot_be_read_is_made_again(tmp_path):
    _, warnings = run(tmp_path, ["unreadable", ""], workers=1)
    assert warnings == ["segment 0: its process has ended (exit code 0); it is tried again"]


@pytest.mark.slow
def test_workers_that_are_killed_are_replaced(tmp_path):
    found, warnings = run(tmp_path, ["die", "exit", "", "", "die", ""])
    assert len(warnings) == 3
    assert (
        sum(
            "was killed (SIGKILL, as the system does where memory runs out)" in text
            for text in warnings
        )
        == 2
    )
    assert len({*found.values()}) >= 2


@pytest.mark.slow
def test_a_worker_that_fails_again_and_again_is_given_up(tmp_path):
    """As where a GPU is lost: after two failures of one of two workers, the other goes on."""
    _, warnings = run(tmp_path, ["device device", "", "", "", ""])
    assert "it is tried again" in warnings[0]
    assert len(warnings) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "error", "words"),
    [("device device device", DeviceError, "segment 0: the GPU is lost"),
     ("input", InputError, "no such film"),
     ("die die die", SnellenError, "segment 0: its process was killed")],
)  # fmt: skip
def test_a_ticket_that_fails_three_times_ends_the_work(tmp_path, plan, error, words):
    with pytest.raises(error, match=words):
        run(tmp_path, [plan, "", ""])


def test_a_system_that_lets_no_process_begin(tmp_path, monkeypatch):
    refusal = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
    monkeypatch.setattr(
        "snellen.jobs.sharing.worker_process.subprocess.Popen", Mock(side_effect=refusal)
    )
    words = "no worker can be started: Resource temporarily unavailable"
    with Pool(["cpu"], 1, Silent()) as pool, pytest.raises(SnellenError, match=words):
        pool.submit(Doing(0, tmp_path / "0"))


def test_a_system_that_lets_no_thread_begin(tmp_path, monkeypatch):
    """As where it counts threads as processes: the process that has begun is ended."""
    begun, begin = [], subprocess.Popen

    def noted(*words, **how):
        begun.append(begin(*words, **how))
        return begun[-1]

    refusal = RuntimeError("can't start new thread")
    monkeypatch.setattr("snellen.jobs.sharing.worker_process.subprocess.Popen", noted)
    monkeypatch.setattr(
        "snellen.jobs.sharing.worker_process.Thread.start", Mock(side_effect=refusal)
    )
    with (
        Pool(["cpu"] * 2, 1, Silent()) as pool,
        pytest.raises(SnellenError, match="no worker can be started: can't start new thread"),
    ):
        pool.submit(Doing(0, tmp_path / "0"))
    assert [one.returncode for one in begun] == [-signal.SIGKILL]


class Played:
    """A worker whose tickets end at once: those of `killers` kill it."""

    killers: frozenset[int] = frozenset()
    begun: ClassVar[list[Played]] = []
    most, outputs = 8, ()

    def __init__(self, device, threads, messages):
        if len(self.begun) >= self.most:
            raise SnellenError("no worker can be started: no")
        self.begun.append(self)
        self.device, self.messages = device, messages
        self.ticket, self.heard, self.done = None, 0.0, 0

    def begin(self, ticket):
        self.ticket = ticket
        is_killed = ticket.key in self.killers
        self.messages.put((self, *(("gone", None) if is_killed else ("done", Done(ticket.key)))))

    def fate(self):
        return "it was killed"

    def hang_up(self):
        pass

    def end(self, patience=0):
        pass


class Dispensable(Doing):
    """A ticket as that of a file: others go on without it."""

    __slots__ = ()
    is_needed = False


@pytest.fixture
def played(monkeypatch):
    kind = type("_Played", (Played,), {"begun": []})
    monkeypatch.setattr("snellen.jobs.sharing.pool.WorkerProcess", kind)
    return kind


def test_workers_come_back_when_the_file_that_killed_them_is_given_up(played, tmp_path):
    """As where its memory runs out; two failures one after another are not those of a device."""
    played.killers = {0}
    heard, slots = Heard(), []
    with Pool(["cpu", "cpu"], 1, heard) as pool:
        for number in range(3):
            pool.submit(Dispensable(number, tmp_path))
        for _ in range(3):
            assert pool.wait().key in (0, 1, 2)
            slots.append(pool.slots)
    assert slots == [2, 1, 2]
    assert [text.rpartition("; ")[2] for text in heard.warnings] == [
        "it is tried again",
        "the work goes on with 1 worker",
        "it is given up, and the work goes on with 2 workers",
    ]


def test_a_device_that_is_lost_stays_so(played, tmp_path):
    """Another worker can do what this one could not."""
    with Pool(["cuda:0", "cpu"], 1, Heard()) as pool:
        played.killers = {0}
        pool.submit(Dispensable(0, tmp_path))
        pool.submit(Dispensable(1, tmp_path))
        assert pool.wait().key == 1
        played.killers = set()
        assert pool.wait().key == 0
        assert pool.slots == 1


def test_workers_that_run_do_what_no_further_one_can_be_started_for(played, tmp_path):
    played.most = 1
    heard = Heard()
    with Pool(["cpu"] * 3, 1, heard) as pool:
        for number in range(5):
            pool.submit(Dispensable(number, tmp_path))
        assert sorted(pool.wait().key for _ in range(5)) == list(range(5))
    said = "no worker can be started: no; the work goes on with those that run"
    assert heard.warnings == [said]


def test_a_file_that_is_given_up_keeps_its_error_where_no_further_worker_can_be_started(
    played, tmp_path
):
    played.most, played.killers = TRIES, {0}
    with Pool(["cpu"], 1, Heard()) as pool:
        for number in range(2):
            pool.submit(Dispensable(number, tmp_path))
        assert pool.wait().key == 0
        with pytest.raises(SnellenError, match="no worker can be started"):
            pool.wait()


def test_as_many_processes_as_tickets(tmp_path):
    """A film that goes on with its last segment does not start eight."""
    with Pool(["cpu"] * 8, 1, Silent()) as pool:
        assert (pool.slots, len(pool._processes)) == (8, 0)
        for number in range(2):
            pool.submit(Doing(number, tmp_path / "none"))
        assert (pool.slots, len(pool._processes)) == (8, 2)
        first = {pool.wait().result[1] for _ in range(2)}
        pool.submit(Doing(2, tmp_path / "none"))
        assert pool.wait().result[1] in first
        assert len(pool._processes) == 2


@pytest.fixture
def clock(monkeypatch):
    """What the time is, in place of the system's."""
    found = [0.0]
    monkeypatch.setattr(pool_module, "now", lambda: found[0])
    return found


def with_a_slow_one(tmp_path, clock, plan, workers=2):
    """Run a ticket of a plan beside quick ones; return its result and what was said and counted."""
    heard, counts, quick = Heard(), [], tickets_module.KNOWN
    meter = Meter(None, lambda progress: counts.append(progress.frames))
    (tmp_path / "0").write_text(plan)
    with Pool(["cpu"] * workers, 1, heard, meter) as pool:
        pool.submit(Doing(0, tmp_path / "0"))
        first = pool._processes[0]
        for number in range(1, quick + 1):
            pool.submit(Doing(number, tmp_path / "none"))
        assert sorted(pool.wait().key for _ in range(quick)) == list(range(1, quick + 1))
        while (tmp_path / "0").read_text() == plan:
            time.sleep(0.01)  # it has begun
        clock[0] += tickets_module.LEAST - 1
        assert pool._slow()[1] == 1  # seconds
        clock[0] += 2
        found = pool.wait()
        assert found.key == 0 and pool.slots == workers
        assert pool._slow() is None
        left = list(pool._processes.values())
    assert counts[-1] == quick + 1
    return found, first, left, heard


@pytest.mark.slow
def test_what_hangs_is_begun_once_more_and_ended(tmp_path, clock):
    found, first, left, heard = with_a_slow_one(tmp_path, clock, "sleep")
    assert len(heard.notices) == 1
    assert heard.notices[0].startswith("segment 0 has taken 31 s, much longer than others: ")
    assert heard.notices[0].endswith("it is begun once more on cpu")
    assert heard.warnings == []
    assert first not in left and first._popen.returncode is not None
    assert found.result[1] != first._popen.pid


@pytest.mark.slow
def test_the_first_try_counts_where_the_second_fails(tmp_path, clock):
    """As where both have written the same file, and it must not be replaced."""
    found, first, _, heard = with_a_slow_one(tmp_path, clock, "until\ninput")
    assert found.result[1] == first._popen.pid
    assert len(heard.notices) == 1 and heard.warnings == []


@pytest.mark.parametrize(("device", "seconds"), [("cpu", 29), ("cuda:0", 1)])
def test_what_still_says_something_is_not_begun_on_the_same_device(clock, device, seconds):
    """It would only be slowed down; another GPU may be faster."""
    with Pool(["cpu", device], 1, Silent()) as pool:
        for _ in range(tickets_module.KNOWN):
            pool._times.add(1.0)
        pool._running[0] = pool_module._Work(Doing(0, None))
        process = Mock(device="cpu", heard=28.0)
        pool._processes[0], pool._running[0].tries[process] = process, 0.0
        clock[0] = 29.0
        assert pool._slow() == (pool._running[0], seconds)


def test_what_takes_much_longer():
    times = tickets_module.Times()
    for seconds in (60.0, 50.0, 70.0, 60.0):
        times.add(seconds)
    assert times.limit == inf  # too few
    times.add(65.0)
    assert times.limit == 180  # three times the median
    times.add(200.0)
    assert times.limit == 400  # twice what nine of ten take: files of any size
    for _ in range(tickets_module._KEPT):
        times.add(1.0)
    assert times.limit == tickets_module.LEAST


def test_a_worker_imports_what_its_tickets_need(tmp_path):
    """Its start is what the first frame waits for; OpenBLAS's threads would spin at its side."""
    code = "import snellen.jobs.sharing.tickets; from sys import modules; "
    code += "print('numpy' in modules, 'av' in modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": PATHS})  # fmt: skip
    assert done.stdout.split() == ["False", "False"]
    assert "setdefault('OPENBLAS_NUM_THREADS', '1')" in MAIN


DRIVER = """
import sys
from pathlib import Path
from snellen.jobs.events import Silent
from snellen.jobs.sharing.pool import TRIES, Pool
from snellen.jobs.sharing.tickets import Done
from snellen.jobs.sharing.worker import framed
from support.tickets import Doing
with Pool(["cpu", "cpu"], 1, Silent()) as pool:
    pool.submit(Doing(0, Path(sys.argv[1])))
    pool.submit(Doing(1, Path(sys.argv[2])))
    print(*(one._popen.pid for one in pool._processes.values()), flush=True)
    pool.wait()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_worker_outlives_its_driver(tmp_path, number):
    """It has no guard of a main module, and needs none."""
    for name in "ab":
        (tmp_path / name).write_text("sleep")
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path / "a"), str(tmp_path / "b")],
        env={**os.environ, "PYTHONPATH": PATHS}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    assert driver.stdout is not None
    with driver.stdout as stream:
        workers = [int(one) for one in stream.readline().split()]
    while (tmp_path / "a").read_text() or (tmp_path / "b").read_text():
        time.sleep(0.05)  # both sleep now
    driver.send_signal(number)
    assert driver.wait(20) != 0
    for _ in range(100):
        if not any(map(alive, workers)):
            break
        time.sleep(0.05)
    assert len(workers) == 2
    assert not any(map(alive, workers))


class Slow:
    """A ticket that takes long to be imported."""

    def __reduce__(self):
        return time.sleep, (60,)


def test_a_worker_ends_at_once_with_who_started_it():
    """Also while it imports what a ticket needs, as after a kill -9."""
    worker = subprocess.Popen([sys.executable, "-P", "-c", MAIN], stdin=subprocess.PIPE)
    with worker:
        worker.stdin.write(json.dumps([*PATHS.split(os.pathsep), *sys.path]).encode() + b"\n")
        for one in (("cpu", 1), Slow()):
            worker.stdin.write(framed(pickle.dumps(one)))
        worker.stdin.close()
        assert worker.wait(30) == 0
