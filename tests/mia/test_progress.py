"""The loop of iterations: when checks are made, and when their results are waited for."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.mia import progress
from snellen.mia.backend import one_by_one
from snellen.mia.progress import iterated


class Backend:
    """Queues iterations and checks, and notes what was waited for."""

    slots = 1

    def __init__(self):
        self.done, self.calls = 0, []

    @property
    def estimate(self):
        return np.full((2, 3, 3), float(self.done))

    psf = estimate

    def iterate(self, count):
        self.done += count
        self.calls.append(count)

    def measure(self):
        return self._later("fit", np.array([self.done, self.done + 2.0]))

    def change(self, before):
        assert (before == before.flat[0]).all()
        found = self.done - before.flat[0]
        before[...] = self.estimate
        return self._later("change", float(found) / self.done)

    def checks(self):
        return one_by_one(self)

    def _later(self, name, found):
        done = self.done

        def result():
            self.calls.append((name, done))
            return found

        return result


def test_history_alone_waits_in_the_end():
    backend = Backend()
    done, steps = iterated(backend, 25, 10, history=True)
    assert done == 25 and backend.calls == [10, 10, 5]
    assert [(s.iteration, s.fit, s.change) for s in steps()] == [(10, 11, 1), (20, 21, 0.5)]
    assert backend.calls[3:] == [("fit", 10), ("change", 10), ("fit", 20), ("change", 20)]


def test_many_checks_are_waited_for_in_turn(monkeypatch):
    """So that a long run holds no more than WAITING results on a GPU."""
    monkeypatch.setattr(progress, "WAITING", 2)
    backend = Backend()
    done, steps = iterated(backend, 5, 1, history=True)
    assert done == 5 and [step.iteration for step in steps()] == [1, 2, 3, 4, 5]
    assert [one if isinstance(one, int) else one[1] for one in backend.calls if one != 1][:4] == [
        1, 1, 2, 2,
    ]  # fmt: skip
    assert backend.calls.index(("fit", 1)) == 3  # of the first, when the third is queued


@pytest.mark.parametrize("history", [False, True])
def test_tolerance_looks_at_every_check(history):
    backend = Backend()
    done, steps = iterated(backend, 100, 10, tolerance=0.3, history=history)
    assert done == 40 and len(steps()) == 4 * history
    assert backend.calls[:4] == [10, ("change", 10), 10, ("change", 20)]


def test_a_callback_waits_for_nothing():
    backend, seen = Backend(), []
    done, steps = iterated(backend, 25, 10, callback=lambda n, f, h: seen.append((n, f[0, 0, 0])))
    assert done == 25 and steps() == () and seen == [(10, 10), (20, 20)]
    assert backend.calls == [10, 10, 5]


def test_nothing_to_check_is_one_call():
    backend = Backend()
    done, steps = iterated(backend, 25, 10)
    assert (done, steps()) == (25, ()) and backend.calls == [25]
