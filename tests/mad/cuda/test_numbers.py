"""Memory for pending scores: reused when the score was read, and not before."""

from __future__ import annotations

import pytest

from snellen.mad.cuda import numbers


@pytest.fixture
def pending(monkeypatch):
    class Plain:
        def __init__(self):
            self.awaited = False

    monkeypatch.setattr(numbers, "Numbers", Plain)
    return numbers.Pending()


def test_memory_is_reused_after_its_score_was_read(pending):
    first, second = pending.take(), pending.take()
    assert first is not second
    first.awaited = False
    assert pending.take() is first
    assert pending.take() not in (first, second)


def test_dropped_scores_lose_their_memory_in_the_end(pending):
    taken = [pending.take() for _ in range(numbers.MOST)]
    assert len(set(taken)) == numbers.MOST
    assert [pending.take() for _ in range(3)] == taken[:3]
    taken[7].awaited = False
    assert pending.take() is taken[7]
