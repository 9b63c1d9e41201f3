"""Lines are timed in turns, and compared round by round."""

from __future__ import annotations

import pytest

from snellen.bench.mia import turns
from snellen.bench.mia.turns import Line


def test_each_line_in_each_round_and_the_first_round_does_not_count():
    done = []
    lines = {
        name: Line(lambda name=name: done.append(f"before {name}"), lambda name=name: name)
        for name in ("a", "b")
    }
    taken = turns.in_turns(lines, 2, lambda work: done.append(work()) or float(len(done)))
    assert done == ["before a", "a", "before b", "b"] * 3
    assert taken == {"a": [6.0, 10.0], "b": [8.0, 12.0]}


def test_ratios_are_those_of_a_round():
    found = turns.beside({"ours": [1.0, 2.0, 4.0], "theirs": [10.0, 10.0, 80.0]}, "ours")
    assert found["ours"]["median"] == 2 and found["ours"]["ratio"]["median"] == 1
    assert found["theirs"]["ratio"] == {"median": 10, "min": 5, "max": 20}


def test_milliseconds(monkeypatch):
    ticks = iter((1.0, 1.5))
    monkeypatch.setattr(turns.time, "perf_counter", lambda: next(ticks))
    assert turns.milliseconds(lambda: None) == 500


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.0, 1), (0.5, 50), (0.501, 51), (0.99, 99), (1.0, 100)]
)
def test_percentiles(share, wanted):
    assert turns.percentile(range(100, 0, -1), share) == wanted


@pytest.mark.gpu
def test_the_clock_of_a_gpu(cuda):
    clock = turns.gpu_clock()
    plane = cuda.ones((2048, 2048), cuda.float32)
    assert 0 < clock(lambda: plane @ plane) < clock(lambda: [plane @ plane for _ in range(50)])
