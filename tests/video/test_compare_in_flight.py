"""Pairs of two videos in flight in the comparison: order, bounds and errors."""

from __future__ import annotations

from fractions import Fraction

import pytest

from snellen.video.clip import Clip
from snellen.video.comparing.compare import compare
from support.video.comparisons import Difference, compared


class Flying(Difference):
    """Pairs in flight: the result of each is asked for later, in the order of the pairs."""

    slots = 3

    def __init__(self, fail=None):
        super().__init__()
        self.fail = fail
        self.begun, self.most = [], 0

    def submit(self, reference, distorted):
        number = len(self.planes)
        result = self.run(reference, distorted)
        self.begun.append(number)
        self.most = max(self.most, len(self.begun))

        def wait():
            assert self.begun.pop(0) == number
            if number == self.fail:
                raise RuntimeError("no result")
            assert (self.planes[number][1] == distorted).all()  # the planes stay as they were
            return number, result

        return wait


@pytest.mark.parametrize(("slots", "most"), [(1, 1), (3, 3), (99, 8)])
def test_pairs_in_flight(lossless, slots, most):
    step, progress = Flying(), []
    step.slots = slots
    numbers, times, results, _ = compared(lossless, lossless, step, on_progress=progress.append)
    assert numbers == list(range(8)) and times == [Fraction(n, 25) for n in range(8)]
    assert results == [(n, 0.0) for n in range(8)]
    assert (step.most, step.begun) == (most, [])
    assert [one.frames for one in progress] == list(range(1, 9))


def test_a_part_in_flight(lossless):
    clip = Clip(start=Fraction(1, 25), frames=4)
    numbers, _, results, _ = compared(lossless, lossless, Flying(), clip=clip)
    assert numbers == [1, 2, 3, 4] and [number for number, _ in results] == [0, 1, 2, 3]


def test_an_error_of_a_pair_in_flight(lossless):
    """Results before it are handed out, later ones are not."""
    step, taken = Flying(fail=3), []
    with pytest.raises(RuntimeError, match="no result"):
        compare(lossless, lossless, step, taken.append)
    assert [one.number for one in taken] == [0, 1, 2] and step.closed == 1
