"""Batches: as many pictures at once as memory allows, all of them, none twice."""

from __future__ import annotations

import pytest

from snellen.mia.batches import HOST, _parts, available


@pytest.mark.parametrize("available", [100, 250, 999, 1000, 10**9])
@pytest.mark.parametrize("count", [1, 2, 5, 7, 100])
def test_no_batch_is_larger_than_the_memory(count, available):
    parts = _parts(count, 100, available)
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    sizes = [part.stop - part.start for part in parts]
    assert 100 * max(sizes) <= available and max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-count // (available // 100))


@pytest.mark.parametrize("available", [99, 1, 0, -(10**9)])
def test_pictures_that_do_not_fit_go_one_by_one(available):
    """Whether the memory suffices in fact, the GPU reports."""
    assert _parts(3, 100, available) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_the_limit_of_main_memory():
    assert available("cpu", 10**12) == HOST
