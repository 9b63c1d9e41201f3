"""Checks of the progress as graphs, on streams that run as late as events allow."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.gpu import profile
from snellen.mia.cuda import check as checks
from snellen.mia.cuda.check import FEW, Check, fetched, few
from support.fake_cupy import FakeCupy


class Backend:
    """Estimates that grow by one an iteration."""

    def __init__(self, fake):
        from cupy import empty

        self.fake, self.empty, self.launched, self.temporary = fake, empty, 0, []
        self.estimate = empty((1, 2, 3), np.float64)
        self.start(0)

    def start(self, value):
        self.fake.kernel(lambda: np.full((1, 2, 3), float(value)), [], self.estimate)

    def iterate(self):
        self.fake.kernel(lambda f: f + 1, [self.estimate], self.estimate)

    def change_on_gpu(self, before):
        self.launched += 1
        sums = self.empty((1, 1, 2), np.float64)
        self.fake.kernel(
            lambda f, b: [[[((f - b) ** 2).sum(), (f**2).sum()]]], [self.estimate, before], sums
        )
        self.fake.kernel(lambda f: f, [self.estimate], before)
        self._keep(sums)
        return sums

    def fit_on_gpu(self):
        product, found = self.empty((1, 2, 3), np.float64), self.empty(1, np.float64)
        self.fake.kernel(lambda f: 2 * f, [self.estimate], product)
        self.fake.kernel(lambda twice: [twice.sum()], [product], found)
        self._keep(product)
        return found

    def _keep(self, array):
        if not self.fake.current().is_capturing():
            self.temporary.append(array)  # here memory is not ordered by its stream


def short_of_memory(work):
    """Stand for `record` where the memory ends within the capture."""
    raise MemoryError("512 bytes")


@pytest.mark.parametrize("captures", [True, False, "memory ends"])
@pytest.mark.parametrize("seed", range(3))
def test_the_second_check_becomes_a_graph(monkeypatch, seed, captures):
    """All are those of their iteration, also of a second start; without graphs, too."""
    fake = FakeCupy(seed).install(monkeypatch)
    if captures == "memory ends":
        monkeypatch.setattr(checks, "record", short_of_memory)
        captures = False
    fake.captures = captures
    backend, check = Backend(fake), Check("cuda:0")
    for start in (5, 100):
        backend.start(start)
        check.begin(backend)
        later = []
        for number in range(4):
            backend.iterate()
            if number == 2 and start == 100:
                monkeypatch.setattr(profile, "active", lambda: True)
            later.append(check(backend))
            monkeypatch.setattr(profile, "active", lambda: False)
        backend.iterate()
        last = check.change(backend)
        for number, (change, fit) in enumerate(later):
            now = start + number + 1
            assert fit() == [12 * now] and change().tolist() == [[[6, 6 * now**2]]]
        assert last().tolist() == [[[6, 6 * (start + 5) ** 2]]]
    # Of ten checks: two copies at the start, two changes alone, the first one and the one that is
    # timed, and, where nothing is captured, all; else the capture.
    assert backend.launched == (2 + 2 + 3 if captures else 2 + 2 + 8)
    fake.null.synchronize()
    check.close()
    assert not fake.faults


def test_large_batches_have_no_graph():
    assert few(np.empty((1, 1024, 1024), np.uint8), 1)
    assert not few(np.empty((1, 1024, 1024), np.uint8), 2)
    assert FEW == 1024**2


@pytest.mark.parametrize("seed", range(4))
def test_what_is_fetched_is_what_was_there(monkeypatch, seed):
    """Later work on the stream does not show in it, and nothing waits until it is asked for."""
    fake = FakeCupy(seed).install(monkeypatch)
    numbers, later, kept = np.arange(12.0).reshape(3, 2, 2), [], []
    from cupy import empty

    for add in range(3):
        there = empty(numbers.shape, numbers.dtype)
        fake.kernel(lambda add=add: numbers + add, [], there)
        later.append(fetched(there))
        fake.kernel(lambda: numbers * np.nan, [], there)
        kept.append(there)
    for add, result in enumerate(later):
        assert (result() == numbers + add).all() and result().shape == numbers.shape
    fake.null.synchronize()
    assert not fake.faults
