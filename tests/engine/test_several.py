"""Items of a batch that devices share, one thread each."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from snellen.engine.several import shared
from snellen.frames.limits import at_most, greatest

GPUS = ("cuda:0", "cuda:1", "cuda:2")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16])
@pytest.mark.parametrize("devices", [GPUS[:1], GPUS[:2], GPUS])
def test_each_item_once(devices, count):
    done = {}

    def work(device, numbers):
        for number in numbers:
            done.setdefault(number, []).append((device, threading.current_thread().name))

    shared(devices, count, work)
    assert sorted(done) == list(range(count)) and all(len(by) == 1 for by in done.values())
    order = [devices.index(done[number][0][0]) for number in range(count)]
    assert order == sorted(order)  # consecutive ones
    share = [order.count(place) for place in range(len(devices))]
    assert max(share) - min(share) <= 1
    if len(devices) > 1 < count:
        assert all(by == [(by[0][0], f"snellen {by[0][0]}")] for by in done.values())


def test_one_device_works_in_the_calling_thread():
    found = []
    shared(["cpu"], 3, lambda device, numbers: found.append((threading.get_ident(), [*numbers])))
    assert found == [(threading.get_ident(), [0, 1, 2])]


@pytest.mark.parametrize(("count", "least", "used"), [(5, 2, 2), (6, 2, 3), (1, 4, 1), (99, 34, 2)])
def test_few_items_go_to_few_devices(count, least, used):
    found = []
    shared(GPUS, count, lambda device, numbers: found.append(device), least)
    assert sorted(found) == list(GPUS[:used])


def test_they_work_at_once():
    gate = threading.Barrier(3, timeout=20)
    shared(GPUS, 3, lambda device, numbers: gate.wait())


def test_settings_of_the_caller():
    found = []

    def work(device, numbers):
        found.append((greatest(), float(np.float32(1e30) * np.float32(1e30))))

    with at_most(12345), np.errstate(all="raise"):
        shared(GPUS, 3, work)
    assert found == [(12345, np.inf)] * 3


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_all(error):
    """The others see the end of their numbers; nothing is at work afterwards."""
    began, ended = threading.Barrier(3, timeout=20), []

    def work(device, numbers):
        count = 0
        began.wait()
        if device == "cuda:1":
            raise error(device)
        for _ in numbers:
            count += 1
            threading.Event().wait(0.001)
        ended.append(count)

    with pytest.raises(error, match="cuda:1"):
        shared(GPUS, 3_000_000, work)
    assert len(ended) == 2 and max(ended) < 100_000


def test_the_first_of_two_errors():
    def work(device, numbers):
        raise ValueError(device)

    with pytest.raises(ValueError, match="cuda:0"):
        shared(GPUS, 3, work)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signals to threads here")
def test_ctrl_c():
    ended = []
    main = threading.main_thread().ident

    def work(device, numbers):
        if device == "cuda:0":
            signal.pthread_kill(main, signal.SIGINT)
        for _ in numbers:
            threading.Event().wait(0.001)
        ended.append(device)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            shared(GPUS, 3_000_000, work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "cuda:0" in ended and not any(
        "snellen cuda" in one.name for one in threading.enumerate()
    )
