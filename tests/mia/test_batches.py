"""Batches: as many pictures at once as there is room for, all of them, none twice."""

from __future__ import annotations

import pytest

from snellen.mia.batches import HOST, _parts, _room


@pytest.mark.parametrize("room", [100, 250, 999, 1000, 10**9])
@pytest.mark.parametrize("count", [1, 2, 5, 7, 100])
def test_no_batch_is_larger_than_the_room(count, room):
    parts = _parts(count, 100, room)
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    sizes = [part.stop - part.start for part in parts]
    assert 100 * max(sizes) <= room and max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-count // (room // 100))


@pytest.mark.parametrize("room", [99, 1, 0, -(10**9)])
def test_where_there_is_no_room_for_one_they_go_one_by_one(room):
    """Nor for the results: whether the memory suffices in fact, the GPU tells."""
    assert _parts(3, 100, room) == [slice(0, 1), slice(1, 2), slice(2, 3)]


def test_main_memory_has_one_room():
    assert _room("cpu", 10**12) == HOST
