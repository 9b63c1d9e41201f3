"""Stages on the CPU and on the GPU: what is counted, and that nothing is changed by it."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from snellen.bench.mad import detail, floor, stages, steps
from snellen.bench.mad.cases import CASES, Case, pair
from snellen.mad import cpu
from snellen.mad.cuda.combine import Combine
from snellen.mad.cuda.lightness import Lightness
from snellen.mad.cuda.masking import Masking
from snellen.mad.cuda.statistics import Statistics


def test_the_steps_are_the_pair_s_and_leave_the_arm_as_it_was():
    before = dict(vars(cpu)), dict(vars(cpu.Detection))
    start = time.perf_counter()
    found = steps.measure(pair(Case(200, 160)), "float64", 1)
    passed = 1e3 * (time.perf_counter() - start)
    assert set(found) == set(steps.STEPS) and all(found[name]["median"] > 0 for name in found)
    assert sum(step["median"] for step in found.values()) < passed
    assert (dict(vars(cpu)), dict(vars(cpu.Detection))) == before


def test_time_is_divided_among_threads_that_work_at_once(monkeypatch):
    ticks = iter((0.0, 1.0, 3.0, 7.0, 8.0, 9.0))
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    clock = steps.Clock()
    for entered, left in (("FFT", None), ("filter", None), (None, "FFT"), (None, "filter"),
                          (None, None)):  # fmt: skip
        clock.count(entered, left)
    assert clock.seconds["FFT"] == 2 + 2 and clock.seconds["filter"] == 2 + 1
    assert clock.seconds[steps.REST] == 1 + 1 and sum(clock.seconds.values()) == 9


class Callables(SimpleNamespace):
    """Whatever is asked for does nothing, and is counted."""


def stand_in(done):
    """An arm with the stages of the GPU's."""

    def stage(name):
        return lambda *arguments: done.append(name)

    def holder(*names):
        return Callables(**{name: stage(name) for name in names})

    detection = holder("_forward", "_csf", "_back")
    detection._lightness = holder("light", "error")
    detection._masking = holder("describe", "visibility")
    appearance = holder("_forward", "_bank")
    appearance._lightness = holder("grey")
    appearance._inverse = {20: stage("inverse")}
    appearance._statistics = {20: holder("describe", "compare")}
    return Callables(
        _detection=detection, appearance=appearance, _combine=holder("seen", "looks", "score")
    )


def test_every_stage_is_watched_and_given_back():
    done, marks = [], []
    arm = stand_in(done)
    inverse, bank = arm.appearance._inverse[20], arm.appearance._bank
    with stages.watched(arm, lambda name, arguments=(): marks.append(name)):
        arm.appearance._bank(None, 0, None)
        arm.appearance._inverse[20](None, None)
        arm.appearance._statistics[20].compare(None)
        arm._detection._lightness.error(None)
    assert done == ["_bank", "inverse", "compare", "error"]
    names = ("bank", "inverse FFTs", "difference", "lightness")
    assert marks == [name for name in names for _ in range(2)]
    assert arm.appearance._inverse[20] is inverse and arm.appearance._bank is bank


def test_the_watched_names_are_the_stages():
    kinds = {"_lightness": Lightness, "_masking": Masking, "_statistics": Statistics,
             "_combine": Combine}  # fmt: skip
    for places in stages.PLACES.values():
        for path, name in places:
            if kind := kinds.get(path.split(".")[-1]):
                assert callable(getattr(kind, name))


def test_the_paper_s_kernels_are_every_stage_once():
    ours = [step for _, cpu_steps, _ in detail.PAPER for step in cpu_steps]
    theirs = [stage for _, _, gpu_stages in detail.PAPER for stage in gpu_stages]
    assert sorted(ours) == sorted(steps.STEPS) and sorted(theirs) == sorted(stages.STAGES)


@pytest.mark.parametrize("real", [4, 8])
def test_the_floor_of_512(real):
    found, n = floor.needs(CASES[0], 1, real), 512 * 512
    assert set(found) <= set(stages.STAGES)
    # 20 complex subbands, read and written by the transforms of both pictures
    assert found["inverse FFTs"] == 2 * 20 * 2 * 2 * real * n
    assert found["statistics"] == 20 * (2 * real * n + 3 * real * 125**2)
    assert found["seen"] == 2 * n + real * 125**2
    assert floor.operations(n) == floor.OPERATIONS * 20 * n
