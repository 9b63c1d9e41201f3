"""The scheduler of segments, simulated: nothing is lost and nothing made twice."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from benchmarks import scheduler
from benchmarks.scheduler import World, simulate

CALM = World(segments=60, nodes=2, workers=3, spread=0, stragglers=0, errors=0, kills=0, lost=0,
             deaths=0, start=0)  # fmt: skip


def whole(world, found):
    """Check that each segment is there, and was noted once."""
    numbers = set(range(1, world.segments + 1))
    assert found.finished == set(found.recorded) == numbers
    assert set(found.recorded.values()) == {1}


@pytest.mark.slow
def test_without_trouble_it_is_the_ideal(tmp_path):
    found = simulate(CALM, tmp_path)
    whole(CALM, found)
    assert found.seconds == pytest.approx(found.ideal) == pytest.approx(10 * 60)
    assert found.tries == 60 and found.warnings == 0


@pytest.mark.slow
def test_with_all_troubles_nothing_is_lost(tmp_path):
    world = World(segments=150, nodes=3, workers=4, errors=0.05, kills=0.05, stragglers=0.05)
    found = simulate(world, tmp_path)
    whole(world, found)
    assert found.tries > 150 and found.warnings > 0
    assert 0.5 < found.share < 1


def test_segments_that_begin_with_another_frame_are_made_twice_and_no_other(tmp_path):
    """They are begun before the one before them is known; afterwards they are not."""
    world = World(segments=100, nodes=2, workers=2, lost=0, deaths=0, differing=0.2)
    found = simulate(world, tmp_path)
    again = {number for number, many in found.recorded.items() if many > 1}
    assert found.finished == set(range(1, 101))
    assert set(found.recorded.values()) == {1, 2} and 5 < len(again) < 40


@pytest.mark.slow
def test_a_lost_node_leaves_its_work_to_the_others(tmp_path):
    world = World(segments=90, nodes=3, workers=2, stragglers=0, errors=0, kills=0, deaths=0)
    found = simulate(world, tmp_path)
    whole(world, found)
    # Its two workers give their segments back, and so do the processes that take their places.
    assert 90 < found.tries <= 94
    assert found.warnings == 4


def test_what_hangs_is_begun_once_more(tmp_path):
    """A hundred times as long: without a second try the film would take more than 6,000 s."""
    world = replace(CALM, stragglers=0.04, straggling=100, seed=3)
    found = simulate(world, tmp_path)
    whole(world, found)
    assert found.second >= 1 and found.tries == 60 + found.second
    assert found.warnings == 0
    assert found.seconds < 2000


def test_the_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["scheduler", "--segments", "30", "--nodes", "2"])
    assert scheduler.main() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lost"] == found["twice"] == 0 and found["world"]["nodes"] == 2


@pytest.mark.slow
def test_ten_thousand_segments(tmp_path):
    """A driver that dies, nodes that are lost, and 1 % each of stragglers and failures."""
    world = World(lost=2)
    found = simulate(world, tmp_path)
    whole(world, found)
    assert found.share > 0.85
