"""The number of BLAS threads belongs to the process: concurrent limits must not mix."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  loads its BLAS
from threadpoolctl import threadpool_info, threadpool_limits

from snellen.cpu.blas import single_threaded
from snellen.frames.frame import Format, Frame
from snellen.upscaling.upscaler import Upscaler


def counts():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.fixture
def many():
    """More than one BLAS thread before the test."""
    with threadpool_limits(1, "blas"), threadpool_limits(2, "blas"):
        assert set(counts()) == {2} and len(counts()) >= 2  # NumPy's and SciPy's
        yield


@pytest.mark.slow
def test_one_inside_and_as_before_outside(many):
    with single_threaded():
        assert set(counts()) == {1}
    assert set(counts()) == {2}


@pytest.mark.slow
def test_an_error_restores(many):
    with pytest.raises(ZeroDivisionError), single_threaded():
        raise ZeroDivisionError
    assert set(counts()) == {2}


def test_nesting(many):
    with single_threaded():
        with single_threaded():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert set(counts()) == {2}


def test_a_second_thread_waits(many):
    entered = threading.Event()

    def second():
        with single_threaded():
            entered.set()

    worker = threading.Thread(target=second)
    with single_threaded():
        worker.start()
        assert not entered.wait(0.2)
        assert set(counts()) == {1}
    worker.join(10)
    assert entered.is_set() and set(counts()) == {2}


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def test_any_thread_limits_it(many):
    """The thread that was first to set it lives on, and so threadpoolctl would heed no other."""

    def inside():
        with single_threaded():
            return set(counts())

    assert inside() == in_a_thread(inside) == {1}
    threadpool_limits(2, "blas")  # for good, as programs do at their beginning
    assert in_a_thread(inside) == inside() == {1}
    assert set(counts()) == {2}


def test_it_is_anyones_afterwards(many):
    def inside():
        with single_threaded():
            pass

    with ThreadPoolExecutor(1) as pool:  # whose thread lives on, as those of VapourSynth
        pool.submit(inside).result()
        for count in (1, 2):
            with threadpool_limits(count, "blas"):
                assert set(counts()) == {count}


@pytest.mark.slow
def test_upscalers_in_two_threads_leave_it_as_it_was(random_model):
    """Without the lock, one would restore the other's limit for good."""
    before = counts()
    frame = Frame((np.zeros((40, 50), np.uint8),))

    def work():
        with Upscaler(2, random_model(2)) as upscaler:
            upscaler.prepare(Format(50, 40))
            for _ in range(5):
                upscaler.run(frame)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counts() == before
