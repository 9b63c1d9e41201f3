"""Stages are timed where somebody records, and cost nothing elsewhere."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

from snellen.errors import InputError
from snellen.gpu import device, profile
from snellen.gpu.graph import capture


def test_nothing_happens_where_nobody_records():
    assert profile.stage("one") is profile.stage("two")
    assert not profile.active()


def test_stages_on_the_cpu_have_a_time_for_each_run():
    with profile.recording() as found:
        assert profile.active()
        with profile.stage("whole"):
            for _ in range(3):
                with profile.stage("part"):
                    pass
    assert not profile.active()
    table = found.table()
    assert list(table) == ["whole", "part"]
    assert [len(times) for times in table.values()] == [1, 3]
    assert min(table["part"]) >= 0 and table["whole"][0] >= sum(table["part"])


def test_all_threads_are_recorded():
    def work():
        with profile.stage("work"):
            pass

    with profile.recording() as found:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found.table()["work"]) == 4


def test_a_stage_that_fails_has_no_time():
    with profile.recording() as found, pytest.raises(ZeroDivisionError), profile.stage("failed"):
        raise ZeroDivisionError
    assert found.table() == {"failed": []}


def test_what_ends_after_the_recording_still_counts():
    with profile.recording() as found:
        late = profile.stage("late")
        late.__enter__()
    late.__exit__(None, None, None)
    assert len(found.table()["late"]) == 1


def test_one_recording_at_a_time():
    with profile.recording():
        with pytest.raises(InputError, match="already"), profile.recording():
            pass
        assert profile.active()
    with profile.recording() as found:
        pass
    assert found.table() == {}


def test_what_is_prepared_is_not_recorded():
    with profile.recording() as found:
        with profile.paused():
            assert not profile.active()
            with profile.stage("warm-up"):
                pass
        assert profile.active()
        with profile.stage("work"):
            pass
    with profile.paused():
        pass
    assert list(found.table()) == ["work"] and not profile.active()


def test_threads_that_prepare_at_once():
    """The last that is done lets the recording go on, whichever began first."""
    with profile.recording() as found:
        one, other = profile.paused(), profile.paused()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        with profile.stage("still preparing"):
            pass
        other.__exit__(None, None, None)
        with profile.stage("work"):
            pass
    assert list(found.table()) == ["work"]


def test_nvtx_ranges(monkeypatch):
    """Nsight's tools see each stage, nested as the code is."""
    seen = []
    nvtx = SimpleNamespace(RangePush=seen.append, RangePop=lambda: seen.append("end"))
    cuda = SimpleNamespace(nvtx=nvtx)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(profile, "_ranges", True)
    with profile.stage("whole"), profile.stage("part"):
        pass
    assert seen == ["whole", "part", "end", "end"]


@pytest.mark.gpu
def test_stages_on_the_gpu_are_timed_on_their_stream(cuda):
    """The host returns at once, but the times lie within those of events around them."""
    with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True) as stream:
        values = cuda.ones(1 << 24, cuda.float32)

        def work(count):
            for _ in range(count):
                cuda.sqrt(values, out=values)

        work(1)  # compiles
        stream.synchronize()
        before, after = cuda.cuda.Event(), cuda.cuda.Event()
        before.record(stream)
        with profile.recording() as found:
            for _ in range(3):
                with profile.stage("roots"):
                    work(200)
        after.record(stream)
        times = found.table()["roots"]
        after.synchronize()
        assert len(times) == 3 and min(times) > 0
        # Events count half microseconds.
        assert sum(times) <= cuda.cuda.get_elapsed_time(before, after) + 0.01


@pytest.mark.gpu
def test_a_graph_is_not_launched_while_stages_are_recorded(cuda):
    with device.using("cuda:0"), cuda.cuda.Stream(non_blocking=True) as stream:
        values, calls = cuda.zeros(100, cuda.int32), []

        def work():
            calls.append(1)
            with profile.stage("add"):
                cuda.add(values, 1, out=values)

        work()
        with profile.recording() as found:
            replay = capture(work)  # its events are no times
            assert found.table() == {"add": []}
        assert replay is not work and len(calls) == 2
        replay()
        assert len(calls) == 2
        with profile.recording() as found:
            replay()
        assert len(calls) == 3 and len(found.table()["add"]) == 1
        stream.synchronize()
        assert (values == 3).all()
